// The simulated origin of a region.
#ifndef SLUICE_SIM_ORIGIN_SERVER_H_
#define SLUICE_SIM_ORIGIN_SERVER_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "regional/origin.h"
#include "regional/origin_cell.h"
#include "sim/scheduler.h"
#include "sim/truth.h"

namespace sluice::sim {

// Identifies one life of a node; never reused.
using Serial = std::uint32_t;

// Holds the cells of its nodes (OriginCell), decides spends, counts heartbeats, and expires cells
// at the end of their lifetimes. The fleet sets its faults.
//
// Thread-compatible.
class OriginServer {
  public:
    explicit OriginServer(const Scheduler& scheduler) : scheduler_(scheduler) {}

    KeyTotals sync(Serial node, const KeyComponents& key);
    KeyGrants spend(Serial node, const KeySpend& spend);
    Heartbeat beat(Serial node);
    // What a spend does before it decides.
    KeyTotals lift(Serial node, const KeyComponents& key);

    // Reads without a change.
    KeyTotals read(Serial node, const KeyComponents& key);
    // At least what the origin holds of a component that was superseded.
    Count component(Serial node, KeyIndex key, Sequence sequence, Incarnation incarnation);
    Count total(KeyIndex key, Sequence sequence);

    // All data, for a failover to an earlier state.
    struct Cell {
        Sequence sequence = -1;
        Moment dies{0};
        OriginCell counts;
    };
    struct KeyCells {
        KeyIndex key = 0;
        std::vector<Cell> cells;  // some may have died
    };
    struct Contents {
        std::vector<std::uint32_t> places;  // by key; 0: none
        std::vector<KeyCells> keys;
        std::map<Serial, Moment> heartbeats;  // the last of each node
    };
    const Contents& contents() const { return contents_; }
    void become(Contents contents) { contents_ = std::move(contents); }

    bool is_down = false;
    bool refuses_writes = false;
    Moment slowness{0};        // of each call
    std::uint64_t bytes = 0;   // sent and received
    std::uint64_t losses = 0;  // number of data losses

  private:
    Cell* find(KeyIndex key, Sequence sequence);
    // Opens an empty cell.
    Cell* open(KeyIndex key, Sequence sequence);
    CellTotals read(const OriginCell::Owner& owner, const CellName& name);
    CellTotals lift(const OriginCell::Owner& owner, const CellComponent& component);

    const Scheduler& scheduler_;
    Contents contents_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_ORIGIN_SERVER_H_
