// Counters by rule, under the names that envoyproxy/ratelimit's Prometheus mapping gives them.
#ifndef SLUICE_RLS_RULE_METRICS_H_
#define SLUICE_RLS_RULE_METRICS_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "rls/rules.h"

namespace sluice::rls {

// The hits of one rule. Thread-safe: any thread adds, the one that writes the metrics reads.
// Relaxed: the numbers publish nothing.
struct alignas(64) RuleCounters {
    std::atomic<std::uint64_t> total_hits{0};
    std::atomic<std::uint64_t> within_limit{0};
    std::atomic<std::uint64_t> near_limit{0};
    std::atomic<std::uint64_t> over_limit{0};
    std::atomic<std::uint64_t> shadow_mode{0};  // over the limit, and answered as OK
    // Of a value's counters: their last request. Guarded by the lock of RuleMetrics.
    UnixTime last_used{};

    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t hits) {
        counter.fetch_add(hits, std::memory_order_relaxed);
    }
};

// The result of a decision, for the counters of its rule.
struct CountedHits {
    std::uint64_t hits;
    std::uint64_t limit;
    std::uint64_t remaining;  // afterwards
    bool is_over;
    bool is_shadowed;
};

// Adds to the counters of a rule. Hits of a pass are near the limit as far as they lie above four
// fifths of it, rounded down.
void count(RuleCounters& counters, const CountedHits& counted);

// Rules with their counters. Made by RuleMetrics.
struct ActiveRules : std::enable_shared_from_this<ActiveRules> {
    std::shared_ptr<const RuleSet> rules = RuleSet::none();
    std::vector<std::shared_ptr<RuleCounters>> counters = {};  // by the index of the rule
};

// RuleMetrics holds the counters of all rules, which survive a reload. Their number is bounded:
// rules beyond kMaxRuleSeries count together under the key "other", and values beyond
// kMaxValueSeries with the rule that they belong to, as do those with long labels. A value that has
// not occurred for kIdleTime makes room, so that at most kMaxValueSeries appear anew in that time.
//
// Thread-safe.
class RuleMetrics {
  public:
    static constexpr std::size_t kMaxRuleSeries = 2'000;
    static constexpr std::size_t kMaxValueSeries = 2'000;
    static constexpr std::size_t kMaxValueBytes = 256;  // of the keys of a value's labels
    static constexpr std::chrono::hours kIdleTime{1};

    // No rules.
    static std::shared_ptr<const ActiveRules> none() { return std::make_shared<ActiveRules>(); }

    // `rules` with their counters. Those of rules that are gone are kept while there is room.
    std::shared_ptr<const ActiveRules> activate(std::shared_ptr<const RuleSet> rules);

    // The counters of values that a request has, instead of `rule`, its rule's.
    std::shared_ptr<RuleCounters> by_value(MetricLabels labels,
                                           const std::shared_ptr<RuleCounters>& rule,
                                           UnixTime now);

    void note_load(bool succeeded);
    void note_global_shadow();
    void note_error();

    // Appends all metrics in Prometheus' text format.
    void write(std::string& out) const;

  private:
    using Series = std::map<MetricLabels, std::shared_ptr<RuleCounters>>;

    std::shared_ptr<RuleCounters> counters_of(const LimitRule& rule) SLUICE_REQUIRES(mutex_);
    bool has_room_for_value(UnixTime now) SLUICE_REQUIRES(mutex_);

    mutable Mutex mutex_;
    // No labels are in both.
    Series by_rule_ SLUICE_GUARDED_BY(mutex_);
    Series by_value_ SLUICE_GUARDED_BY(mutex_);
    UnixTime made_room_at_ SLUICE_GUARDED_BY(mutex_){};
    // Written and read by any thread; relaxed, since they publish nothing.
    std::atomic<std::uint64_t> loads_succeeded_{0};
    std::atomic<std::uint64_t> loads_failed_{0};
    std::atomic<std::uint64_t> global_shadow_{0};
    std::atomic<std::uint64_t> errors_{0};
    std::atomic<std::uint64_t> folded_{0};
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_METRICS_H_
