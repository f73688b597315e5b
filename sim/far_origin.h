// A node's way to its origin, over the simulated network.
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
// nothing. What was sent may arrive all the same, late, twice, or after its node has died.
//
// Thread-compatible.
class FarOrigin final : public Origin {
  public:
    struct Place {
        std::uint32_t region;
        Serial serial;
    };
    // The audit is told of what is sent and heard, while the node lives.
    FarOrigin(World& world, Place place, Pulse& pulse, Audit& audit);

    void start(OriginEvents events) override;
    void read(std::vector<CellQuestion> cells, Answered answered) override;
    void raise(std::vector<CellComponent> components, Answered answered) override;
    void list(std::vector<CellName> cells, Listed listed) override;
    std::string node() const override;

    // The connection breaks, and is made again; `remembers` as the port has it.
    void disconnect(const std::string& why);
    void connect();
    // The server noticed, or was noticed, to have lost all.
    void forgot();
    // Messages are dropped in silence.
    bool is_cut = false;

    // The node has died: nobody waits any more.
    void sever();

    bool is_connected() const { return is_connected_; }

  private:
    struct Call {
        std::uint64_t id = 0;
        bool is_raise = false;
        std::vector<CellQuestion> questions;
        std::vector<CellComponent> components;
        std::vector<CellAnswer> answers;
        Answered answered;
        int underway = 0;  // messages
        std::size_t size() const { return is_raise ? components.size() : questions.size(); }
    };

    OriginServer& server() { return world_.origins[place_.region]; }
    Call* find(std::uint64_t id);
    void send(Call call);
    void carry(std::uint64_t id);
    void arrive(std::uint64_t id);
    void serve(std::uint64_t id);
    void come_back(std::uint64_t id);
    void end(std::uint64_t id, bool is_answered);
    void tidy();

    World& world_;
    const Place place_;
    Pulse& pulse_;
    Audit& audit_;
    OriginEvents events_;
    bool is_connected_ = false;
    std::uint64_t losses_seen_ = 0;
    std::uint64_t last_id_ = 0;
    std::deque<Call> calls_;  // by id
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_FAR_ORIGIN_H_
