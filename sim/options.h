// All that a run depends on: with its seed and the commit, everything that happens in it.
#ifndef SLUICE_SIM_OPTIONS_H_
#define SLUICE_SIM_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "global/policy.h"
#include "sim/scheduler.h"
#include "window/sliding.h"

namespace sluice::sim {

// Parts of a thousand.
using Permille = std::uint64_t;

// Where the requests of a key come in.
enum class Spread {
    kEven,      // all regions alike
    kSingle,    // one region, which is another one for each key
    kZipf,      // the second region half as many as the first, the third a third
    kRotating,  // one region, which is another one every 5 seconds
};

struct Load {
    Permille times = 2'000;  // what is asked for, as a multiple of what the limit allows
    std::uint32_t keys = 4;
    Count limit = 1'000;
    Duration duration{60'000};
    Spread spread = Spread::kEven;
    Permille overlap = 0;       // of the keys of one region, how many come in at a second one, too
    bool popular_keys = false;  // few keys have most of the requests
    Permille batches = 0;       // how many of the requests are batches of 2 to 4, with shared keys
    Permille peeks = 0;         // how many cost nothing
    Count most_cost = 1;
    Permille churn = 0;       // how many keys give way to new ones within a duration
    Permille long_names = 0;  // how many keys have names too long for a store
    bool is_poisson = false;  // requests come independently of each other, else evenly
    Moment starts{0};         // before that, no requests come
};

enum class FaultKind {
    kOriginDown,
    kOriginSlow,
    kOriginEmpty,
    kOriginStale,
    kOriginRefusesWrites,
    kStoreDown,
    kStoreSlow,
    kStoreBusy,
    kStoreLag,
    kStoreFailover,
    kStoreClock,
    kStoreCleanup,
    kPartition,
    kCrash,
    kRestart,
    kRollingRestart,
    kClockStep,
    kPause,
    kBurst,
    kVolley,
};

// Whom it strikes: everybody, or one of these, counted from 0.
struct Target {
    enum class Kind { kAll, kRegion, kNode, kStore } kind = Kind::kAll;
    std::uint32_t index = 0;
};

// Something that happens at a time, and perhaps lasts.
struct Fault {
    FaultKind kind;
    Target target = {};
    Moment at{0};
    Moment lasts{0};
    std::int64_t amount = 0;  // ns of a time, permille of a share, or a number
    std::string spec = {};    // as it was written
};

// Every fault that a run can have.
struct FaultPlan {
    Permille loss = 0;       // of the messages between nodes and origin, each way
    Permille duplicate = 0;  // of the calls to the origin, which arrive twice
    Moment delay = std::chrono::microseconds{500};   // of a message within a region
    Moment jitter = std::chrono::microseconds{200};  // on top of that, at most
    Moment skew{0};                                  // of each node's clock, at most, either way
    std::vector<Fault> scheduled;

    // A call to an origin that works, there and back, at most.
    Moment longest_call() const { return 2 * (delay + jitter); }
    bool has(FaultKind kind) const;
};

struct Options {
    std::uint64_t seed = 1;
    std::string name = "a small fleet";
    std::uint32_t regions = 3;
    std::uint32_t nodes = 6;                   // of all regions
    std::size_t max_keys = 1'000'000;          // that a node holds
    Moment lasts = std::chrono::seconds{150};  // for how long requests come
    Moment begins{0};  // after the beginning of a window of the load's duration
    Load load;
    FaultPlan faults;
    std::string policy = "half";
    Moment interval = std::chrono::seconds{10};  // of publishers and importers

    // What a scenario promises; a run that breaks it fails.
    struct Promise {
        bool no_false_denial = false;
        std::optional<Permille> most_trailing;  // of the limit, in any trailing window
        std::optional<Permille> most_window;    // of the limit, in any fixed window
        std::optional<Permille> least_steady;   // of the limit, in windows that want all of it
    };
    Promise promise;
    bool is_traced = false;  // keeps many more events for the trace
    // By how much the audit divides what is left, where that is measured: as the documentation says
    // if empty.
    std::optional<std::uint64_t> share_parts;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_OPTIONS_H_
