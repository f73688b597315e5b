// The options of a run, with its faults and its seed, and how they are parsed, loaded from a file,
// and drawn at random. A run depends on nothing else but the commit.
#ifndef SLUICE_SIM_OPTIONS_H_
#define SLUICE_SIM_OPTIONS_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "global/policy.h"
#include "sim/scheduler.h"
#include "window/sliding.h"

namespace sluice::sim {

// Parts of a thousand.
using Permille = std::uint64_t;

// The regions that receive the requests of a key.
enum class Spread {
    kEven,      // all regions equally
    kSingle,    // one region per key
    kZipf,      // weights 1, 1/2, 1/3 and so on
    kRotating,  // one region at a time, the next one every 5 seconds
    kSkewed,    // seven tenths in the first region, the rest evenly in the others
};

struct Load {
    Permille times = 2'000;  // demand as a multiple of the limit
    std::uint32_t keys = 4;
    Count limit = 1'000;
    Duration duration{60'000};
    Spread spread = Spread::kEven;
    Permille overlap = 0;       // share of keys that a second region receives as well (kSingle)
    bool popular_keys = false;  // a tenth of the keys has most of the requests
    Permille batches = 0;       // share of batches of 2 to 4 requests, with shared keys
    Permille peeks = 0;         // share of requests with cost 0
    Count most_cost = 1;
    Permille churn = 0;       // share of keys replaced per duration
    Permille long_names = 0;  // share of keys with names too long for a store
    bool is_poisson = false;  // exponential gaps between requests, else uniform ones
    Moment starts{0};         // time of the first request
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
    kBusDown,
    kBusLoss,
    kBusSlow,
    kPartition,
    kCrash,
    kRestart,
    kRollingRestart,
    kClockStep,
    kPause,
    kBurst,
    kVolley,
};

// The part of the fleet that a fault affects; indexes count from 0.
struct Target {
    enum class Kind { kAll, kRegion, kNode, kStore } kind = Kind::kAll;
    std::uint32_t index = 0;
};

// A scheduled fault. Instantaneous if `lasts` is 0.
struct Fault {
    FaultKind kind;
    Target target = {};
    Moment at{0};
    Moment lasts{0};
    std::int64_t amount = 0;  // nanoseconds, permille, or a number
    std::string spec = {};    // as it was written
};

// All faults of a run.
struct FaultPlan {
    Permille loss = 0;       // share of messages between nodes and origin, each way
    Permille duplicate = 0;  // share of calls to the origin that arrive twice
    Moment delay = std::chrono::microseconds{500};   // of a message within a region
    Moment jitter = std::chrono::microseconds{200};  // maximum, added to the delay
    Moment skew{0};                                  // maximum error of each node's clock
    Permille bus_loss = 0;                           // share of announcements, for each receiver
    std::vector<Fault> scheduled;

    // The longest round trip to a working origin.
    Moment longest_call() const { return 2 * (delay + jitter); }
    bool has(FaultKind kind) const;
};

struct Options {
    std::uint64_t seed = 1;
    std::string name = "a small fleet";
    std::uint32_t regions = 3;
    std::uint32_t nodes = 6;                   // of all regions
    std::size_t max_keys = 1'000'000;          // per node
    Moment lasts = std::chrono::seconds{150};  // duration of the load
    Moment begins{0};                          // offset of the start within a window
    Load load;
    FaultPlan faults;
    std::string policy = "adaptive";
    Moment interval = std::chrono::seconds{10};  // of publishers and importers
    std::optional<Moment> bus;                   // the average delay of a bus; none: no bus

    // The promises of a scenario; a run that breaks one fails.
    struct Promise {
        bool no_false_denial = false;
        std::optional<Permille> most_trailing;  // of the limit, in any trailing window
        std::optional<Permille> most_window;    // of the limit, in any fixed window
        std::optional<Permille> least_steady;   // of the limit, in windows with enough demand
    };
    Promise promise;
    bool is_traced = false;  // keeps a million events instead of 4,000
    // The audited divisor of the share, for measurements. Default: the documented one.
    std::optional<std::uint64_t> share_parts;
};

// The grammar and a list of all faults, for --help and error messages.
extern const char* const kFaultHelp;

// Parses `spec` and adds it to the plan. kInvalidOption: it is not a fault.
std::optional<Error> add_fault(std::string_view spec, FaultPlan& plan);

// Parses a share or a multiple: 0.05 and 5% are 50, 30 is 30'000. Up to three decimal places.
std::optional<Permille> parse_permille(std::string_view text);

// The scenario of `sluice simulate` without arguments: a small fleet with three faults.
Options default_scenario();

// Reads a TOML file. kInvalidOption: it can't be read, or has an unknown or invalid setting.
Result<Options> load_scenario(const std::string& path);

// Sets an option by its name in files and on the command line: "load" to "0.9".
std::optional<Error> set_option(std::string_view name, const std::string& value, Options& options);

// Checks that the options are consistent, after all are set.
std::optional<Error> check_options(const Options& options);

// Random options, determined by the seed.
Options swarm_options(std::uint64_t seed);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_OPTIONS_H_
