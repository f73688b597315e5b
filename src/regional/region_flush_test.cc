// Flushes of counts to the origin, and batches.
#include "regional/region_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using RegionFlushTest = RegionFixture;

TEST_F(RegionFlushTest, FlushesAPassWithinASecond) {
    know_nodes();
    pass("a");
    pass_time(500ms);
    EXPECT_TRUE(origin_.syncs.empty()) << "more may come";
    pass("a");
    pass_time(400ms);
    ASSERT_EQ(origin_.syncs.size(), 1U);
    EXPECT_GT(region_.stats().oldest_unsynced, 700ms);
    at_origin("a").peers = 5;
    answer_flush();
    EXPECT_EQ(at_origin("a").own, 2U);
    EXPECT_EQ(entry("a").peers(kSequence), 5U);
    EXPECT_EQ(entry("a").unsynced(kSequence), 0U);
    EXPECT_EQ(region_.stats().flushed, 1U);
    EXPECT_EQ(region_.stats().oldest_unsynced, 0ms);
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(RegionFlushTest, AKeyThatTheOriginCannotServeConcernsNoOther) {
    know_nodes();
    origin_.broken = "broken";
    pass("broken");
    pass("a");
    pass_time(900ms);
    answer_flush();
    EXPECT_EQ(at_origin("a").own, 1U);
    EXPECT_EQ(changes_, std::vector<std::string>{"available"});
    EXPECT_EQ(key_errors_.size(), 1U);
    EXPECT_EQ(region_.stats().unanswered, 0U);

    // It is tried again after pauses that grow, and reported once.
    std::size_t tries = 1;
    for (int second = 0; second < 300; ++second) {
        pass_time(1s);
        pass("a");
        if (origin_.syncs.empty()) continue;
        for (const KeyComponents& key : flush())
            tries += key.current.identifier == "broken";
        answer_flush();
    }
    EXPECT_GE(tries, 8U);
    EXPECT_LE(tries, 12U);
    EXPECT_EQ(region_.stats().key_errors, tries);
    EXPECT_EQ(key_errors_.size(), 1U);

    origin_.broken.clear();
    pass_time(62s);
    while (!origin_.syncs.empty())
        answer_flush();
    pass_time(2s);
    EXPECT_EQ(at_origin("broken").own, 1U);
}

TEST_F(RegionFlushTest, AKeyThatTheOriginCannotServeDoesNotKeepANodeFromStopping) {
    know_nodes();
    origin_.broken = "broken";
    pass("broken");
    region_.begin_stop();
    answer_flush();
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(RegionFlushTest, FlushesAKeyAtOnceWhenHalfOfItsShareIsUnsynced) {
    know_nodes();
    pass("slow");
    for (int i = 0; i < 40; ++i)  // the share is 1,000 / 16
        pass("a");
    run_until_idle();
    ASSERT_EQ(flush().size(), 1U);
    EXPECT_EQ(flush().front().own[0], 40U);
    origin_.answer_sync();
    pass_time(1'000ms);
    EXPECT_EQ(flush().front().current.identifier, "slow");
}

TEST_F(RegionFlushTest, FlushesDueKeysTogetherWithUrgentOnes) {
    know_nodes();
    pass("due", 1'000'000);
    pass_time(615ms);
    pass("urgent", 100, 4);
    run_until_idle();
    ASSERT_EQ(origin_.syncs.size(), 1U);
    pass_time(20ms);
    origin_.answer_sync();  // the pause after it begins
    pass("urgent", 100, 4);
    run_until_idle();
    EXPECT_EQ(flush().size(), 2U);
}

TEST_F(RegionFlushTest, RetriesUnansweredKeys) {
    know_nodes();
    pass("a");
    pass_time(900ms);
    origin_.fail_sync();
    pass_time(200ms);
    answer_flush();
    EXPECT_EQ(at_origin("a").own, 1U);
    EXPECT_EQ(region_.stats().unanswered, 1U);
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(RegionFlushTest, KeysOfAnUnavailableServerDontDelayOtherKeys) {
    know_nodes();
    for (int i = 0; i < 500; ++i)
        pass("lost" + std::to_string(i), 1'000'000);
    for (int round = 1; round <= 10; ++round) {
        pass("kept", 1'000'000);
        for (int i = 0; i < 100; ++i) {
            pass_time(10ms);
            while (!origin_.syncs.empty())
                origin_.answer_sync("lost");
        }
        EXPECT_EQ(at_origin("kept").own, static_cast<Count>(round));
    }
    for (int i = 0; i < 500; ++i) {
        pass_time(10ms);
        while (!origin_.syncs.empty())
            origin_.answer_sync();
    }
    EXPECT_TRUE(region_.is_settled()) << "the server is back";
    EXPECT_FALSE(region_.is_unavailable());
}

TEST_F(RegionFlushTest, RetriesThePreviousCell) {
    know_nodes();
    Entry& one = entry("a");
    one.note_use(1'000, kNow + Duration{10'000});
    pass("a");
    one.set_synced(kSequence, 0);
    one.set_refreshed(kNow + Duration{10'000});
    pass_time(900ms);
    EXPECT_FALSE(flush().front().has_previous);
    origin_.answer_sync();
    one.admitted(kSequence - 1).add(kSequence - 1, 2);
    table_->settle(one, kSequence - 1, 2, request("a", 1'000));
    pass_time(900ms);
    origin_.fail_sync();
    pass_time(300ms);
    EXPECT_EQ(flush().front().own[1], 2U);
    origin_.answer_sync();
    EXPECT_EQ(at_origin("a", kSequence - 1).own, 2U);
}

TEST_F(RegionFlushTest, WritesEverythingAgainWhenTheOriginHasLostIt) {
    know_nodes();
    pass("a");
    pass_time(900ms);
    answer_flush();
    origin_.cells.clear();
    origin_.events.data_lost();
    pass_time(1'000ms);
    answer_flush();
    EXPECT_EQ(at_origin("a").own, 1U);
    EXPECT_EQ(region_.stats().resubmissions, 1U);
}

TEST_F(RegionFlushTest, WritesThePreviousCellAgainAfterAnAnswerFromBeforeTheLoss) {
    know_nodes();
    Entry& one = entry("a");
    one.note_use(1'000, kNow + Duration{10'000});
    one.admitted(kSequence - 1).add(kSequence - 1, 2);
    pass("a");
    pass_time(900ms);
    ASSERT_EQ(origin_.syncs.size(), 1U);
    origin_.events.data_lost();
    run_until_idle();
    origin_.answer_sync();
    origin_.cells.clear();
    pass_time(1'000ms);
    answer_flush();
    EXPECT_EQ(at_origin("a", kSequence - 1).own, 2U);
}

TEST_F(RegionFlushTest, FlushesAGrantThatALaterFlushHasLeftOut) {
    know_nodes();
    entry("a").set_refreshed(kNow);
    spend("a", 1'000, 3);
    run_until_idle();
    pass("a", 1'000, 2);
    pass_time(1'000ms);
    answer_flush();  // it overtakes the call, to which it looks like credit
    answer_spend();
    EXPECT_EQ(at_origin("a").own, 3U);
    EXPECT_EQ(entry("a").unsynced(kSequence), 2U);
    pass_time(1'000ms);
    answer_flush();
    EXPECT_EQ(at_origin("a").own, 5U);
}

TEST_F(RegionFlushTest, FlushesAtOnceOnStop) {
    know_nodes();
    pass("a");
    run_until_idle();
    region_.begin_stop();
    run_until_idle();
    ASSERT_EQ(origin_.syncs.size(), 1U) << "at once";
    origin_.answer_sync();
    pass_time(100ms);
    EXPECT_TRUE(region_.is_settled());
    EXPECT_EQ(at_origin("a").own, 1U);
}

TEST_F(RegionFlushTest, SyncWritesAndReadsSeveralKeys) {
    entry("a").admitted(kSequence).add(kSequence, 3);
    at_origin("b").peers = 4;
    const std::vector<Request> requests{request("a", 10), request("b", 10)};
    std::optional<bool> answered;
    region_.sync(requests, kNow, [&](bool is_answered) { answered = is_answered; });
    origin_.answer_sync();
    EXPECT_EQ(answered, true);
    EXPECT_EQ(at_origin("a").own, 3U);
    EXPECT_EQ(entry("b").peers(kSequence), 4U);
    EXPECT_EQ(entry("b").refreshed_at(), kNow);
}

TEST_F(RegionFlushTest, KeepsOrderAndPaceWithManyKeys) {
    know_nodes();
    for (int i = 0; i < 200; ++i)
        pass(std::to_string(i));
    run_until_idle();
    std::vector<std::string> order;
    for (int i = 0; i < 400 && order.size() < 200; ++i) {
        pass_time(5ms);
        if (origin_.syncs.empty()) continue;
        EXPECT_LE(flush().size(), FlushQueue::kBatchKeys);
        for (const KeyComponents& key : flush())
            order.push_back(key.current.identifier);
        now_ += 5ms;
        origin_.answer_sync();
        run_until_idle();
        EXPECT_TRUE(origin_.syncs.empty()) << "four times as long as the flush took";
    }
    ASSERT_EQ(order.size(), 200U);
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], std::to_string(i));
}

}  // namespace
}  // namespace sluice
