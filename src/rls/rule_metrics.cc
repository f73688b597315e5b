#include "rls/rule_metrics.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "metrics/text.h"

namespace sluice::rls {
namespace {

using metrics::Name;
using metrics::Type;
using Counter = std::atomic<std::uint64_t> RuleCounters::*;

struct RuleMetric {
    Name name;
    Counter counter;
};

// clang-format off
constexpr std::array kRuleMetrics = {
    RuleMetric{{"ratelimit_service_rate_limit_total_hits", Type::kCounter,
                "Hits of requests that a rule applied to."}, &RuleCounters::total_hits},
    RuleMetric{{"ratelimit_service_rate_limit_within_limit", Type::kCounter,
                "Hits that were within the limit of their rule."}, &RuleCounters::within_limit},
    RuleMetric{{"ratelimit_service_rate_limit_near_limit", Type::kCounter,
                "Hits within the limit, but above four fifths of it."}, &RuleCounters::near_limit},
    RuleMetric{{"ratelimit_service_rate_limit_over_limit", Type::kCounter,
                "Hits that were over the limit of their rule, also in shadow mode."},
               &RuleCounters::over_limit},
    RuleMetric{{"ratelimit_service_rate_limit_shadow_mode", Type::kCounter,
                "Hits over the limit of a rule in shadow mode, which were answered as OK."},
               &RuleCounters::shadow_mode},
};
constexpr Name kLoadSuccess{"ratelimit_service_config_load_success", Type::kCounter,
    "Loads of the rules that were taken."};
constexpr Name kLoadError{"ratelimit_service_config_load_error", Type::kCounter,
    "Loads of the rules that were refused; those before stayed in force."};
constexpr Name kGlobalShadow{"ratelimit_service_global_shadow_mode", Type::kCounter,
    "Requests over a limit that the global shadow mode answered as OK."};
constexpr Name kErrors{"ratelimit_service_should_rate_limit_error", Type::kCounter,
    "Requests that were answered with an error."};
constexpr Name kFolded{"ratelimit_service_rate_limit_series_folded", Type::kCounter,
    "Requests counted under their rule: too many series by value, or a value that is too long."};
// clang-format on

void write_all(metrics::Text& text,
               const RuleMetric& metric,
               const std::map<MetricLabels, std::shared_ptr<RuleCounters>>& series) {
    for (const auto& [labels, counters] : series) {
        const std::uint64_t value = ((*counters).*metric.counter).load(std::memory_order_relaxed);
        if (labels.key2.empty()) {
            text.sample({{"domain", labels.domain}, {"key1", labels.key1}}, value);
        } else {
            text.sample({{"domain", labels.domain}, {"key1", labels.key1}, {"key2", labels.key2}},
                        value);
        }
    }
}

}  // namespace

void count(RuleCounters& counters, const CountedHits& counted) {
    const auto [hits, limit, remaining, is_over, is_shadowed] = counted;
    RuleCounters::add(counters.total_hits, hits);
    if (is_over) {
        RuleCounters::add(counters.over_limit, hits);
        if (is_shadowed) RuleCounters::add(counters.shadow_mode, hits);
        return;
    }
    RuleCounters::add(counters.within_limit, hits);
    const std::uint64_t threshold = limit / 5 * 4 + limit % 5 * 4 / 5;
    const std::uint64_t spent = limit - std::min(limit, remaining);
    if (spent > threshold)
        RuleCounters::add(counters.near_limit, std::min(hits, spent - threshold));
}

std::shared_ptr<RuleCounters> RuleMetrics::counters_of(const LimitRule& rule) {
    const auto held = by_rule_.find(rule.labels);
    if (held != by_rule_.end()) return held->second;
    const bool has_room = by_rule_.size() < kMaxRuleSeries;
    auto& counters =
        by_rule_[has_room ? rule.labels : MetricLabels{.domain = "other", .key1 = "other"}];
    if (has_room) {
        if (const auto moved = by_value_.extract(rule.labels)) counters = moved.mapped();
    }
    if (counters == nullptr) counters = std::make_shared<RuleCounters>();
    return counters;
}

std::shared_ptr<const ActiveRules> RuleMetrics::activate(std::shared_ptr<const RuleSet> rules) {
    const MutexLock lock(mutex_);
    if (by_rule_.size() + rules->rules().size() > kMaxRuleSeries) {
        std::set<MetricLabels> used;
        for (const LimitRule& rule : rules->rules())
            used.insert(rule.labels);
        std::erase_if(by_rule_, [&](const auto& series) { return !used.contains(series.first); });
    }
    auto active = std::make_shared<ActiveRules>();
    for (const LimitRule& rule : rules->rules())
        active->counters.push_back(counters_of(rule));
    active->rules = std::move(rules);
    return active;
}

// Whether there may be a further value. Idle ones are looked for at intervals: a request should not
// pay for that while all are in use.
bool RuleMetrics::has_room_for_value(UnixTime now) {
    constexpr std::chrono::minutes kInterval{1};
    const bool is_due = now < made_room_at_ || now - made_room_at_ >= kInterval;
    if (by_value_.size() >= kMaxValueSeries && is_due) {
        made_room_at_ = now;
        std::erase_if(by_value_, [now](const auto& series) {
            return now - series.second->last_used >= kIdleTime;
        });
    }
    return by_value_.size() < kMaxValueSeries;
}

std::shared_ptr<RuleCounters> RuleMetrics::by_value(MetricLabels labels,
                                                    const std::shared_ptr<RuleCounters>& rule,
                                                    UnixTime now) {
    const MutexLock lock(mutex_);
    if (labels.key1.size() + labels.key2.size() <= kMaxValueBytes) {
        if (const auto held = by_value_.find(labels); held != by_value_.end()) {
            held->second->last_used = now;
            return held->second;
        }
        if (const auto held = by_rule_.find(labels); held != by_rule_.end()) return held->second;
        if (has_room_for_value(now)) {
            auto counters = std::make_shared<RuleCounters>();
            counters->last_used = now;
            return by_value_.emplace(std::move(labels), std::move(counters)).first->second;
        }
    }
    folded_.fetch_add(1, std::memory_order_relaxed);
    return rule;
}

void RuleMetrics::note_load(bool succeeded) {
    (succeeded ? loads_succeeded_ : loads_failed_).fetch_add(1, std::memory_order_relaxed);
}

void RuleMetrics::note_global_shadow() {
    global_shadow_.fetch_add(1, std::memory_order_relaxed);
}

void RuleMetrics::note_error() {
    errors_.fetch_add(1, std::memory_order_relaxed);
}

void RuleMetrics::write(std::string& out) const {
    const MutexLock lock(mutex_);
    metrics::Text text(out);
    for (const RuleMetric& metric : kRuleMetrics) {
        text.begin(metric.name);
        write_all(text, metric, by_rule_);
        write_all(text, metric, by_value_);
    }
    text.single(kLoadSuccess, loads_succeeded_.load(std::memory_order_relaxed));
    text.single(kLoadError, loads_failed_.load(std::memory_order_relaxed));
    text.single(kGlobalShadow, global_shadow_.load(std::memory_order_relaxed));
    text.single(kErrors, errors_.load(std::memory_order_relaxed));
    text.single(kFolded, folded_.load(std::memory_order_relaxed));
}

}  // namespace sluice::rls
