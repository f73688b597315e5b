// The origin of a region, as it stands in the simulation.
#ifndef SLUICE_SIM_ORIGIN_SERVER_H_
#define SLUICE_SIM_ORIGIN_SERVER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "regional/origin.h"
#include "sim/scheduler.h"
#include "sim/truth.h"

namespace sluice::sim {

// Which life of which node: never used twice.
using Serial = std::uint32_t;

// What a server does by itself: it holds the components of its nodes, merged by max, and forgets
// cells when their lifetimes end. What goes wrong with it is decided by others.
//
// Thread-compatible.
class OriginServer {
  public:
    explicit OriginServer(const Scheduler& scheduler) : scheduler_(scheduler) {}

    CellTotals read(Serial node, const CellQuestion& question);
    CellTotals raise(Serial node, const CellComponent& component);

    // What one owner's component of a cell is.
    Count component(Serial node, KeyIndex key, Sequence sequence, Incarnation incarnation);
    Count total(KeyIndex key, Sequence sequence);

    // Everything, for a server that fails over to what another one held earlier.
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
        std::array<Cell, kTrueCells> cells;
    };
    struct Contents {
        std::vector<std::uint32_t> places;  // by key; 0: none
        std::vector<KeyCells> keys;
    };
    const Contents& contents() const { return contents_; }
    void become(Contents contents) { contents_ = std::move(contents); }

    bool is_down = false;
    Moment slowness{0};        // of each call
    std::uint64_t bytes = 0;   // that went to and fro
    std::uint64_t losses = 0;  // how often it lost what it held

  private:
    Cell* find(KeyIndex key, Sequence sequence);
    Cell& open(KeyIndex key, Sequence sequence);

    const Scheduler& scheduler_;
    Contents contents_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_ORIGIN_SERVER_H_
