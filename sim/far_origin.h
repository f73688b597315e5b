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

// Keeps the promises of the port, and no others: each call is answered once, in time or with
// nothing. What was sent may arrive all the same, late, twice, or after its node has died. Only
// retire() keeps the order of a connection: what was sent before it does not arrive after it.
//
// Thread-compatible.
class FarOrigin final : public Origin {
  public:
    struct Place {
        std::uint32_t region;
        Serial serial;
    };
    // The audit sees what is sent, what the origin makes of it, and what is answered.
    FarOrigin(World& world, Place place, Pulse& pulse, Audit& audit);

    void start(OriginEvents events) override;
    void sync(std::vector<KeyComponents> keys, Synced synced) override;
    void spend(std::vector<KeySpend> keys, Spent spent) override;
    void heartbeat(HeartbeatDone beaten) override;
    void retire(std::vector<KeyComponents> keys, Synced synced) override;
    void list(std::vector<CellName> cells, Listed listed) override;
    std::string node() const override;

    // The connection breaks, and is made again.
    void disconnect(const std::string& why);
    void connect();
    // The server noticed, or was noticed, to have lost data.
    void lose_data();
    // Messages are dropped in silence.
    bool is_cut = false;

    // The node has died: nobody waits any more.
    void sever();

    bool is_connected() const { return is_connected_; }
    // Calls that were sent, but for heartbeats.
    std::uint64_t calls() const { return sent_; }

  private:
    enum class Kind { kSync, kSpend, kHeartbeat, kRetire };
    // What happens at the node when an answer arrives.
    using Deliver = std::function<void()>;
    struct Call {
        std::uint64_t id = 0;
        Kind kind = Kind::kSync;
        std::size_t keys = 0;
        // At the server, once per copy of the message. Returns nothing if it refuses a write.
        std::function<Deliver()> execute;
        Deliver unanswered;
        bool is_open = true;  // nobody has answered it
        int underway = 0;     // messages
    };

    OriginServer& server() { return world_.origins[place_.region]; }
    bool would_write(const KeyComponents& key);
    bool would_write(const KeySpend& key);
    Call* find(std::uint64_t id);
    void send(Call call);
    void carry(std::uint64_t id);
    void arrive(std::uint64_t id);
    void serve(std::uint64_t id);
    void come_back(std::uint64_t id, const Deliver& deliver);
    void end(std::uint64_t id, const Deliver& deliver);
    void refuse(std::uint64_t id);
    void tidy();

    World& world_;
    const Place place_;
    Pulse& pulse_;
    Audit& audit_;
    OriginEvents events_;
    bool is_connected_ = false;
    std::uint64_t losses_seen_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t last_retire_ = 0;  // the last that has arrived
    std::uint64_t sent_ = 0;
    std::deque<Call> calls_;  // by id
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_FAR_ORIGIN_H_
