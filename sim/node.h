// A simulated node: the production objects of a process, driven by the scheduler.
#ifndef SLUICE_SIM_NODE_H_
#define SLUICE_SIM_NODE_H_

#include <sluice/limiter.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counter/table.h"
#include "global/announce_queue.h"
#include "global/bus.h"
#include "global/global_sync.h"
#include "regional/region.h"
#include "service/deadline_queue.h"
#include "service/local_decider.h"
#include "service/origin_decider.h"
#include "sim/audit.h"
#include "sim/origin_connection.h"
#include "sim/world.h"

namespace sluice::sim {

// One life of a process. When it ends, its production objects are destroyed; the Node itself stays,
// since its messages may still be in flight.
//
// Thread-compatible.
class Node {
  public:
    struct Place {
        std::uint32_t region;
        std::uint32_t index;  // in the fleet
        Serial serial;
    };
    Node(World& world, Place place, Moment skew);
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // Prefetches the records of a key.
    void prepare(KeyIndex key) const;
    void serve(KeyIndex key, Count cost);
    void serve(std::span<const std::pair<KeyIndex, Count>> batch);

    // Ends like a killed process: unflushed counts are lost.
    void crash();
    // Ends like a terminated process: flushes for up to a second first.
    void close(std::function<void()> ended);
    void pause_until(Moment when);
    // Its clock steps for good, or is wrong by that much until correct_clock().
    void step_clock(Moment by) { skew_ += by; }
    void set_clock_ahead(Moment by) { ahead_ = by; }
    void correct_clock();

    bool is_alive() const { return process_.is_alive; }
    bool takes_requests() const { return process_.is_alive && !is_closing_; }
    const Place& place() const { return place_; }
    OriginConnection& origin() { return *origin_; }
    Audit& audit() { return *audit_; }
    const Audit& audit() const { return *audit_; }
    bool is_cut_from_store = false;

    // Writes and reads the counts of these keys.
    void sync(std::span<const KeyIndex> keys);
    // The spend of other regions that it holds for a cell.
    std::optional<Count> global(KeyIndex key, Sequence sequence);

    // By its own clock.
    UnixTime wall() const {
        return world_.wall() +
               std::chrono::duration_cast<std::chrono::milliseconds>(skew_ + ahead_);
    }

    // Checks a live node after all faults: nothing waits, everything is flushed.
    void check_settled();
    // Checks that a node treats an origin that refuses writes as unavailable.
    void check_unavailable();

    struct Totals {
        Audit::Totals audit;
        std::uint64_t calls = 0;    // to the origin, without heartbeats
        std::uint64_t flushed = 0;  // keys
        std::uint64_t rows = 0;
        std::uint64_t imported = 0;
        std::uint64_t outages = 0;
        Moment longest_wait{0};
    };
    Totals totals() const;

  private:
    struct Link {
        Node* node;
        bool is_unavailable() const { return node->region_->is_unavailable(); }
        void count_fallback() const { node->origin_decider_->count_fallback(); }
    };
    class AuditedDecision;

    DecidedBy decided_at_once(std::uint64_t fallbacks_before) const;
    void wait_for_origin(std::shared_ptr<PendingDecision> pending, KeyIndex key);
    void again();
    void turn();
    void set_alarm();
    void begin_close(std::function<void()> ended);
    void note_lost();
    void check_flushed();
    void join_bus();
    void announce_when_due();
    void watch_bus();
    void publish_when_due();
    void publish();
    void notice_failover();
    void import_when_due();
    void import();
    void merge(const RegionRow& row, ComponentSource source);
    Moment store_delay();
    void check_ticks();
    void end();

    World& world_;
    const Place place_;
    Moment skew_;
    Moment ahead_{0};
    ProcessState process_;
    std::unique_ptr<Table> table_;
    std::unique_ptr<Audit> audit_;
    std::unique_ptr<OriginConnection> origin_;
    DeadlineQueue waits_;
    std::optional<Region> region_;
    std::optional<OriginDecider> origin_decider_;
    std::optional<GlobalSync> global_sync_;
    Link link_{this};
    std::optional<LocalDecider<Link>> decider_;
    bool is_turn_waiting_ = false;
    Moment alarm_ = Moment::max();  // the earliest one set
    std::uint64_t waiting_ = 0;     // requests that wait for the origin
    bool is_publishing_ = false;
    std::uint64_t store_connection_ = 1;
    std::uint64_t failovers_seen_ = 0;
    Moment publish_alarm_ = Moment::max();
    Moment import_alarm_ = Moment::max();
    std::unique_ptr<Bus> bus_;  // null without one
    std::optional<AnnounceQueue> announce_queue_;
    bool is_bus_unavailable_ = false;
    bool is_closing_ = false;
    std::vector<Moment> imports_;  // start times of the latest ones
    bool had_import_failure_ = false;
    Totals last_totals_;  // kept when the node ends
    Moment longest_wait_{0};
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_NODE_H_
