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
    "Requests counted under their rule because there were too many series by value."};
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
    if (const auto moved = by_value_.extract(rule.labels); has_room && moved)
        counters = moved.mapped();
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

std::shared_ptr<RuleCounters> RuleMetrics::by_value(MetricLabels labels,
                                                    const std::shared_ptr<RuleCounters>& rule) {
    const MutexLock lock(mutex_);
    for (const Series* const series : {&by_value_, &by_rule_})
        if (const auto held = series->find(labels); held != series->end()) return held->second;
    if (by_value_.size() >= kMaxValueSeries) {
        folded_.fetch_add(1, std::memory_order_relaxed);
        return rule;
    }
    return by_value_.emplace(std::move(labels), std::make_shared<RuleCounters>()).first->second;
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
