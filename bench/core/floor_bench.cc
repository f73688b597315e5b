#include "core/floor.h"
#include "core/suite.h"
#include "core/thread_share.h"

namespace sluice::bench {
namespace {

Floor& floor_of(std::int64_t keys) {
    static PerKeyCount<Floor> floors;
    return floors.get(keys, [keys] { return Floor(static_cast<std::uint32_t>(keys)); });
}

void run_floor(benchmark::State& state) {
    const std::vector<Key> order = begin_thread("floor", state);
    Floor& floor = floor_of(state.range(0));
    bool passed = true;
    for (const Key& key : order) {
        passed &= floor.decide(key.bytes(), kEndless);
    }
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(order.size()))) {
        for (const Key& key : order) {
            passed &= floor.decide(key.bytes(), kEndless);
        }
    }
    if (!passed) state.SkipWithError("the floor lost a key");
}

}  // namespace

void register_floor() {
    register_per_key_count("floor", run_floor);
    register_per_key_count_on_two_threads("floor", run_floor);
}

}  // namespace sluice::bench
