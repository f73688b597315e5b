// What a node tells the origin of one entry, and what it learns from the answer.
#ifndef SLUICE_REGIONAL_TELLING_H_
#define SLUICE_REGIONAL_TELLING_H_

#include <sluice/time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "counter/changed.h"
#include "counter/entry.h"
#include "regional/origin.h"

namespace sluice {

// A Telling remembers what was told of an entry: the components of its cells that can still matter.
// The newest is told each time, whether it changed or not, since the answer brings the others'
// counts of it, or is only asked for; the one before now and then, and when it has changed.
//
// Thread-compatible.
class Telling {
  public:
    // To hear what the others have spent, and tell nothing: where the limit is far, within the
    // newest window, and nothing is due of the cell before. Where that is not so, all is told.
    enum class Aim : std::uint8_t { kTell, kHear };

    // Appends the components to `batch`; none if nothing can matter. It is `now` or later: a later
    // request for the entry says so. The answer is known as of `heard`, or of the last request for
    // it if that is later.
    Telling(const Entry& entry,
            UnixTime now,
            UnixTime heard,
            std::vector<CellComponent>& batch,
            Aim aim = Aim::kTell);

    std::size_t cells() const { return cells_; }
    // How soon others should know: at once where half of the limit is spent, or where it is small
    // and may be used up by what few requests elsewhere don't know of; later where nearly all is
    // left.
    enum class Urgency : std::uint8_t { kFar, kSoon, kAtOnce };
    Urgency urgency() const { return urgency_; }
    Duration duration() const { return duration_; }
    const Components& components() const { return components_; }
    // The components are still to be told.
    bool only_hears() const { return only_hears_; }

    // Merges the answers, as many as there are cells, into `entry`: the one that was told of, or
    // another that has its key now. False if some cell was not answered for.
    bool hear(std::span<const CellAnswer> answers, Entry& entry) const;

  private:
    void add(const Entry::Key& key,
             Components::Component component,
             UnixTime now,
             std::vector<CellComponent>& batch);

    const Components components_;
    const UnixTime as_of_;  // when what is heard is known of, by the time of the requests
    const Duration duration_;
    const Incarnation incarnation_;
    const Urgency urgency_;
    bool is_refresh_ = false;  // whether its answer brings all that a decision needs
    bool asks_previous_ = false;
    bool is_routine_ = false;  // of a far limit, and nothing is due of the cell before
    bool only_hears_ = false;
    std::size_t cells_ = 0;
    std::array<Sequence, kRingSize> sequences_{};
};

// Merges what the origin holds of a cell into `entry`. `incarnation` is the one that was asked
// about.
void merge(const CellTotals& totals, Sequence sequence, Incarnation incarnation, Entry& entry);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_TELLING_H_
