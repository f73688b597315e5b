// The simulated global store.
#ifndef SLUICE_SIM_STORE_SERVER_H_
#define SLUICE_SIM_STORE_SERVER_H_

#include <sluice/time.h>

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "global/store.h"
#include "sim/scheduler.h"
#include "sim/truth.h"

namespace sluice::sim {

// Holds one component per cell and region, merged by max. Imports read a replica, which receives a
// publish `lag` later. The fleet sets its faults.
//
// Thread-compatible.
class StoreServer {
  public:
    StoreServer(Scheduler& scheduler, UnixTime began, std::uint32_t regions)
        : scheduler_(scheduler), began_(began), regions_(regions) {}

    // Return all components of the cells of `rows`.
    std::vector<RegionRow> publish(std::uint32_t region, std::span<const RegionCount> rows);
    std::vector<RegionRow> read(std::span<const RegionCount> rows);

    void mark_region(std::uint32_t region);
    // How many regions are alive.
    std::size_t count_regions() const;

    struct Import {
        std::vector<RegionRow> rows;
        ImportEnd end;
    };
    // Full imports are paged; changes are returned at once.
    Import import(const ImportQuery& query);

    // Whether any region has published anything of a cell.
    bool holds(KeyIndex key, Sequence sequence) const;
    Count component(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    struct Component {
        Count count = 0;
        UnixTime updated_at{};
    };
    struct Cell {
        CellName name;
        std::vector<Component> components;  // by region
    };

    // Deletes cells that have expired by a clock that is `ahead`.
    void clean_up(Moment ahead);

    // All data, for a failover to an earlier state.
    struct Contents {
        std::map<std::pair<KeyIndex, Sequence>, Cell> cells;
    };
    Contents contents() const { return {cells_}; }
    // Breaks all connections.
    void fail_over(const Contents& earlier);
    std::uint64_t failovers = 0;

    bool is_down = false;
    Moment clock_error{0};
    Moment slowness{0};
    Permille busy = 0;  // share of calls that fail with a deadlock
    Moment lag{0};
    std::uint64_t rows = 0;
    std::uint64_t statements = 0;  // that published them
    std::uint64_t bytes = 0;

  private:
    using Place = std::pair<KeyIndex, Sequence>;
    using Cells = std::map<Place, Cell>;

    static Place place_of(const CellName& cell);

    void merge(Cells& cells, std::uint32_t region, const RegionCount& row, UnixTime at);
    void append_rows(const Cell& cell, UnixTime since, std::vector<RegionRow>& to) const;
    void forget_dead(UnixTime now);
    UnixTime clock() const {
        return began_ + std::chrono::duration_cast<std::chrono::milliseconds>(scheduler_.now() +
                                                                              clock_error);
    }

    Scheduler& scheduler_;
    const UnixTime began_;
    const std::uint32_t regions_;
    Cells cells_;
    Cells replica_;
    std::map<std::uint32_t, UnixTime> seen_;  // regions, and when
    Moment purged_{0};
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_STORE_SERVER_H_
