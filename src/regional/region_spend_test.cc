// Requests that the origin decides.
#include "regional/region_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using RegionSpendTest = RegionFixture;
using Verdicts = std::vector<std::string>;

TEST_F(RegionSpendTest, TheOriginDecidesAllQueuedRequestsOfAKeyInOneCall) {
    at_origin("a").peers = 6;
    spend("a", 10);
    run_until_idle();
    for (int i = 0; i < 5; ++i)
        spend("a", 10);
    run_until_idle();
    ASSERT_EQ(origin_.spends.size(), 1U) << "the later ones are queued for the next call";
    answer_spend();
    ASSERT_EQ(origin_.spends.size(), 1U);
    EXPECT_EQ(origin_.spends.front().first.front().requests.size(), 5U);
    answer_spend();
    EXPECT_EQ(verdicts_,
              (Verdicts{"granted", "granted", "granted", "granted", "denied", "denied"}));
    EXPECT_EQ(admitted("a"), 4U);
    EXPECT_EQ(entry("a").peers(kSequence), 6U);
    EXPECT_EQ(entry("a").unsynced(kSequence), 0U);
    EXPECT_EQ(region_.stats().spends, 6U);
    EXPECT_EQ(region_.stats().spend_calls, 2U);
    pass_time(2'000ms);
    EXPECT_TRUE(origin_.syncs.empty()) << "the grant was the write";
}

TEST_F(RegionSpendTest, AKeyThatTheOriginCannotServeIsAnsweredAtOnceUntilItsNextTry) {
    origin_.broken = "broken";
    spend("broken", 10);
    spend("a", 10);
    answer_spend();
    EXPECT_EQ(verdicts_, (Verdicts{"unanswered", "granted"}));
    for (int i = 0; i < 20; ++i)
        spend("broken", 10);
    EXPECT_EQ(count("unanswered"), 21U) << "without a call";
    EXPECT_TRUE(origin_.spends.empty());
    EXPECT_EQ(region_.stats().key_errors, 1U);
    EXPECT_FALSE(region_.is_unavailable());
    origin_.broken.clear();
    pass_time(1'000ms);
    spend("broken", 10);
    answer_spend();
    EXPECT_EQ(verdicts_.back(), "granted");
}

TEST_F(RegionSpendTest, KeysThatBecomeReadyDuringACallShareTheNextOne) {
    spend("a", 10);
    run_until_idle();
    spend("b", 10);
    run_until_idle();
    spend("c", 10);
    run_until_idle();
    ASSERT_EQ(origin_.spends.size(), 1U);
    answer_spend();
    ASSERT_EQ(origin_.spends.size(), 1U);
    EXPECT_EQ(origin_.spends.front().first.size(), 2U);
    answer_spend();
    EXPECT_EQ(count("granted"), 3U);
}

TEST_F(RegionSpendTest, AnUnansweredCallDelaysOtherKeysForAMillisecond) {
    spend("a", 10);
    run_until_idle();
    spend("b", 10);
    run_until_idle();
    EXPECT_EQ(origin_.spends.size(), 1U);
    EXPECT_EQ(region_.wake_at(), now_ + 1ms);
    pass_time(999us);
    EXPECT_EQ(origin_.spends.size(), 1U);
    pass_time(1us);
    EXPECT_EQ(origin_.spends.size(), 2U);
}

TEST_F(RegionSpendTest, AnUnansweredCallDelaysNoOtherServerOfACluster) {
    origin_.has_servers = true;
    spend("a", 10);
    run_until_idle();
    spend("b", 10);
    run_until_idle();
    EXPECT_EQ(origin_.spends.size(), 2U);
}

TEST_F(RegionSpendTest, DelayedRequestsAreAnsweredWhereTheOriginIsGivenUp) {
    spend("a", 10);
    run_until_idle();
    spend("b", 10);
    run_until_idle();
    region_.give_up();
    EXPECT_EQ(verdicts_.at(1), "unanswered");
}

TEST_F(RegionSpendTest, AGrantWhoseAnswerWasLostIsCreditForTheNextRequest) {
    spend("a", 10);
    lose_spend_answer();
    EXPECT_EQ(verdicts_.back(), "unanswered");
    EXPECT_EQ(at_origin("a").own, 1U);
    spend("a", 10);
    answer_spend();
    EXPECT_EQ(verdicts_.back(), "granted");
    EXPECT_EQ(at_origin("a").own, 1U) << "it was granted once";
    EXPECT_EQ(admitted("a"), 1U);
}

TEST_F(RegionSpendTest, CreditThatTheOriginHasLostDoesNotBecomeItsPeersSpend) {
    spend("a", 10, 3);
    lose_spend_answer();
    origin_.cells.clear();  // after peers have read the credit, and before the loss is noticed
    spend("a", 10, 1);
    answer_spend();
    ASSERT_EQ(admitted("a"), 1U);
    EXPECT_EQ(entry("a").most_at_origin(kSequence), 3U);
    for (int i = 0; i < 2; ++i) {
        spend("a", 10, 1);
        answer_spend();
    }
    EXPECT_EQ(entry("a").credit(kSequence), 0U) << "it is used up";
}

TEST_F(RegionSpendTest, ADenialThatReachesALaterEntryOfItsKeyIsNotMergedAsPeers) {
    at_origin("a").peers = 10;
    spend("a", 10);
    run_until_idle();
    const std::uint32_t incarnation = entry("a").incarnation();
    for (int i = 0; i < 100'000 && entry("a").incarnation() == incarnation; ++i)
        entry("other" + std::to_string(i)).note_use(1'000, kNow);  // until "a" is evicted
    ASSERT_NE(entry("a").incarnation(), incarnation);
    entry("a").set_credit(kSequence + 1, 0);  // it has asked in the next window
    answer_spend();
    ASSERT_EQ(entry("a").peers(kSequence), 0U) << "the answer may count what this entry wrote";
    EXPECT_EQ(verdicts_.back(), "denied");
    spend("a", 10);
    answer_spend();
    EXPECT_EQ(verdicts_.back(), "denied");
    EXPECT_EQ(entry("a").peers(kSequence), 10U);
}

TEST_F(RegionSpendTest, TheOriginCountsTheSpendOfThisNodeAndOfOtherRegions) {
    entry("a").admitted(kSequence).add(kSequence, 3);
    entry("a").raise_global(kSequence, 4);
    entry("a").raise_peers(kSequence, 2);
    spend("a", 10);
    spend("a", 10);
    answer_spend();
    EXPECT_EQ(verdicts_, (Verdicts{"granted", "denied"}));
    EXPECT_EQ(at_origin("a").own, 4U);
}

TEST_F(RegionSpendTest, TheFirstSpendsAwaitTheFirstHeartbeat) {
    origin_.is_silent = true;
    spend("a", 10);
    run_until_idle();
    EXPECT_FALSE(is_due());
    EXPECT_TRUE(origin_.spends.empty());
    ASSERT_EQ(origin_.silent_beats.size(), 1U);
    origin_.silent_beats[0](Heartbeat{.nodes = 1, .has_joined = true, .clock_offset = {}});
    answer_spend();
    EXPECT_EQ(verdicts_, (Verdicts{"granted"}));
}

// A peer has written back what it knew of a stopped node. The callers decide by these counts.
TEST_F(RegionSpendTest, ADenialByWhatTheOriginHasLostIsOneByTheCountsOfTheEntry) {
    at_origin("a").peers = 6;
    at_origin("a").known = 10;
    spend("a", 10, 3);
    answer_spend();
    EXPECT_EQ(verdicts_, (Verdicts{"denied"}));
    EXPECT_EQ(entry("a").spent(kSequence), 10U);
}

TEST_F(RegionSpendTest, ManyRequestsForAKeyAreDecidedByFewCalls) {
    spend("a", 1'000);
    run_until_idle();
    for (int i = 0; i < 10'000; ++i)
        spend("a", 1'000);
    run_until_idle();
    while (!origin_.spends.empty())
        answer_spend();
    EXPECT_EQ(count("granted"), 1'000U);
    EXPECT_EQ(count("denied"), 9'001U);
    EXPECT_LE(region_.stats().spend_calls, 11U);
}

TEST_F(RegionSpendTest, RequestsThatExpireInTheQueueAreNotSent) {
    spend("a", 10);
    run_until_idle();
    spend("a", 10);
    pass_time(200ms);
    spend("a", 10);
    pass_time(100ms);
    answer_spend();
    ASSERT_EQ(origin_.spends.size(), 1U);
    EXPECT_EQ(origin_.spends.front().first.front().requests.size(), 1U);
    answer_spend();
    EXPECT_EQ(verdicts_, (Verdicts{"granted", "unanswered", "granted"}));
    EXPECT_EQ(at_origin("a").own, 2U);
}

TEST_F(RegionSpendTest, AKeyWhoseRequestsHaveAllExpiredIsNotSent) {
    spend("a", 10);
    run_until_idle();
    spend("a", 10);
    pass_time(300ms);
    answer_spend();
    EXPECT_TRUE(origin_.spends.empty());
    EXPECT_EQ(verdicts_, (Verdicts{"granted", "unanswered"}));
    spend("a", 10);
    answer_spend();
    EXPECT_EQ(verdicts_.back(), "granted");
}

TEST_F(RegionSpendTest, TheViewOfAKeyIsSuspendedWhileTheOriginDecidesForIt) {
    know_nodes();
    entry("a").set_refreshed(kNow);
    spend("a", 1'000);
    run_until_idle();
    EXPECT_EQ(entry("a").refreshed_at(), Entry::kNever);
    region_.sync({{request("a", 1'000)}}, kNow, [](bool) {});
    answer_flush();
    EXPECT_EQ(entry("a").refreshed_at(), Entry::kNever) << "a grant is still underway";
    answer_spend();
    EXPECT_EQ(entry("a").refreshed_at(), kNow);
}

}  // namespace
}  // namespace sluice
