// The fleet: nodes in their places, the faults that strike them, and the end at which all is
// checked.
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
#include "sim/node.h"
#include "sim/quiet.h"
#include "sim/world.h"

namespace sluice::sim {

// How long it took after a fault, none if it did not within the time that was watched.
struct Recovery {
    std::size_t fault;
    std::optional<Moment> region;  // until all origins held what had been granted by its end
    std::optional<Moment> world;   // until all other regions' nodes knew of it
};

// Thread-compatible.
class Fleet {
  public:
    Fleet(World& world, std::function<void(Moment)> progress);

    // To the end, or until something is wrong.
    void run();

    const std::vector<Recovery>& recoveries() const { return recoveries_; }
    // The admitted counts of the fullest trailing window, at regular times.
    const std::vector<Permille>& over_time() const { return over_time_; }
    static constexpr std::int64_t kColumns = 60;

    Node::Totals totals_of(std::uint32_t region) const;
    std::uint64_t unserved() const { return unserved_; }
    std::uint64_t checked_views() const { return checked_views_; }

  private:
    struct Snapshot;

    void start_node(std::uint32_t index);
    Node* node_at(std::uint32_t index) { return seats_[index]; }
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
    void check_staleness();
    void check_flushed(std::uint32_t region, KeyIndex key, Sequence sequence);
    void watch_recovery(std::size_t fault);
    void look_at_recovery(const std::shared_ptr<Snapshot>& snapshot);

    void calm_down();
    std::vector<KeyIndex> keys_to_check() const;
    void wait_until(Moment when);
    // Of the views that nodes have of their regions, or of the other regions as well.
    enum class Scope { kRegion, kWorld };
    void check_convergence(Scope scope);
    void check_short_windows();
    // Which cells of a key are alive, and stay so for a while, by any clock.
    std::vector<Sequence> living() const;
    void check_origin(std::uint32_t region, const std::vector<KeyIndex>& keys);
    void check_view(Node& node, KeyIndex key, Scope scope);
    bool is_displaced(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    World& world_;
    const Options& options_;
    const std::function<void(Moment)> progress_;
    Arrivals arrivals_;
    std::vector<std::unique_ptr<Node>> nodes_;  // all lives
    std::vector<Node*> seats_;                  // those of today, by index
    std::vector<std::vector<std::uint32_t>> region_seats_;
    std::map<std::size_t, std::vector<OriginServer::Contents>> earlier_;  // by fault, by region
    std::map<std::size_t, StoreServer::Contents> earlier_stores_;         // by fault
    std::vector<bool> is_active_;                                         // by fault
    std::vector<Recovery> recoveries_;
    std::vector<Permille> over_time_;
    Serial last_serial_ = 0;
    std::uint64_t unserved_ = 0;
    std::uint64_t checked_views_ = 0;
    bool is_over_ = false;
    Moment answers_ = std::chrono::seconds{3};  // how long a last round of questions takes
    // Before the last questions: cells of which something was published, and those whose count in
    // a region no node of that region holds any more.
    std::set<std::pair<KeyIndex, Sequence>> published_;
    std::set<std::tuple<KeyIndex, Sequence, std::uint32_t>> displaced_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_FLEET_H_
