#include "rls/rule_metrics.h"

#include <array>
#include <set>
#include <utility>

#include "base/check.h"
#include "metrics/text.h"

namespace sluice::rls {
namespace {

using metrics::Name;
using metrics::Type;
using Counter = metrics::Counter HitCounters::*;

// The labels of rules beyond kMaxRuleSeries.
const MetricLabels kOthers{.domain = "other", .key1 = "other"};

// The pause between two searches for idle values while all are taken.
constexpr std::chrono::minutes kInterval{1};

struct RuleMetric {
    Name name;
    Counter counter;
};

// clang-format off
constexpr std::array kRuleMetrics = {
    RuleMetric{{"ratelimit_service_rate_limit_total_hits", Type::kCounter,
                "Hits of requests that a rule applied to."}, &HitCounters::total_hits},
    RuleMetric{{"ratelimit_service_rate_limit_within_limit", Type::kCounter,
                "Hits that were within the limit of their rule."}, &HitCounters::within_limit},
    RuleMetric{{"ratelimit_service_rate_limit_near_limit", Type::kCounter,
                "Hits within the limit, but above four fifths of it."}, &HitCounters::near_limit},
    RuleMetric{{"ratelimit_service_rate_limit_over_limit", Type::kCounter,
                "Hits that were over the limit of their rule, also in shadow mode."},
               &HitCounters::over_limit},
    RuleMetric{{"ratelimit_service_rate_limit_shadow_mode", Type::kCounter,
                "Hits over the limit of a rule in shadow mode, which were answered as OK."},
               &HitCounters::shadow_mode},
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

using Series = std::map<MetricLabels, std::shared_ptr<RuleSeries>>;

void write_all(metrics::Text& text, const RuleMetric& metric, const Series& series) {
    for (const auto& [labels, counters] : series) {
        const std::uint64_t value = counters->sum(metric.counter);
        if (labels.key2.empty()) {
            text.sample({{"domain", labels.domain}, {"key1", labels.key1}}, value);
        } else {
            text.sample({{"domain", labels.domain}, {"key1", labels.key1}, {"key2", labels.key2}},
                        value);
        }
    }
}

std::int64_t milliseconds_of(UnixTime time) {
    return time.time_since_epoch().count();
}

}  // namespace

RuleMetrics::RuleMetrics()
    : table_(growing_table_), shared_writer_(std::make_unique<RuleWriter>(*this)) {}

RuleMetrics::~RuleMetrics() = default;

std::size_t WriterNumbers::take() {
    const MutexLock lock(mutex_);
    if (free_.empty()) {
        SLUICE_CHECK(next_ < RuleSeries::kMaxWriters);
        return next_++;
    }
    const std::size_t number = free_.back();
    free_.pop_back();
    return number;
}

void WriterNumbers::give_back(std::size_t number) {
    const MutexLock lock(mutex_);
    free_.push_back(number);
}

// What an earlier writer of the number has counted stays.
RuleMetrics::RequestCounters& RuleMetrics::requests_of(std::size_t writer) {
    const MutexLock lock(mutex_);
    while (requests_.size() <= writer)
        requests_.emplace_back();
    return requests_[writer];
}

std::shared_ptr<RuleSeries> RuleMetrics::series_of(const LimitRule& rule) {
    const auto held = by_rule_.find(rule.labels);
    if (held != by_rule_.end()) return held->second;
    const bool has_room = by_rule_.size() < kMaxRuleSeries;
    const MetricLabels& labels = has_room ? rule.labels : kOthers;
    auto& series = by_rule_[labels];
    if (has_room) {
        if (const auto moved = by_value_.extract(labels)) series = moved.mapped();
    }
    if (series == nullptr) series = std::make_shared<RuleSeries>(labels);
    return series;
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
        active->series.push_back(series_of(rule));
    active->rules = std::move(rules);
    publish_table();
    return active;
}

// Replaces the table by one of the series that there are now.
void RuleMetrics::publish_table() {
    growing_table_ = std::make_shared<SeriesTable>();
    for (const Series* const all : {&by_rule_, &by_value_}) {
        for (const auto& [labels, series] : *all)
            growing_table_->add(series);
    }
    table_.replace(growing_table_);
    if (by_value_.size() < kMaxValueSeries)
        full_since_.store(kNeverFull, std::memory_order_relaxed);
}

// Whether there may be a further value. Idle ones are looked for at intervals: a request should not
// pay for that while all are in use.
bool RuleMetrics::has_room_for_value(UnixTime now) {
    if (by_value_.size() < kMaxValueSeries) return true;
    const bool is_due = now < made_room_at_ || now - made_room_at_ >= kInterval;
    if (is_due) {
        made_room_at_ = now;
        const auto removed = std::erase_if(by_value_, [now](const auto& series) {
            return now - series.second->last_used() >= kIdleTime;
        });
        if (removed > 0) {
            publish_table();
            return true;
        }
    }
    full_since_.store(milliseconds_of(made_room_at_), std::memory_order_relaxed);
    return false;
}

bool RuleMetrics::is_full_at(UnixTime now) const {
    const std::int64_t since = full_since_.load(std::memory_order_relaxed);
    return since <= milliseconds_of(now) &&
           milliseconds_of(now) - since < std::chrono::milliseconds{kInterval}.count();
}

// The series of a value that a writer has not found; null if there is no room for it.
std::shared_ptr<RuleSeries> RuleMetrics::series_of_value(const MetricLabels& labels, UnixTime now) {
    const MutexLock lock(mutex_);
    for (const Series* const all : {&by_value_, &by_rule_}) {
        if (const auto held = all->find(labels); held != all->end()) return held->second;
    }
    if (!has_room_for_value(now)) return nullptr;
    auto series = std::make_shared<RuleSeries>(labels);
    by_value_.emplace(labels, series);
    growing_table_->add(series);
    return series;
}

RuleWriter::RuleWriter(RuleMetrics& metrics)
    : metrics_(metrics),
      numbers_(metrics.writers_),
      number_(numbers_->take()),
      requests_(metrics.requests_of(number_)),
      table_(metrics.table_) {}

RuleSeries* RuleWriter::by_value(const MetricLabels& labels, RuleSeries* rule, UnixTime now) {
    RuleSeries* series = nullptr;
    if (labels.key1.size() + labels.key2.size() <= RuleMetrics::kMaxValueBytes) {
        series = table_.get().find(labels);
        if (series == nullptr && !metrics_.is_full_at(now)) {
            created_.push_back(metrics_.series_of_value(labels, now));
            series = created_.back().get();
        }
    }
    if (series == nullptr) {
        requests_.folded.add();
        return rule;
    }
    series->of_writer(number_).last_used.store(milliseconds_of(now), std::memory_order_relaxed);
    return series;
}

void RuleMetrics::note_load(bool succeeded) {
    (succeeded ? loads_succeeded_ : loads_failed_).fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t RuleMetrics::sum(metrics::Counter RequestCounters::*counter) const {
    std::uint64_t total = 0;
    for (const RequestCounters& requests : requests_)
        total += (requests.*counter).read();
    return total;
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
    text.single(kGlobalShadow, sum(&RequestCounters::global_shadow));
    text.single(kErrors, sum(&RequestCounters::errors));
    text.single(kFolded, sum(&RequestCounters::folded));
}

}  // namespace sluice::rls
