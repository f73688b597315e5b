// The counters of one rule, or of one value that a rule has counted apart.
#ifndef SLUICE_RLS_RULE_SERIES_H_
#define SLUICE_RLS_RULE_SERIES_H_

#include <sluice/time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "metrics/thread_metrics.h"
#include "rls/rules.h"

namespace sluice::rls {

// Hits that one writer has counted. Written by it alone, read by scrapes; on a cache line of its
// own, so that threads don't slow each other down by counting.
struct alignas(64) HitCounters {
    metrics::Counter total_hits;
    metrics::Counter within_limit;
    metrics::Counter near_limit;
    metrics::Counter over_limit;
    metrics::Counter shadow_mode;  // over the limit, and answered as OK
    // When the last request was found to belong here, in milliseconds since 1970. Relaxed, like the
    // counters.
    std::atomic<std::int64_t> last_used{0};
};

// The result of a decision, for the counters of its rule.
struct CountedHits {
    std::uint64_t hits;
    std::uint64_t limit;
    std::uint64_t remaining;  // afterwards
    bool is_over;
    bool is_shadowed;
};

// Adds to counters. Hits of a pass are near the limit as far as they lie above four fifths of it,
// rounded down.
void count(HitCounters& counters, const CountedHits& counted);

// Counters with the same labels, one for each writer. Made by RuleMetrics.
//
// Thread-safe, but for what HitCounters says about itself.
class RuleSeries : public std::enable_shared_from_this<RuleSeries> {
  public:
    static constexpr std::size_t kMaxWriters = 4'096;  // two for each thread, and more

    explicit RuleSeries(MetricLabels labels) : labels_(std::move(labels)) {}
    ~RuleSeries();
    RuleSeries(const RuleSeries&) = delete;
    RuleSeries& operator=(const RuleSeries&) = delete;

    const MetricLabels& labels() const { return labels_; }

    // Allocates once for kChunk writers.
    HitCounters& of_writer(std::size_t writer) {
        Chunk* chunk = chunks_[writer / kChunk].load(std::memory_order_acquire);
        if (chunk == nullptr) [[unlikely]]
            chunk = make_chunk(writer / kChunk);
        return (*chunk)[writer % kChunk];
    }

    std::uint64_t sum(metrics::Counter HitCounters::*counter) const;
    UnixTime last_used() const;

  private:
    static constexpr std::size_t kChunk = 32;
    using Chunk = std::array<HitCounters, kChunk>;

    Chunk* make_chunk(std::size_t index);

    const MetricLabels labels_;
    // Null until one of its writers counts. Written once each, by any thread, with a
    // compare-and-swap that releases the new counters; acquired by the threads that read.
    std::array<std::atomic<Chunk*>, kMaxWriters / kChunk> chunks_{};
};

// Finds series by their labels. Any thread finds, without a lock; one at a time adds.
class SeriesTable {
  public:
    static constexpr std::size_t kMaxSeries = 4'096;

    RuleSeries* find(const MetricLabels& labels) const;
    // Requires that the labels are not in it, and fewer than kMaxSeries are.
    void add(std::shared_ptr<RuleSeries> series);

  private:
    static constexpr std::size_t kSlots = 2 * kMaxSeries;

    std::size_t place_of(const MetricLabels& labels) const;

    std::vector<std::shared_ptr<RuleSeries>> held_;  // of the adding thread
    // Null until a series is added: stored with release by the adding thread, loaded with acquire
    // by those that find, which read the series then.
    std::vector<std::atomic<RuleSeries*>> slots_ = std::vector<std::atomic<RuleSeries*>>(kSlots);
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_SERIES_H_
