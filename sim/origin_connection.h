// A node's connection to its origin, over the simulated network.
#ifndef SLUICE_SIM_FAR_ORIGIN_H_
#define SLUICE_SIM_FAR_ORIGIN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "regional/origin.h"
#include "sim/world.h"

namespace sluice::sim {

inline constexpr Moment kOriginTimeout = Scheduler::kTimeout;

// Implements the contract of the port and nothing beyond it: each call completes once, with an
// answer or without one after a timeout. A call may still arrive late, twice, or after its node has
// ended.
//
// Thread-compatible.
class OriginConnection final : public Origin {
  public:
    struct Place {
        std::uint32_t region;
        Serial serial;
    };
    // The audit observes calls as they are sent, executed and answered.
    OriginConnection(World& world, Place place, ProcessState& process, Audit& audit);

    void start(OriginEvents events) override;
    void sync(std::vector<KeyComponents> keys, Synced synced) override;
    void spend(std::vector<KeySpend> keys, Spent spent) override;
    void heartbeat(HeartbeatDone beaten) override;
    void list(std::vector<CellName> cells, Listed listed) override;
    std::string node() const override;

    // Breaks the connection; it reconnects by itself.
    void disconnect(const std::string& why);
    void connect();
    // Reports that the server has lost data.
    void lose_data();
    // Messages are dropped silently.
    bool is_cut = false;

    // The node has died: open calls are dropped.
    void sever();

    bool is_connected() const { return is_connected_; }
    // Calls sent, without heartbeats.
    std::uint64_t calls() const { return sent_; }

  private:
    enum class Kind { kSync, kSpend, kHeartbeat };
    // Runs at the node when an answer arrives.
    using Deliver = std::function<void()>;
    struct Call {
        std::uint64_t id = 0;
        Kind kind = Kind::kSync;
        std::size_t keys = 0;
        Moment sent{0};
        // Runs at the server, once per copy of the message. Null if the server refuses a write.
        std::function<Deliver()> execute;
        Deliver unanswered;
        bool is_open = true;  // not completed
        int in_flight = 0;    // messages
    };

    OriginServer& server() { return world_.origins[place_.region]; }
    bool would_write(const KeyComponents& key);
    bool would_write(const KeySpend& key);
    Call* find(std::uint64_t id);
    void send(Call call);
    void transmit(std::uint64_t id);
    void arrive(std::uint64_t id);
    void serve(std::uint64_t id);
    void reply_arrived(std::uint64_t id, const Deliver& deliver);
    void end(std::uint64_t id, const Deliver& deliver);
    void refuse(std::uint64_t id);
    void erase_finished();

    World& world_;
    const Place place_;
    ProcessState& process_;
    Audit& audit_;
    OriginEvents events_;
    bool is_connected_ = false;
    std::uint64_t losses_seen_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t sent_ = 0;
    std::deque<Call> calls_;  // by id
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_FAR_ORIGIN_H_
