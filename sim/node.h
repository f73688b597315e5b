// A node of the simulated fleet: all that ships, over what is simulated.
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
#include "global/global_sync.h"
#include "regional/region.h"
#include "service/deadline_queue.h"
#include "service/local_decider.h"
#include "service/origin_decider.h"
#include "sim/audit.h"
#include "sim/far_origin.h"
#include "sim/world.h"

namespace sluice::sim {

// Node is one life of a process. When it ends, its objects are destroyed as a process's memory is;
// the shell stays, since messages of the dead may be underway.
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

    // A request for the key will come soon.
    void prepare(KeyIndex key) const;
    void serve(KeyIndex key, Count cost);
    void serve(std::span<const std::pair<KeyIndex, Count>> batch);

    // As a process that is killed; what it did not flush is lost.
    void crash();
    // As one that is asked to end: it flushes first what it can within a second.
    void close(std::function<void()> ended);
    void pause_until(Moment when);
    void step_clock(Moment by) { skew_ += by; }

    bool is_alive() const { return pulse_.is_alive; }
    bool takes_requests() const { return pulse_.is_alive && !is_closing_; }
    const Place& place() const { return place_; }
    FarOrigin& origin() { return *origin_; }
    Audit& audit() { return *audit_; }
    const Audit& audit() const { return *audit_; }
    bool is_cut_from_store = false;

    // Has the counts of these keys written and read, whatever they are.
    void sync(std::span<const KeyIndex> keys);
    // What is held of other regions' spending.
    std::optional<Count> global(KeyIndex key, Sequence sequence);

    // By its own clock.
    UnixTime wall() const {
        return world_.wall() + std::chrono::duration_cast<std::chrono::milliseconds>(skew_);
    }

    // Of a life that lasts, when all should be calm.
    void check_calm();
    // Of an origin that refuses writes.
    void check_unavailable();

    struct Totals {
        Audit::Totals audit;
        std::uint64_t calls = 0;    // to the origin, but for heartbeats
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
    class Watched;

    By by_at_once(std::uint64_t fallbacks_before) const;
    void defer(std::shared_ptr<PendingDecision> pending, std::vector<Audit::Decided> made);
    void again();
    void turn();
    void set_alarm();
    void begin_close(std::function<void()> ended);
    void note_lost();
    void check_flushed();
    void publish_when_due();
    void publish();
    void notice_failover();
    void import_when_due();
    void import();
    void merge(const ImportedCell& cell);
    Moment store_delay();
    void check_ticks();
    void end();

    World& world_;
    const Place place_;
    Moment skew_;
    Pulse pulse_;
    std::unique_ptr<Table> table_;
    std::unique_ptr<Audit> audit_;
    std::unique_ptr<FarOrigin> origin_;
    DeadlineQueue waits_;
    std::optional<Region> region_;
    std::optional<OriginDecider> origin_decider_;
    std::optional<GlobalSync> global_sync_;
    Link link_{this};
    std::optional<LocalDecider<Link>> decider_;
    bool is_turn_waiting_ = false;
    Moment alarm_ = Moment::max();  // the earliest that is set
    std::uint64_t waiting_ = 0;     // questions
    bool is_publishing_ = false;
    std::uint64_t store_connection_ = 1;
    std::uint64_t failovers_seen_ = 0;
    Moment publish_alarm_ = Moment::max();
    Moment import_alarm_ = Moment::max();
    bool is_closing_ = false;
    std::vector<Moment> imports_;  // when the last ones began
    bool had_import_trouble_ = false;
    Totals last_totals_;  // of a life that has ended
    Moment longest_wait_{0};
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_NODE_H_
