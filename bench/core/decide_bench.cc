#include <array>

#include "core/limiter_under_test.h"
#include "core/thread_share.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kBatch = 10;

void run_decide(benchmark::State& state) {
    const std::vector<Key> order = begin_thread("decide", state);
    Limiter& limiter = limiter_of(state.range(0));
    bool passed = warm_up(limiter, order);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(order.size()))) {
        for (const Key& key : order) {
            passed &= passes(limiter, request_for(key));
        }
    }
    if (!passed) state.SkipWithError("a request did not pass");
}

void run_batch(benchmark::State& state) {
    const std::vector<Key> order = begin_thread("batch10", state);
    Limiter& limiter = limiter_of(state.range(0));
    bool passed = warm_up(limiter, order);
    Cursor cursor(order);
    std::array<Request, kBatch> requests;
    requests.fill(request_for(order.front()));
    for (auto _ : state) {
        for (Request& request : requests) {
            request.identifier = cursor.next().identifier();
        }
        const Result<BatchDecision> answer = limiter.limit_many(requests);
        passed &= answer && answer->passed;
    }
    if (!passed) state.SkipWithError("a batch did not pass");
}

}  // namespace

Limiter& limiter_of(std::int64_t keys) {
    static PerKeyCount<Limiter> limiters;
    // Keys are inserted in order and requested at random: a table that was filled in the order of
    // the requests would be laid out in that order.
    return limiters.get(keys, [keys] {
        Limiter limiter = make_limiter(kMaxKeys);
        warm_up(limiter, in_turn(static_cast<std::uint32_t>(keys)));
        return limiter;
    });
}

void register_decide() {
    register_per_key_count("decide", run_decide);
    register_per_key_count_on_two_threads("decide", run_decide);
}

void register_batch() {
    register_per_key_count("batch10", run_batch);
}

}  // namespace sluice::bench
