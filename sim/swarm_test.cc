// Short runs with random options: all checks pass, whatever the fleet, its load and its faults.
#include <initializer_list>

#include <gtest/gtest.h>

#include "sim/options.h"
#include "sim/run.h"

namespace sluice::sim {
namespace {

constexpr std::uint64_t kSeedsPerTest = 50;

class Swarm : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Swarm, PassesAllChecks) {
    std::uint64_t views = 0;
    for (std::uint64_t seed = GetParam(); seed < GetParam() + kSeedsPerTest; ++seed) {
        const RunResult result = run(swarm_options(seed));
        ASSERT_FALSE(result.failure)
            << "at " << seconds_text(result.failed_at) << ": " << *result.failure
            << "\nReplay it: sluice simulate --swarm " << seed;
        views += result.checked_views;
    }
    EXPECT_GT(views, 500U);
}

INSTANTIATE_TEST_SUITE_P(FromSeed,
                         Swarm,
                         testing::Values(1, 51, 101, 10'001, 10'051, 10'101),
                         testing::PrintToStringParamName());

// A seed at which a soak failed, and the cause.
struct FailedSeed {
    std::uint64_t seed;
    const char* cause;
};

void expect_clean(std::initializer_list<FailedSeed> seeds) {
    for (const auto& [seed, cause] : seeds) {
        const RunResult result = run(swarm_options(seed));
        EXPECT_FALSE(result.failure)
            << "seed " << seed << ": " << *result.failure << "\nFormer cause: " << cause;
    }
}

// Seeds at which the audit or the model was wrong.
TEST(SwarmRegressions, PassWhereTheAuditWasWrong) {
    constexpr const char* kPaused =
        "a pause of several windows: requests made before it are decided in their own window, of "
        "which the audit no longer knew what was granted, and took it for nothing";
    expect_clean({
        FailedSeed{32'117,
                   "a publish caused by the checks was held against nodes that could not "
                   "have imported it yet"},
        FailedSeed{88'016'221, kPaused},
        FailedSeed{99'010'404, kPaused},
        FailedSeed{110'003'919, kPaused},
        FailedSeed{130'006'216, kPaused},
        FailedSeed{1'300'052'192,
                   "an origin failed between a request and its decision, which the audit held "
                   "against what the node would have known on arrival"},
        FailedSeed{
            700'004'932,
            "a request made at the end of a window was decided after it, when its origin had "
            "just forgotten the window before"},
        FailedSeed{2'500'001'498,
                   "a call of the next window overtook one at the end of the window before"},
        FailedSeed{
            1'800'011'584,
            "the origin's model gave the place of a cell to one that was four windows older"},
        FailedSeed{1'800'100'914,
                   "a call that was repeated after its answer, at an emptied origin, was granted "
                   "what its node could not know of"},
        FailedSeed{1'800'101'049,
                   "a node whose clock had stepped ended after a window was over by its own clock"},
        FailedSeed{1'800'102'406, "a node that was paused took note of its end before it went on"},
        FailedSeed{
            12'381,
            "a request that waited was weighed, by the time at which it came, against what was "
            "granted to later ones meanwhile"},
        FailedSeed{58'210, "credit that a node has used was not taken for acknowledged in a batch"},
        FailedSeed{
            60'839,
            "a node whose clock is behind went on spending in the window before, after others "
            "had decided in the next one"},
        FailedSeed{8'160,
                   "a node at its cap was about to evict a key when it imported that another "
                   "region spends of it, too: what it granted is held by its origin alone, "
                   "and no node publishes that until the next request for the key"},
        FailedSeed{1'500'022'941,
                   "a node at its cap displaced a key while its counts were read, and again before "
                   "the next publish: the entry that took the answer had no limit yet, and its "
                   "count was published as if it were half of one"},
        FailedSeed{1'900'124'404,
                   "a heartbeat was answered half a millisecond before the last count of nodes was "
                   "too old, which the audit, in milliseconds, took for too late"},
        FailedSeed{2'700'135'796,
                   "a node at twice its cap evicted keys while its origin refused writes, and was "
                   "expected to have flushed them when it stopped"},
        FailedSeed{3'210'000'427,
                   "a bus that lost announcements was expected to be replaced by urged publishes, "
                   "though it was never silent"},
        FailedSeed{
            640'060'002,
            "an origin was emptied that alone held what a stopped node had spent: its region "
            "was taken for one that other regions know of"},
    });
}

// Seeds at which the production code was wrong.
TEST(SwarmRegressions, PassWhereTheCodeWasWrong) {
    expect_clean({
        FailedSeed{3'200'050'050,
                   "a count that no announcement carried was left out of a regular publish, since "
                   "there was a bus"},
        FailedSeed{640'023'553,
                   "a count was not due before all regions were counted, and not offered again "
                   "afterwards, since its key was idle"},
        FailedSeed{640'026'456, "the same, with a bus"},
        FailedSeed{960'000'514,
                   "a call held a key with two windows, and the requests of one were answered "
                   "before the counts of the other were merged"},
        FailedSeed{1'259, "a node that ended lost what a batch had spent after its last flush"},
        FailedSeed{1'700'001'526,
                   "an origin left out what it had granted to a call in the window before, whose "
                   "answer was still on its way"},
        FailedSeed{
            1'320,
            "a node that was cut off decided by its share at once when it was back, since the "
            "answer that said that it had joined was lost"},
        FailedSeed{1'900'013'768,
                   "an origin was emptied that had granted what its node did not use: the node "
                   "forgot that this was its own, and took the region's row for its peers' spend"},
        FailedSeed{
            1'900'018'825,
            "a node at its cap displaced a key while its origin denied a request: the entry "
            "that took the answer could not identify the owner of its counts, and passed it"},
        FailedSeed{1'900'121'596, "the same, where the pass in the window before was too much"},
        FailedSeed{1'900'109'504,
                   "a node believed the lower count of nodes of an origin that had just been "
                   "emptied, since its last count was three seconds old"},
        FailedSeed{2'700'087'880,
                   "the same, since an earlier count had been lower, rightly, for three seconds"},
    });
}

}  // namespace
}  // namespace sluice::sim
