// The threads on which a node talks to the store that the regions share.
#ifndef SLUICE_SERVICE_GLOBAL_THREADS_H_
#define SLUICE_SERVICE_GLOBAL_THREADS_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "counter/table.h"
#include "global/store.h"

namespace sluice {

// GlobalThreads owns the global_sync, two connections to the store, and a thread for each: one
// publishes (and cleans up), one imports. Calls to the store block these and nobody else: no
// request ever waits for this layer. The only node of a region has a third one, that looks for what
// changed.
//
// Thread-safe.
class GlobalThreads {
  public:
    // A store that can't be reached is no error. `table` must outlive it.
    static Result<std::unique_ptr<GlobalThreads>> start(Table& table, const Options& options);

    ~GlobalThreads();
    GlobalThreads(const GlobalThreads&) = delete;
    GlobalThreads& operator=(const GlobalThreads&) = delete;

    // The regional count of `entry` may have grown. Whoever calls holds it, or an EpochPin.
    void offer(Entry& entry);

    // All that the store holds of some cells; none if it did not answer. Called on a thread of its
    // own, or before it returns.
    using Listed = std::function<void(std::optional<std::vector<GlobalListing>>)>;
    void list(std::vector<CellName> cells, Listed listed);

    // Publishes what has not been yet, for up to `patience`, and ends the threads. By one thread.
    // False if one is stuck in a call a second later: it then goes on to use this object.
    [[nodiscard]] bool close(std::chrono::milliseconds patience);

    GlobalStats stats() const;

  private:
    class Core;
    explicit GlobalThreads(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_GLOBAL_THREADS_H_
