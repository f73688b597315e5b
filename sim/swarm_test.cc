// Short runs with random knobs: whatever the fleet, its load and its faults, all checks hold.
#include "sim/swarm.h"

#include <gtest/gtest.h>

#include "sim/run.h"

namespace sluice::sim {
namespace {

TEST(Swarm, HoldsWhateverHappens) {
    std::uint64_t views = 0;
    for (std::uint64_t seed = SLUICE_FIRST_SEED; seed < SLUICE_FIRST_SEED + 150; ++seed) {
        const Outcome outcome = run(swarm_options(seed));
        ASSERT_FALSE(outcome.failure)
            << "at " << seconds_text(outcome.failed_at) << ": " << *outcome.failure
            << "\nReplay it: sluice simulate --swarm " << seed;
        views += outcome.checked_views;
    }
    EXPECT_GT(views, 1'000U);
}

// Found by a soak: a publish that the checks themselves had brought about was held against nodes
// that could not have heard of it yet.
TEST(Swarm, HoldsWhereItOnceDidNot) {
    for (const std::uint64_t seed : {32'117U}) {
        const Outcome outcome = run(swarm_options(seed));
        EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << *outcome.failure;
    }
}

}  // namespace
}  // namespace sluice::sim
