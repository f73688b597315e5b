// Replay: this node's components reach the origin, and the region's counts come back.
#ifndef SLUICE_REGIONAL_REPLAY_H_
#define SLUICE_REGIONAL_REPLAY_H_

#include <sluice/time.h>

#include <cstddef>
#include <span>
#include <vector>

#include "counter/table.h"
#include "regional/origin.h"

namespace sluice {

// Replay has one batch underway at a time. What changes meanwhile is the next one, however often it
// changes: the work is bounded by the cells that changed, never by the requests that changed them.
// A batch that fails stays changed; since components are merged by max, sending it again is
// harmless, whether it had landed or not.
//
// A stepped object: it has no thread, no socket and no clock.
//
//     auto batch = replay.next(now);
//     if (!batch.empty()) origin.raise(batch, [&](auto totals) {
//         if (totals) replay.landed(*totals); else replay.failed();
//     });
//
// Thread-compatible, and the table's only consumer of changes.
class Replay {
  public:
    // A batch has no more cells than this.
    static constexpr std::size_t kBatchCells = 512;

    explicit Replay(Table& table) : table_(table) {}
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    // The components to raise next. Empty if a batch is underway, or if there is nothing to tell.
    std::vector<CellComponent> next(UnixTime now);

    // How the batch fared: either, once for each. `totals` are in its order.
    void landed(std::span<const CellTotals> totals);
    void failed();

  private:
    // An entry of which the batch tells, and the cells that it tells of.
    struct Told {
        Entry* entry;
        Components components;
        std::size_t cells;
    };

    void take();
    void add(Entry& entry, UnixTime now, std::vector<CellComponent>& batch);
    void release(const Told& told);

    Table& table_;
    std::vector<Entry*> waiting_;  // taken from the list, and in no batch yet
    std::vector<Told> underway_;
    std::vector<Sequence> sequences_;  // of the cells underway
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REPLAY_H_
