// The simulated origin of a region.
#ifndef SLUICE_SIM_ORIGIN_SERVER_H_
#define SLUICE_SIM_ORIGIN_SERVER_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "regional/origin.h"
#include "sim/scheduler.h"
#include "sim/truth.h"

namespace sluice::sim {

// Identifies one life of a node; never reused. 0 owns the components of stopped nodes.
using Serial = std::uint32_t;
inline constexpr Serial kStoppedNodes = 0;

// Holds the components of its nodes, merged by max (invariant 10); decides spends, counts
// heartbeats, and expires cells at the end of their lifetimes. The fleet sets its faults.
//
// Thread-compatible.
class OriginServer {
  public:
    explicit OriginServer(const Scheduler& scheduler) : scheduler_(scheduler) {}

    KeyTotals sync(Serial node, const KeyComponents& key);
    KeyGrants spend(Serial node, const KeySpend& spend);
    KeyTotals retire(Serial node, const KeyComponents& key);
    Heartbeat beat(Serial node);

    // Reads without a change.
    KeyTotals read(Serial node, const KeyComponents& key);
    Count component(Serial node, KeyIndex key, Sequence sequence, Incarnation incarnation);
    Count total(KeyIndex key, Sequence sequence);

    // All data, for a failover to an earlier state.
    struct Component {
        Serial node;
        Incarnation incarnation;
        Count count;
    };
    struct Cell {
        Sequence sequence = -1;
        Count total = 0;
        Moment dies{0};
        std::vector<Component> components;
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
    // One of the two cells of a key, and this node's component of it.
    struct OwnCell {
        KeyIndex key = 0;
        Sequence sequence = 0;
        Serial node = 0;
        Incarnation incarnation = 0;
    };
    static OwnCell own_cell(Serial node, const KeyComponents& key, std::size_t index);

    Cell* find(KeyIndex key, Sequence sequence);
    // Opens an empty cell.
    Cell* open(KeyIndex key, Sequence sequence);
    CellTotals read(const OwnCell& own);
    CellTotals lift(const OwnCell& own, Count to, Duration lifetime);
    void move_to_stopped(const OwnCell& own);

    const Scheduler& scheduler_;
    Contents contents_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_ORIGIN_SERVER_H_
