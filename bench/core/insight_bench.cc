// The cost of counting decisions for the top keys.
#include <array>
#include <string>

#include "core/limiter_under_test.h"
#include "core/thread_share.h"
#include "insight/activity.h"

namespace sluice::bench {
namespace {

using insight::Recorder;

// About a second of decisions passes between two hand-overs.
constexpr std::size_t kHandOver = std::size_t{1} << 24;

// decide, with each decision passed to a recorder.
void run_counted_decide(benchmark::State& state) {
    const std::vector<Key> order = begin_thread("decide_counted", state);
    Limiter& limiter = limiter_of(state.range(0));
    bool passed = warm_up(limiter, order);
    insight::Activity activity(1);
    Recorder recorder(activity.hash());
    std::size_t counted = 0;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(order.size()))) {
        for (const Key& key : order) {
            const Request request = request_for(key);
            const Result<Decision> decision = limiter.limit(request);
            passed &= decision && decision->passed;
            recorder.count_key(request, *decision, Recorder::Spent::kCost);
        }
        counted += order.size();
        if (counted < kHandOver) continue;
        counted = 0;
        activity.collect(recorder);
        activity.end_second({}, UnixTime{});
    }
    if (!passed) state.SkipWithError("a request did not pass");
}

// One denial of one of so many keys.
void run_count_denial(benchmark::State& state) {
    std::vector<std::string> keys;
    for (int i = 0; i < state.range(0); ++i)
        keys.push_back("user-" + std::to_string(i));
    insight::Activity activity(1);
    Recorder recorder(activity.hash());
    const Decision denied{
        .passed = false, .limit = 1, .remaining = 0, .reset_at = {}, .retry_at = {}};
    std::size_t next = 0;
    for (auto _ : state) {
        const Request request{
            .name_space = kNamespace, .identifier = keys[next], .limit = 1, .duration = kDuration};
        next = next + 1 == keys.size() ? 0 : next + 1;
        recorder.count_key(request, denied, Recorder::Spent::kNothing);
    }
}

}  // namespace

void register_insight() {
    register_per_key_count("decide_counted", run_counted_decide);
    benchmark::RegisterBenchmark("count_denial", run_count_denial)->Arg(1)->Arg(100)->Arg(1'000);
}

}  // namespace sluice::bench
