// Regions of a few nodes each, whose publishes and imports fail, repeat and overtake each other.
#ifndef SLUICE_TESTS_GLOBAL_FLEET_H_
#define SLUICE_TESTS_GLOBAL_FLEET_H_

#include <sluice/limiter.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "counter/table.h"
#include "global/global_sync.h"
#include "global/store.h"
#include "regional/memory_origin.h"
#include "regional/region.h"

namespace sluice {

// What a fleet is made of, beside its seed.
struct FleetOptions {
    std::size_t regions = 3;
    std::size_t nodes_per_region = 2;
    std::function<std::unique_ptr<GlobalStore>(const std::string& region)> join;
};

// A fleet does one random thing after the other, by one seed, and checks after each what must hold
// at all times. The first thing that does not is told by fault().
//
// Its nodes are whole: table, decisions, region, publisher, importer. Their origin answers at once
// and never fails; what lies between the regions does.
class Fleet {
  public:
    Fleet(std::uint64_t seed, FleetOptions options);
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    // Until so much time has passed, of the fleet's own.
    void run(std::chrono::milliseconds time);
    // Nothing fails any more, nobody spends, until each has heard its origin, and published and
    // imported a few times.
    void settle();

    // What was broken first; empty if nothing was.
    const std::string& fault() const { return fault_; }
    // After settle(): what some region does not know, or knows wrongly. Empty if all know all of
    // the cells that any region has published.
    std::string difference() const;

    std::size_t decisions() const { return decisions_; }
    std::size_t published_cells() const { return rows_.size(); }

  private:
    class Node;
    struct Regional;
    // By cell, then by region.
    using Components = std::map<CellName, std::map<std::string, Count>>;
    // A chunk that was sent, and may arrive once more.
    struct Echo {
        std::size_t region;
        std::vector<RegionCount> rows;
    };

    std::size_t below(std::size_t bound) { return random_() % bound; }
    Node& any_node();
    void step();
    void spend(Node& node);
    void spend_batch(Node& node);
    void admitted(Node& node, const Request& request);
    void publish(Node& node);
    std::optional<StoreFailure> send(Node& node, std::span<const RegionCount> rows);
    void import(Node& node);
    void repeat_publish();
    void repeat_import();
    void restart(Node& node);
    void pass(std::chrono::milliseconds time);

    void check_rows();
    void check(Node& node);
    void blame(const std::string& what) {
        if (fault_.empty()) fault_ = what;
    }
    Count sum_of_peers(const Components& components,
                       const CellName& cell,
                       const std::string& region) const;

    std::mt19937_64 random_;
    const FleetOptions options_;
    Region::Time now_{std::chrono::hours{1}};
    UnixTime time_;
    std::deque<Regional> regions_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::unique_ptr<GlobalStore> witness_;  // a region that never spends
    Components truth_;                      // what callers were told
    Components rows_;                       // what the store was last seen to hold
    std::deque<Echo> sent_;
    std::deque<std::pair<std::size_t, ImportedCell>> imported_;  // by which node
    bool is_calm_ = false;
    std::size_t decisions_ = 0;
    std::string fault_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_GLOBAL_FLEET_H_
