// Replay: this node's components reach the origin, and the region's counts come back.
#ifndef SLUICE_REGIONAL_REPLAY_H_
#define SLUICE_REGIONAL_REPLAY_H_

#include <sluice/time.h>

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "counter/table.h"
#include "regional/origin.h"
#include "regional/telling.h"

namespace sluice {

// Replay has one batch underway at a time. What changes meanwhile is the next one, however often it
// changes: the work is bounded by the cells that changed, never by the requests that changed them.
// What is not answered is set aside until retry(); since components are merged by max, sending it
// again is harmless, whether it had landed or not.
//
// A stepped object: it has no thread, no socket and no clock.
//
//     auto batch = replay.next(now);
//     if (!batch.empty()) origin.raise(batch, [&](auto answers) { replay.answered(answers); });
//
// Thread-compatible, and the table's only consumer of changes.
class Replay {
  public:
    // A batch has no more cells than this.
    static constexpr std::size_t kBatchCells = 512;

    // `counted` is called with each entry whose regional count may have grown: its own part when it
    // is taken, the others' when the origin has answered. None: nobody wants to know.
    using Counted = std::function<void(Entry&)>;
    explicit Replay(Table& table, Counted counted = {})
        : table_(table), counted_(std::move(counted)) {}
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    // The components to raise next. Empty if a batch is underway, or if there is nothing to tell of
    // what can still matter at `now`. The answer is known as of `heard`, or of the last request for
    // a key if that is later; it is no later than what any request would say now.
    std::vector<CellComponent> next(UnixTime now,
                                    UnixTime heard = UnixTime::min(),
                                    Telling::Aim aim = Telling::Aim::kTell);

    // How the batch fared, in its order.
    void answered(std::span<const CellAnswer> answers);

    // Has what was set aside told again, in a later round. False if that is nothing.
    bool retry();

    // For a time in which nothing is told: lets go of entries that need not be told of any more,
    // their cells being dead, and that only wait here; the others have counted all the same.
    void tidy();

    // Whether a batch waits for its answers.
    bool is_underway() const { return !underway_.empty(); }
    // A round is what changed until it began, in as many batches as it takes. Whether the next
    // batch begins one, and how the last one was.
    bool is_between_rounds() const { return underway_.empty() && waiting_.empty(); }
    struct Round {
        Telling::Urgency urgency = Telling::Urgency::kFar;  // of the most urgent
        Duration shortest = kMaxDuration;                   // of the windows
        std::size_t cells = 0;
    };
    const Round& round() const { return round_; }

    // Nothing is underway, waits or was set aside. What changed since next() is not looked at.
    bool has_told_all() const { return is_between_rounds() && aside_.empty(); }

  private:
    // An entry that a batch tells of.
    struct Told {
        Entry* entry;
        Telling telling;
    };

    void take();
    std::vector<Entry*> take_changed();
    void note_counted(Entry& entry) {
        if (counted_) counted_(entry);
    }
    void give_back(Entry& entry);

    Table& table_;
    const Counted counted_;
    std::vector<Entry*> waiting_;  // taken from the list, and in no batch yet
    std::vector<Told> underway_;
    std::vector<Entry*> aside_;  // not answered for
    Round round_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REPLAY_H_
