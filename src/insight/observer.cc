#include "insight/observer.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace sluice::insight {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The upper bound of a bucket in microseconds; the last one has none, and counts as twice its lower
// bound.
double bound_of(std::size_t bucket) {
    constexpr auto& kBounds = metrics::Histogram::kBounds;
    const auto last = static_cast<double>(kBounds.back().count());
    const double bound =
        bucket < kBounds.size() ? static_cast<double>(kBounds[bucket].count()) : 2 * last;
    return bound / 1000;
}

std::uint32_t quantile(const LatencyCounts& counts, double rank) {
    double below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto count = static_cast<double>(counts[i]);
        if (below + count >= rank && count > 0) {
            const double lower = i == 0 ? 0 : bound_of(i - 1);
            const double within = (rank - below) / count;
            return static_cast<std::uint32_t>(lower + within * (bound_of(i) - lower) + 0.5);
        }
        below += count;
    }
    return 0;
}

StateSample sample_of(const NodeStatus& status) {
    return {.latency = {},
            .keys_held = status.keys_held,
            .oldest_unsynced = status.origin.oldest_unsynced,
            .import_age = status.global.since_import.value_or(milliseconds{-1}),
            .origin_unavailable = status.origin.unavailable,
            .global_unavailable = status.global.unavailable,
            .bus_unavailable = status.bus.unavailable,
            .breaker_open = status.global.breaker_open};
}

}  // namespace

Latency latency_between(const LatencyCounts& before, const LatencyCounts& after) {
    LatencyCounts counts{};
    double total = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = after[i] - before[i];
        total += static_cast<double>(counts[i]);
    }
    if (total == 0) return {};
    return {.p50 = quantile(counts, total * 0.5),
            .p99 = quantile(counts, total * 0.99),
            .p999 = quantile(counts, total * 0.999)};
}

Observer::Observer(Options options)
    : options_(std::move(options)),
      started_at_(exact_wall_time()),
      started_(Clock::now()),
      activity_(options_.seed) {}

void Observer::start() {
    thread_.start([this, is_first = true]() mutable {
        if (!std::exchange(is_first, false)) end_second();
        return next_second() + kCollected;
    });
}

UnixTime Observer::now() const {
    return started_at_ + std::chrono::duration_cast<milliseconds>(Clock::now() - started_);
}

Observer::Clock::time_point Observer::next_second() const {
    const UnixTime next = std::chrono::floor<seconds>(now()) + seconds{1};
    return started_ + (next - started_at_);
}

void Observer::end_second() {
    StateSample sample = sample_of(options_.read_status());
    const LatencyCounts latency = options_.read_latency();
    sample.latency = latency_between(latency_, latency);
    latency_ = latency;
    activity_.end_second(sample, std::chrono::floor<seconds>(now()));
    options_.on_second();
}

RegionTopKeys Observer::top_keys(const TopQuery& query) const {
    return {.now = now(), .top = activity_.top_keys(query)};
}

}  // namespace sluice::insight
