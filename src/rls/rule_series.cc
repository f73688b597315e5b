#include "rls/rule_series.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "base/random.h"

namespace sluice::rls {
namespace {

// Seeded, since clients choose values.
std::uint64_t hash_of(const MetricLabels& labels) {
    static const std::uint64_t seed = system_random();
    std::uint64_t hash = seed;
    for (const std::string* text : {&labels.domain, &labels.key1, &labels.key2})
        hash = XXH3_64bits_withSeed(text->data(), text->size(), hash);
    return hash;
}

}  // namespace

void count(HitCounters& counters, const CountedHits& counted) {
    const auto [hits, limit, remaining, is_over, is_shadowed] = counted;
    counters.total_hits.add(hits);
    if (is_over) {
        counters.over_limit.add(hits);
        if (is_shadowed) counters.shadow_mode.add(hits);
        return;
    }
    counters.within_limit.add(hits);
    const std::uint64_t threshold = limit / 5 * 4 + limit % 5 * 4 / 5;
    const std::uint64_t spent = limit - std::min(limit, remaining);
    if (spent > threshold) counters.near_limit.add(std::min(hits, spent - threshold));
}

RuleSeries::~RuleSeries() {
    for (const std::atomic<Chunk*>& chunk : chunks_)
        delete chunk.load(std::memory_order_relaxed);
}

RuleSeries::Chunk* RuleSeries::make_chunk(std::size_t index) {
    auto made = std::make_unique<Chunk>();
    Chunk* held = nullptr;
    if (chunks_[index].compare_exchange_strong(held, made.get(), std::memory_order_acq_rel))
        return made.release();
    return held;  // another thread was first
}

std::uint64_t RuleSeries::sum(metrics::Counter HitCounters::*counter) const {
    std::uint64_t total = 0;
    for (const std::atomic<Chunk*>& slot : chunks_) {
        const Chunk* const chunk = slot.load(std::memory_order_acquire);
        if (chunk == nullptr) continue;
        for (const HitCounters& counters : *chunk)
            total += (counters.*counter).read();
    }
    return total;
}

UnixTime RuleSeries::last_used() const {
    std::int64_t latest = 0;
    for (const std::atomic<Chunk*>& slot : chunks_) {
        const Chunk* const chunk = slot.load(std::memory_order_acquire);
        if (chunk == nullptr) continue;
        for (const HitCounters& counters : *chunk)
            latest = std::max(latest, counters.last_used.load(std::memory_order_relaxed));
    }
    return UnixTime{std::chrono::milliseconds{latest}};
}

// Ends, since half of the slots stay empty.
std::size_t SeriesTable::place_of(const MetricLabels& labels) const {
    for (std::size_t at = hash_of(labels) % kSlots;; at = (at + 1) % kSlots) {
        const RuleSeries* const held = slots_[at].load(std::memory_order_acquire);
        if (held == nullptr || held->labels() == labels) return at;
    }
}

RuleSeries* SeriesTable::find(const MetricLabels& labels) const {
    return slots_[place_of(labels)].load(std::memory_order_acquire);
}

void SeriesTable::add(std::shared_ptr<RuleSeries> series) {
    SLUICE_CHECK(held_.size() < kMaxSeries);
    const std::size_t place = place_of(series->labels());
    held_.push_back(std::move(series));
    slots_[place].store(held_.back().get(), std::memory_order_release);
}

}  // namespace sluice::rls
