// The limiter under test and its requests.
#ifndef SLUICE_BENCH_CORE_LIMITER_UNDER_TEST_H_
#define SLUICE_BENCH_CORE_LIMITER_UNDER_TEST_H_

#include <sluice/limiter.h>

#include <cstddef>

#include "core/suite.h"
#include "measure/keys.h"

namespace sluice::bench {

// Room for twice the largest number of keys, so that nothing is evicted.
inline constexpr std::size_t kMaxKeys = 2 * kKeyCounts.back();

inline Limiter make_limiter(std::size_t max_keys) {
    return std::move(Limiter::create({.region = "bench", .max_keys = max_keys}).value());
}

inline Request request_for(const Key& key) {
    return {.workspace = kWorkspace,
            .name_space = kNamespace,
            .identifier = key.identifier(),
            .limit = kEndless,
            .duration = kDuration};
}

// Whether the request was valid and passed: every one that a benchmark makes should.
inline bool passes(Limiter& limiter, const Request& request) {
    const Result<Decision> decision = limiter.limit(request);
    return decision && decision->passed;
}

// The limiter that holds this many keys, shared by the benchmarks.
Limiter& limiter_of(std::int64_t keys);

// Requests each key once: a key that was idle for two durations would be cold.
inline bool warm_up(Limiter& limiter, const std::vector<Key>& keys) {
    bool passed = true;
    for (const Key& key : keys) {
        passed &= passes(limiter, request_for(key));
    }
    return passed;
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_LIMITER_UNDER_TEST_H_
