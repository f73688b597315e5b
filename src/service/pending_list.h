// A listing of origin cells that a caller waits for.
#ifndef SLUICE_SERVICE_PENDING_LIST_H_
#define SLUICE_SERVICE_PENDING_LIST_H_

#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "regional/origin.h"
#include "service/deadline_thread.h"

namespace sluice {

// Answered once, by whichever thread is first. Thread-safe.
class PendingList {
  public:
    PendingList(std::vector<CellName> cells, Origin::Listed listed, DeadlineThread::Time deadline)
        : cells_(std::move(cells)),
          deadline_(deadline),
          nothing_(cells_.size()),
          listed_(std::move(listed)) {}

    const std::vector<CellName>& cells() const { return cells_; }
    DeadlineThread::Key key() const { return {deadline_, this}; }

    void answer(std::vector<std::optional<CellListing>> listings) {
        if (const Origin::Listed listed = take()) listed(std::move(listings));
    }
    void answer_nothing() {
        if (const Origin::Listed listed = take()) listed(std::move(nothing_));
    }

  private:
    Origin::Listed take() {
        const MutexLock lock(mutex_);
        return std::exchange(listed_, nullptr);
    }

    const std::vector<CellName> cells_;
    const DeadlineThread::Time deadline_;
    // Made ahead, so that this answer needs no memory; for whoever takes listed_.
    std::vector<std::optional<CellListing>> nothing_;
    Mutex mutex_;
    Origin::Listed listed_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_PENDING_LIST_H_
