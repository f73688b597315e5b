// The state that all parts of a run share.
#ifndef SLUICE_SIM_WORLD_H_
#define SLUICE_SIM_WORLD_H_

#include <sluice/time.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "regional/region.h"
#include "sim/audit.h"
#include "sim/bus_server.h"
#include "sim/expectations.h"
#include "sim/options.h"
#include "sim/origin_server.h"
#include "sim/scheduler.h"
#include "sim/store_server.h"
#include "sim/trace.h"
#include "sim/truth.h"

namespace sluice::sim {

// The current state of the network.
struct Network {
    Permille loss = 0;
    Permille duplicate = 0;
    Moment delay{0};
    Moment jitter{0};
};

// Thread-compatible.
struct World {
    World(const Options& given, UnixTime began_at);

    UnixTime wall() const {
        return began + std::chrono::duration_cast<std::chrono::milliseconds>(scheduler.now());
    }
    std::int64_t true_ms() const { return wall().time_since_epoch().count(); }
    // True time since the epoch.
    Moment true_time() const { return began.time_since_epoch() + scheduler.now(); }
    // The monotonic clock of all nodes.
    Region::Time steady() const {
        return Region::Time{std::chrono::hours{1}} +
               std::chrono::duration_cast<Region::Time::duration>(scheduler.now());
    }
    static Moment since_start(Region::Time steady) {
        return steady - Region::Time{std::chrono::hours{1}};
    }
    Moment message_delay() {
        return network.delay +
               Moment{random.below(static_cast<std::uint64_t>(network.jitter.count()) + 1)};
    }
    void note(TraceKind kind, std::uint32_t node, std::uint64_t a = 0, std::uint64_t b = 0) {
        trace.note({.at = scheduler.now(), .kind = kind, .node = node, .a = a, .b = b});
    }

    const Options& options;
    const UnixTime began;
    Scheduler scheduler;
    Random random;
    Truth truth;
    FirstFailure failure;
    Trace trace;
    Network network;
    const Expectations expectations;
    std::deque<OriginServer> origins;  // by region
    std::deque<Membership> members;    // by region
    StoreServer store;
    std::optional<BusServer> bus;
};

// Whether a process is alive, and until when it is paused.
struct ProcessState {
    bool is_alive = true;
    Moment paused_until{0};

    // Runs `act` in the process: now, when its pause ends, or never.
    template <class Act>
    void run(Scheduler& scheduler, Act act) {
        if (!is_alive) return;
        if (scheduler.now() >= paused_until) return act();
        scheduler.at(paused_until, [this, &scheduler, act] { run(scheduler, act); });
    }
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_WORLD_H_
