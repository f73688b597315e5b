// Counters by rule, under the names that envoyproxy/ratelimit's Prometheus mapping gives them.
#ifndef SLUICE_RLS_RULE_METRICS_H_
#define SLUICE_RLS_RULE_METRICS_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/current.h"
#include "base/mutex.h"
#include "metrics/thread_metrics.h"
#include "rls/rule_series.h"
#include "rls/rules.h"

namespace sluice::rls {

class RuleWriter;

// Rules with their counters. Made by RuleMetrics.
struct ActiveRules : std::enable_shared_from_this<ActiveRules> {
    std::shared_ptr<const RuleSet> rules = RuleSet::none();
    std::vector<std::shared_ptr<RuleSeries>> series = {};  // by the index of the rule
};

// The numbers of the writers that there are: each has one of its own, and a free one is used again.
//
// Thread-safe. What the writers of one number do is ordered.
class WriterNumbers {
  public:
    std::size_t take();
    void give_back(std::size_t number);

  private:
    Mutex mutex_;
    std::size_t next_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::vector<std::size_t> free_ SLUICE_GUARDED_BY(mutex_);
};

// RuleMetrics holds the counters of all rules, which survive a reload. Their number is bounded:
// rules beyond kMaxRuleSeries count together under the key "other", and values beyond
// kMaxValueSeries with the rule that they belong to, as do those with long labels. A value that has
// not occurred for kIdleTime makes room, so that at most kMaxValueSeries appear anew in that time.
//
// Threads count through a RuleWriter each; a scrape adds them up. Thread-safe.
class RuleMetrics {
  public:
    static constexpr std::size_t kMaxRuleSeries = 2'000;
    static constexpr std::size_t kMaxValueSeries = 2'000;
    static constexpr std::size_t kMaxValueBytes = 256;  // of the keys of a value's labels
    static constexpr std::chrono::hours kIdleTime{1};

    RuleMetrics();
    ~RuleMetrics();
    RuleMetrics(const RuleMetrics&) = delete;
    RuleMetrics& operator=(const RuleMetrics&) = delete;

    // No rules.
    static std::shared_ptr<const ActiveRules> none() { return std::make_shared<ActiveRules>(); }

    // `rules` with their counters. Those of rules that are gone are kept while there is room.
    std::shared_ptr<const ActiveRules> activate(std::shared_ptr<const RuleSet> rules);

    void note_load(bool succeeded);

    // Calls `use` with a RuleWriter that all threads share, one at a time: for answers that arrive
    // on another thread than their requests.
    template <class Use>
    void write_shared(Use use) {
        const MutexLock lock(shared_mutex_);
        use(*shared_writer_);
    }

    // Appends all metrics in Prometheus' text format.
    void write(std::string& out) const;

  private:
    friend class RuleWriter;
    using Series = std::map<MetricLabels, std::shared_ptr<RuleSeries>>;

    // What one writer counts besides the hits of rules.
    struct alignas(64) RequestCounters {
        metrics::Counter global_shadow;
        metrics::Counter errors;
        metrics::Counter folded;
    };

    static constexpr std::int64_t kNeverFull = std::numeric_limits<std::int64_t>::max();

    RequestCounters& requests_of(std::size_t writer);
    bool is_full_at(UnixTime now) const;
    std::shared_ptr<RuleSeries> series_of_value(const MetricLabels& labels, UnixTime now);
    std::shared_ptr<RuleSeries> series_of(const LimitRule& rule) SLUICE_REQUIRES(mutex_);
    bool has_room_for_value(UnixTime now) SLUICE_REQUIRES(mutex_);
    void publish_table() SLUICE_REQUIRES(mutex_);
    std::uint64_t sum(metrics::Counter RequestCounters::*counter) const SLUICE_REQUIRES(mutex_);

    mutable Mutex mutex_;
    // No labels are in both.
    Series by_rule_ SLUICE_GUARDED_BY(mutex_);
    Series by_value_ SLUICE_GUARDED_BY(mutex_);
    UnixTime made_room_at_ SLUICE_GUARDED_BY(mutex_){};
    // All series of both, for writers. It is replaced when series are removed; values are added to
    // the one in effect, which is `growing_table_`.
    std::shared_ptr<SeriesTable> growing_table_ SLUICE_GUARDED_BY(mutex_) =
        std::make_shared<SeriesTable>();
    Current<SeriesTable> table_;
    // When idle values were looked for in vain, in milliseconds since 1970; kNeverFull while there
    // is room. Written under mutex_, read by writers without it. Relaxed: a late reader takes the
    // lock, or counts one more request with its rule.
    std::atomic<std::int64_t> full_since_{kNeverFull};
    std::deque<RequestCounters> requests_ SLUICE_GUARDED_BY(mutex_);  // by the writer's number
    const std::shared_ptr<WriterNumbers> writers_ = std::make_shared<WriterNumbers>();
    // Written and read by any thread; relaxed, since they publish nothing.
    std::atomic<std::uint64_t> loads_succeeded_{0};
    std::atomic<std::uint64_t> loads_failed_{0};

    Mutex shared_mutex_;  // held while the shared writer counts
    std::unique_ptr<RuleWriter> shared_writer_ SLUICE_GUARDED_BY(shared_mutex_);
};

// Counts the requests of one thread, without a lock and, for series that it has counted before,
// without an allocation. The RuleMetrics must outlive its use, but not the writer.
//
// Thread-compatible.
class RuleWriter {
  public:
    explicit RuleWriter(RuleMetrics& metrics);
    ~RuleWriter() { numbers_->give_back(number_); }
    RuleWriter(const RuleWriter&) = delete;
    RuleWriter& operator=(const RuleWriter&) = delete;

    // Begins a request: series that by_value() returned before may be gone.
    void refresh() {
        table_.refresh();
        created_.clear();
    }

    // The series of values that a request has, instead of `rule`, its rule's, which may be null.
    // Valid until the next refresh().
    RuleSeries* by_value(const MetricLabels& labels, RuleSeries* rule, UnixTime now);

    void count(RuleSeries& series, const CountedHits& counted) {
        rls::count(series.of_writer(number_), counted);
    }
    void note_global_shadow() { requests_.global_shadow.add(); }
    void note_error() { requests_.errors.add(); }

  private:
    RuleMetrics& metrics_;
    const std::shared_ptr<WriterNumbers> numbers_;
    const std::size_t number_;
    RuleMetrics::RequestCounters& requests_;
    Current<SeriesTable>::Reader table_;
    // Keeps series that the current request had made: a table that replaces this one may lack them.
    std::vector<std::shared_ptr<RuleSeries>> created_;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_METRICS_H_
