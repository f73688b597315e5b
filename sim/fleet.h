// The simulated fleet: its nodes, the faults of the run, and the checks of its final state.
#ifndef SLUICE_SIM_FLEET_H_
#define SLUICE_SIM_FLEET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/arrivals.h"
#include "sim/bounds.h"
#include "sim/expectations.h"
#include "sim/node.h"
#include "sim/world.h"

namespace sluice::sim {

// Time to recover after a fault. None if it took longer than the run observed.
struct Recovery {
    std::size_t fault;
    std::optional<Moment> region;  // until all origins held what had been admitted
    std::optional<Moment> world;   // until all nodes of other regions held it
};

// Thread-compatible.
class Fleet {
  public:
    Fleet(World& world, std::function<void(Moment)> progress);

    // Runs to the end, or until a check fails.
    void run();

    const std::vector<Recovery>& recoveries() const { return recoveries_; }
    // The admitted counts of the fullest trailing window, at regular times.
    const std::vector<Permille>& over_time() const { return over_time_; }
    static constexpr std::int64_t kColumns = 60;
    // Decisions of a region between two of these times.
    struct Decided {
        std::uint64_t passed = 0;
        std::uint64_t denied = 0;
    };
    const std::vector<Decided>& decided_over_time(std::uint32_t region) const {
        return decided_over_time_[region];
    }

    Node::Totals totals_of(std::uint32_t region) const;
    std::uint64_t unserved() const { return unserved_; }
    std::uint64_t checked_views() const { return checked_views_; }

  private:
    struct Snapshot;

    void start_node(std::uint32_t index);
    Node* node_at(std::uint32_t index) { return current_[index]; }
    Node* choose_node(const Arrivals::Arrival& arrival);
    void each_alive(const Target& target, const std::function<void(Node&)>& act);
    void each_origin(const Target& target, const std::function<void(std::uint32_t)>& act);

    void schedule_faults();
    void begin(std::size_t fault);
    void end(std::size_t fault);
    void check_refusal(std::uint32_t region);
    void empty_origin(std::uint32_t region);
    void fail_over(std::uint32_t region, const OriginServer::Contents& earlier);
    void note_lost_components(std::uint32_t region, const OriginServer::Contents& kept);
    void fail_over_store(const StoreServer::Contents& earlier);
    void note_lost_rows(const StoreServer::Contents& before);
    void partition(const Target& target, bool is_cut);
    void restart(std::uint32_t index, Moment down);
    void restart_all(Moment apart);

    void prepare_next();
    void serve_next();
    void sample();
    void sample_decisions();
    void check_staleness();
    void check_flushed(std::uint32_t region, KeyIndex key, Sequence sequence);
    void watch_recovery(std::size_t fault);
    void poll_recovery(const std::shared_ptr<Snapshot>& snapshot);

    void settle_and_check();
    std::vector<KeyIndex> keys_to_check() const;
    void wait_until(Moment when);
    // Checks the nodes' views of their own region, or of other regions as well.
    enum class Scope { kRegion, kWorld };
    void check_convergence(Scope scope);
    void check_short_windows();
    // Sequences of cells that are alive, and stay so for a while, by every clock.
    std::vector<Sequence> live_sequences() const;
    void check_origin(std::uint32_t region, const std::vector<KeyIndex>& keys);
    void check_view(Node& node, KeyIndex key, Scope scope);
    bool is_displaced(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    World& world_;
    const Options& options_;
    const std::function<void(Moment)> progress_;
    Arrivals arrivals_;
    std::vector<std::unique_ptr<Node>> nodes_;  // all, including dead ones
    std::vector<Node*> current_;                // the current node at each index
    std::vector<std::vector<std::uint32_t>> region_nodes_;
    std::map<std::size_t, std::vector<OriginServer::Contents>> earlier_;  // by fault, by region
    std::map<std::size_t, StoreServer::Contents> earlier_stores_;         // by fault
    std::vector<bool> is_active_;                                         // by fault
    std::vector<Recovery> recoveries_;
    std::vector<Permille> over_time_;
    std::vector<std::vector<Decided>> decided_over_time_;  // by region
    std::vector<Decided> decided_before_;                  // by region, until the last sample
    Serial last_serial_ = 0;
    std::uint64_t unserved_ = 0;
    std::uint64_t checked_views_ = 0;
    bool is_over_ = false;
    Moment sync_time_ = std::chrono::seconds{3};  // allowed for the final reads
    // Taken before the final reads: cells that were published, and cells whose count in a region is
    // no longer held by any of its nodes.
    std::set<std::pair<KeyIndex, Sequence>> published_;
    std::set<std::tuple<KeyIndex, Sequence, std::uint32_t>> displaced_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_FLEET_H_
