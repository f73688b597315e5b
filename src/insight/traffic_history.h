// The traffic and the state of the last hour, second by second, in fixed memory.
#ifndef SLUICE_INSIGHT_TRAFFIC_HISTORY_H_
#define SLUICE_INSIGHT_TRAFFIC_HISTORY_H_

#include <sluice/time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "insight/recorder.h"

namespace sluice::insight {

// The latency of requests, in microseconds; 0 without requests.
struct Latency {
    std::uint32_t p50 = 0;
    std::uint32_t p99 = 0;
    std::uint32_t p999 = 0;
};

// The state of a node at the end of a second.
struct StateSample {
    Latency latency;  // of the second's requests
    std::uint64_t keys_held = 0;
    std::chrono::milliseconds oldest_unsynced{0};
    std::chrono::milliseconds import_age{-1};  // -1: there was no import yet
    bool origin_unavailable = false;
    bool global_unavailable = false;
    bool bus_unavailable = false;
    bool breaker_open = false;
};

// Whether the decisions in a namespace are reported to a caller.
using IsVisible = std::function<bool(const ShownNamespace& name_space)>;

// The denials and the spend of a namespace over some time.
struct NamespaceTotal {
    std::string workspace;
    std::string name_space;
    bool is_cut = false;
    std::uint64_t denied = 0;
    std::uint64_t spend = 0;

    ShownNamespace shown() const { return {workspace, name_space, is_cut}; }
};

struct Totals {
    std::vector<NamespaceTotal> namespaces;  // the busiest ones
    // Of all others together.
    std::uint64_t other_denied = 0;
    std::uint64_t other_spend = 0;
};

// Numbers of consecutive steps, the oldest first.
struct TrafficReport {
    using Numbers = std::vector<std::int64_t>;
    struct Namespace {
        std::string name;
        Numbers passed;
        Numbers denied;
    };

    UnixTime from{};  // the start of the first step
    std::chrono::seconds step{1};
    Numbers passed;  // of all namespaces
    Numbers denied;
    std::vector<Namespace> namespaces;               // visible ones with traffic, the busiest first
    Numbers p50, p99, p999;                          // the largest of the step's seconds
    Numbers keys_held, oldest_unsynced, import_age;  // at the end of the step
    // Seconds of the step in which it was so.
    Numbers origin_unavailable, global_unavailable, bus_unavailable, breaker_open;
};

// Keeps kSeconds for kNamespaces; the busiest of the last minutes have a row of their own, and what
// others do is in the sums over all only. A namespace that takes over a row erases the history of
// the one that had it from that row.
//
// Thread-compatible.
class TrafficHistory {
  public:
    static constexpr std::size_t kSeconds = 4'096;
    static constexpr std::size_t kNamespaces = 32;

    TrafficHistory();

    // Adds decisions to a second, which is at most kSeconds before the newest one.
    void add(const Batch& batch, std::int64_t second);
    // Sets the state at the end of a second.
    void set_state(const StateSample& state, std::int64_t second);

    struct Range {
        std::int64_t end;  // the second after the last one
        std::int64_t seconds;
        std::int64_t step = 1;
    };
    TrafficReport report(const Range& range, const IsVisible& is_visible) const;

    // The sums from the second `first` on, by namespace for those that have a row.
    Totals totals_since(std::int64_t first) const;

  private:
    struct Counts {
        std::uint32_t passed = 0;
        std::uint32_t denied = 0;
        std::uint64_t spend = 0;
    };
    struct Second {
        std::int64_t number = -1;
        std::uint64_t passed = 0;
        std::uint64_t denied = 0;
        std::uint64_t spend = 0;
        StateSample state;
        std::array<Counts, kNamespaces> rows;
    };
    struct Row {
        std::uint64_t hash = 0;  // 0: free
        std::string workspace;
        std::string name_space;
        bool is_cut = false;
        double recent = 0;  // decisions; halved about every minute
    };

    Second& second_at(std::int64_t number);
    const Second* find(std::int64_t number) const;
    Row* row_of(const NamespaceCounts& counts);
    void take_over(Row& row, const NamespaceCounts& counts);

    std::vector<Second> seconds_;  // that of a number is at number % kSeconds
    std::array<Row, kNamespaces> rows_;
    std::int64_t newest_ = -1;
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_TRAFFIC_HISTORY_H_
