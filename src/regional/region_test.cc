#include "regional/region.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "regional/fake_origin.h"
#include "window/sharing.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr Duration kMinute{60'000};
constexpr UnixTime kNow{Duration{6'000'000}};
constexpr Sequence kSequence = 100;

class RegionTest : public testing::Test {
  protected:
    RegionTest() {
        region_.start();
        origin_.events.available(true);
    }

    // Steps until nothing asks for a step at this time.
    void settle() {
        for (int i = 0; i < 1'000 && (std::exchange(wants_step_, false) || is_due()); ++i)
            region_.step();
    }
    bool is_due() const { return region_.wake_at() && *region_.wake_at() <= now_; }
    void pass_time(milliseconds time) {
        const auto end = now_ + time;
        settle();
        while (region_.wake_at() && *region_.wake_at() < end) {
            now_ = std::max(now_, *region_.wake_at());
            region_.step();
            settle();
        }
        now_ = end;
        region_.step();
        settle();
    }
    void know_nodes() { pass_time(milliseconds{3'500}); }

    static Request request(std::string_view identifier, std::int64_t limit, std::int64_t cost = 1) {
        return {.name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = kMinute,
                .cost = cost};
    }
    static CellName cell(std::string_view identifier, Sequence sequence = kSequence) {
        return {.workspace = std::string(Request{}.workspace),
                .name_space = "n",
                .identifier = std::string(identifier),
                .duration = kMinute,
                .sequence = sequence};
    }
    Entry& entry(std::string_view identifier) {
        const EpochPin pin;
        Instant at{};
        const Request peek = request(identifier, 1);
        return table_->entry_for(table_->key(peek), kNow, at);
    }
    // Passes a request here, as a decision does, and returns what the sharing rule says to it.
    LocalVerdict pass_here(const Request& request) {
        const EpochPin pin;
        Entry& one = entry(request.identifier);
        const auto cost = static_cast<Count>(request.cost);
        const auto limit = static_cast<Count>(request.limit);
        const LocalVerdict verdict =
            decide_locally({.nodes = table_->nodes(),
                            .is_young = true,
                            .unsynced = one.unsynced(kSequence) + cost,
                            .remaining = limit - one.spent(kSequence) - cost,
                            .limit = limit});
        if (verdict == LocalVerdict::kAskOrigin) return verdict;
        one.admitted(kSequence).add(kSequence, cost);
        table_->settle(one, kSequence, cost, request);
        if (verdict == LocalVerdict::kPassAndFlush) table_->changed().urge(one);
        return verdict;
    }
    // Asks the origin, and enters the grant as the service does.
    void spend(const Request& asked) {
        verdicts_.emplace_back();
        const std::size_t index = verdicts_.size() - 1;
        region_.spend(asked, kNow, [this, asked, index](std::optional<OriginVerdict> verdict) {
            verdicts_[index] = !verdict               ? "unanswered"
                               : verdict->try_locally ? "undecided"
                               : verdict->granted     ? "granted"
                                                      : "denied";
            if (!verdict || !verdict->granted) return;
            entry(asked.identifier)
                .admitted(verdict->grant.sequence)
                .add(verdict->grant.sequence, static_cast<Count>(asked.cost));
        });
    }
    // Uses other keys until the table has no room for this one.
    void displace(std::string_view identifier) {
        const Request peek = request(identifier, 1);
        const auto is_held = [&] {
            const EpochPin pin;
            return table_->find(table_->key(peek)) != nullptr;
        };
        for (int i = 0; i < 100'000 && is_held(); ++i)
            entry("other" + std::to_string(i)).note_use(1'000, kNow);
    }
    std::size_t count(const std::string& verdict) const {
        return static_cast<std::size_t>(std::ranges::count(verdicts_, verdict));
    }

    FakeOrigin origin_;
    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 1'000, .sharing = Sharing::kShared, .seed = 1});
    Region::Time now_{std::chrono::hours(1)};
    bool wants_step_ = false;
    std::vector<std::string> changes_;
    std::vector<milliseconds> offsets_;
    std::vector<std::string> verdicts_;
    Region region_{*table_,
                   origin_,
                   {.clock = [this] { return now_; },
                    .again = [this] { wants_step_ = true; },
                    .changed =
                        [this](bool unavailable, const std::string& why) {
                            changes_.push_back(unavailable ? why : "available");
                        },
                    .clock_offset = [this](milliseconds offset) { offsets_.push_back(offset); }}};
};

TEST_F(RegionTest, TheOriginDecidesAllThatWaitsForAKeyInOneCall) {
    origin_.cells[cell("a")].peers = 6;
    spend(request("a", 10));
    settle();
    for (int i = 0; i < 5; ++i)
        spend(request("a", 10));
    settle();
    ASSERT_EQ(origin_.spends.size(), 1U) << "the others wait for the next call";
    origin_.answer_spend();
    settle();
    ASSERT_EQ(origin_.spends.size(), 1U);
    EXPECT_EQ(origin_.spends.front().first.front().requests.size(), 5U);
    origin_.answer_spend();
    EXPECT_EQ(
        verdicts_,
        (std::vector<std::string>{"granted", "granted", "granted", "granted", "denied", "denied"}));
    EXPECT_EQ(entry("a").admitted(kSequence).of(kSequence), 4U);
    EXPECT_EQ(entry("a").peers(kSequence), 6U);
    EXPECT_EQ(entry("a").unsynced(kSequence), 0U);
    EXPECT_EQ(region_.stats().spends, 6U);
    EXPECT_EQ(region_.stats().spend_calls, 2U);
    pass_time(milliseconds{2'000});
    EXPECT_TRUE(origin_.syncs.empty()) << "the grant was the write";
}

TEST_F(RegionTest, AGrantWhoseAnswerWasLostIsCreditForTheNextRequest) {
    spend(request("a", 10));
    settle();
    origin_.lose_spend_answer();
    EXPECT_EQ(verdicts_.back(), "unanswered");
    EXPECT_EQ(origin_.cells[cell("a")].own, 1U);
    spend(request("a", 10));
    settle();
    origin_.answer_spend();
    EXPECT_EQ(verdicts_.back(), "granted");
    EXPECT_EQ(origin_.cells[cell("a")].own, 1U) << "it was granted once";
    EXPECT_EQ(entry("a").admitted(kSequence).of(kSequence), 1U);
}

TEST_F(RegionTest, CreditThatTheOriginHasLostDoesNotBecomeItsPeersSpend) {
    spend(request("a", 10, 3));
    settle();
    origin_.lose_spend_answer();
    origin_.cells.clear();  // after peers have read the credit, and before anybody notices
    spend(request("a", 10, 1));
    settle();
    origin_.answer_spend();
    ASSERT_EQ(entry("a").admitted(kSequence).of(kSequence), 1U);
    EXPECT_EQ(entry("a").most_at_origin(kSequence), 3U);
    for (int i = 0; i < 2; ++i) {
        spend(request("a", 10, 1));
        settle();
        origin_.answer_spend();
    }
    EXPECT_EQ(entry("a").credit(kSequence), 0U) << "it is used up";
}

TEST_F(RegionTest, ADenialThatReachesALaterEntryOfItsKeyIsAskedForAgain) {
    origin_.cells[cell("a")].peers = 10;
    spend(request("a", 10));
    settle();
    const std::uint32_t incarnation = entry("a").incarnation();
    displace("a");
    ASSERT_NE(entry("a").incarnation(), incarnation);
    entry("a").set_credit(kSequence + 1, 0);  // it has asked in the next window
    origin_.answer_spend();
    ASSERT_EQ(entry("a").peers(kSequence), 0U) << "the answer may count what this entry wrote";
    EXPECT_EQ(verdicts_.back(), "undecided");
    spend(request("a", 10));
    settle();
    origin_.answer_spend();
    EXPECT_EQ(verdicts_.back(), "denied");
    EXPECT_EQ(entry("a").peers(kSequence), 10U);
}

TEST_F(RegionTest, TheOriginCountsWhatThisNodeHasSpentAndWhatOtherRegionsHave) {
    entry("a").admitted(kSequence).add(kSequence, 3);
    entry("a").raise_global(kSequence, 4);
    entry("a").raise_peers(kSequence, 2);
    spend(request("a", 10));
    spend(request("a", 10));
    settle();
    origin_.answer_spend();
    EXPECT_EQ(verdicts_, (std::vector<std::string>{"granted", "denied"}));
    EXPECT_EQ(origin_.cells[cell("a")].own, 4U);
}

TEST_F(RegionTest, WritesAPassWithinASecond) {
    know_nodes();
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    pass_time(milliseconds{500});
    EXPECT_TRUE(origin_.syncs.empty()) << "more may come";
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    pass_time(milliseconds{400});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    EXPECT_GT(region_.stats().oldest_unsynced, milliseconds{700});
    origin_.cells[cell("a")].peers = 5;
    origin_.answer_sync();
    settle();
    EXPECT_EQ(origin_.cells[cell("a")].own, 2U);
    EXPECT_EQ(entry("a").peers(kSequence), 5U);
    EXPECT_EQ(entry("a").unsynced(kSequence), 0U);
    EXPECT_EQ(region_.stats().flushed, 1U);
    EXPECT_EQ(region_.stats().oldest_unsynced, milliseconds{0});
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(RegionTest, WritesAKeyAtOnceThatHasSpentHalfOfItsShare) {
    know_nodes();
    ASSERT_NE(pass_here(request("slow", 1'000)), LocalVerdict::kAskOrigin);
    for (int i = 0; i < 40; ++i)  // the share is 1,000 / 16
        ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    settle();
    ASSERT_EQ(origin_.syncs.size(), 1U);
    ASSERT_EQ(origin_.syncs.front().first.size(), 1U);
    EXPECT_EQ(origin_.syncs.front().first.front().own[0], 40U);
    origin_.answer_sync();
    pass_time(milliseconds{1'000});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    EXPECT_EQ(origin_.syncs.front().first.front().current.identifier, "slow");
}

TEST_F(RegionTest, TakesDueKeysAlongWithUrgentOnes) {
    know_nodes();
    pass_here(request("due", 1'000'000));
    pass_time(milliseconds{740});
    pass_here(request("urgent", 100, 4));
    settle();
    ASSERT_EQ(origin_.syncs.size(), 1U);
    pass_time(milliseconds{20});
    origin_.answer_sync();  // the pause after it begins
    pass_here(request("urgent", 100, 4));
    settle();
    ASSERT_EQ(origin_.syncs.size(), 1U);
    EXPECT_EQ(origin_.syncs.front().first.size(), 2U);
}

TEST_F(RegionTest, WritesAgainWhatWasNotAnswered) {
    know_nodes();
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    pass_time(milliseconds{900});
    origin_.fail_sync();
    pass_time(milliseconds{200});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    origin_.answer_sync();
    settle();
    EXPECT_EQ(origin_.cells[cell("a")].own, 1U);
    EXPECT_EQ(region_.stats().unanswered, 1U);
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(RegionTest, KeysOfAServerThatIsAwayDontHoldUpTheOthers) {
    know_nodes();
    for (int i = 0; i < 500; ++i)
        pass_here(request("lost" + std::to_string(i), 1'000'000));
    for (int round = 1; round <= 10; ++round) {
        pass_here(request("kept", 1'000'000));
        for (int i = 0; i < 100; ++i) {
            pass_time(milliseconds{10});
            while (!origin_.syncs.empty())
                origin_.answer_sync_except("lost");
        }
        EXPECT_EQ(origin_.cells[cell("kept")].own, static_cast<Count>(round));
    }
    for (int i = 0; i < 500; ++i) {
        pass_time(milliseconds{10});
        while (!origin_.syncs.empty())
            origin_.answer_sync();
    }
    EXPECT_TRUE(region_.is_settled()) << "the server is back";
    EXPECT_FALSE(region_.is_unavailable());
}

TEST_F(RegionTest, AnOriginThatFailsEveryCallAtOnceIsUnavailable) {
    know_nodes();
    origin_.is_silent = true;  // no heartbeat is answered either
    for (int i = 0; i < 60; ++i) {
        spend(request("a", 1'000'000));
        settle();
        while (!origin_.spends.empty())
            origin_.lose_spend_answer();
        pass_time(milliseconds{100});
    }
    EXPECT_TRUE(region_.is_unavailable());
}

TEST_F(RegionTest, RequestsThatWouldWaitTooLongAreNotQueued) {
    for (int i = 0; i < 2'000; ++i)
        spend(request("a", 1'000'000));
    EXPECT_GT(count("unanswered"), 900U);
    settle();
    while (!origin_.spends.empty()) {
        origin_.answer_spend();
        settle();
    }
    EXPECT_GT(count("granted"), 1'000U);
    EXPECT_EQ(count("granted") + count("unanswered"), 2'000U);
}

TEST_F(RegionTest, WritesThePreviousCellAgainIfThatWasNotAnswered) {
    know_nodes();
    Entry& one = entry("a");
    one.note_use(1'000, kNow + Duration{10'000});
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    one.set_synced(kSequence, 0);
    one.set_refreshed(kNow + Duration{10'000});
    pass_time(milliseconds{900});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    EXPECT_FALSE(origin_.syncs.front().first.front().has_previous);
    origin_.answer_sync();
    one.admitted(kSequence - 1).add(kSequence - 1, 2);
    table_->settle(one, kSequence - 1, 2, request("a", 1'000));
    pass_time(milliseconds{900});
    origin_.fail_sync();
    pass_time(milliseconds{300});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    EXPECT_EQ(origin_.syncs.front().first.front().own[1], 2U);
    origin_.answer_sync();
    EXPECT_EQ(origin_.cells[cell("a", kSequence - 1)].own, 2U);
}

TEST_F(RegionTest, WritesEverythingAgainWhenTheOriginHasLostIt) {
    know_nodes();
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    pass_time(milliseconds{900});
    origin_.answer_sync();
    settle();
    origin_.cells.clear();
    origin_.events.data_lost();
    pass_time(milliseconds{1'000});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    origin_.answer_sync();
    EXPECT_EQ(origin_.cells[cell("a")].own, 1U);
    EXPECT_EQ(region_.stats().resubmissions, 1U);
}

TEST_F(RegionTest, WritesThePreviousCellAgainAfterAnAnswerFromBeforeTheLoss) {
    know_nodes();
    Entry& one = entry("a");
    one.note_use(1'000, kNow + Duration{10'000});
    one.admitted(kSequence - 1).add(kSequence - 1, 2);
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    pass_time(milliseconds{900});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    origin_.events.data_lost();
    settle();
    origin_.answer_sync();
    origin_.cells.clear();
    pass_time(milliseconds{1'000});
    ASSERT_EQ(origin_.syncs.size(), 1U);
    origin_.answer_sync();
    EXPECT_EQ(origin_.cells[cell("a", kSequence - 1)].own, 2U);
}

TEST_F(RegionTest, LetsTheOriginDecideEverythingUntilAllHaveCountedThisNode) {
    settle();
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    pass_time(milliseconds{2'900});
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    pass_time(milliseconds{1'200});
    EXPECT_EQ(table_->nodes(), 2U);
    origin_.nodes = 7;
    pass_time(milliseconds{1'100});
    EXPECT_EQ(table_->nodes(), 7U);
    origin_.is_silent = true;
    pass_time(milliseconds{3'100});
    EXPECT_EQ(table_->nodes(), kUnknownNodes) << "the count is too old";
}

TEST_F(RegionTest, ReliesOnACountOfNodesForThreeSeconds) {
    know_nodes();
    ASSERT_EQ(table_->nodes(), 2U);
    origin_.is_silent = true;
    pass_time(milliseconds{1'900});
    EXPECT_EQ(table_->nodes(), 2U);
    pass_time(milliseconds{1'100});
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    origin_.is_silent = false;
    origin_.silent_beats.back()(std::nullopt);
    pass_time(milliseconds{3'000});
    EXPECT_EQ(table_->nodes(), kUnknownNodes) << "others may have dropped this node";
    pass_time(milliseconds{1'000});
    EXPECT_EQ(table_->nodes(), 2U);
}

TEST_F(RegionTest, BelievesALowerCountOfNodesLater) {
    know_nodes();
    origin_.nodes = 1;
    pass_time(milliseconds{1'900});
    EXPECT_EQ(table_->nodes(), 2U) << "the origin may have lost the others' heartbeats";
    pass_time(milliseconds{2'200});
    EXPECT_EQ(table_->nodes(), 1U);
    origin_.nodes = 3;
    pass_time(milliseconds{1'100});
    EXPECT_EQ(table_->nodes(), 3U) << "a higher one at once";
}

TEST_F(RegionTest, BelievesALowerCountOfNodesLaterAlsoAfterUnansweredHeartbeats) {
    know_nodes();
    origin_.is_silent = true;
    pass_time(milliseconds{1'100});
    origin_.is_silent = false;
    origin_.nodes = 1;  // the origin has lost the heartbeats just now
    origin_.silent_beats.back()(std::nullopt);
    pass_time(milliseconds{2'900});
    EXPECT_EQ(table_->nodes(), 2U) << "the other node may not have sent one since";
    pass_time(milliseconds{1'100});
    EXPECT_EQ(table_->nodes(), 1U);
}

TEST_F(RegionTest, CountsTheNodesAgainWhenTheOriginHasLostData) {
    know_nodes();
    origin_.events.data_lost();
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    pass_time(milliseconds{3'100});
    EXPECT_EQ(table_->nodes(), 2U);
}

TEST_F(RegionTest, TheViewOfAKeyIsSuspendedWhileTheOriginDecidesForIt) {
    know_nodes();
    entry("a").set_refreshed(kNow);
    spend(request("a", 1'000));
    settle();
    EXPECT_EQ(entry("a").refreshed_at(), Entry::kNever);
    region_.sync({{request("a", 1'000)}}, kNow, [](bool) {});
    origin_.answer_sync();
    settle();
    EXPECT_EQ(entry("a").refreshed_at(), Entry::kNever) << "a grant is still underway";
    origin_.answer_spend();
    settle();
    EXPECT_EQ(entry("a").refreshed_at(), kNow);
}

TEST_F(RegionTest, FlushesAGrantThatALaterFlushHasLeftOut) {
    know_nodes();
    entry("a").set_refreshed(kNow);
    spend(request("a", 1'000, 3));
    settle();
    pass_here(request("a", 1'000, 2));
    pass_time(milliseconds{1'000});
    ASSERT_FALSE(origin_.syncs.empty());
    origin_.answer_sync();  // it overtakes the call, to which it looks like credit
    settle();
    origin_.answer_spend();
    EXPECT_EQ(origin_.cells[cell("a")].own, 3U);
    EXPECT_EQ(entry("a").unsynced(kSequence), 2U);
    pass_time(milliseconds{1'000});
    ASSERT_FALSE(origin_.syncs.empty());
    origin_.answer_sync();
    EXPECT_EQ(origin_.cells[cell("a")].own, 5U);
}

TEST_F(RegionTest, IsUnavailableWhileTheOriginRefusesWrites) {
    know_nodes();
    origin_.is_silent = true;
    origin_.events.write_refused("OOM command not allowed");
    EXPECT_TRUE(region_.is_unavailable());
    EXPECT_EQ(changes_.back(), "it refuses writes; OOM command not allowed");
    spend(request("a", 10));
    EXPECT_EQ(verdicts_.back(), "unanswered") << "nobody waits";
    origin_.is_silent = false;
    for (auto& beaten : std::exchange(origin_.silent_beats, {}))
        beaten(std::nullopt);
    pass_time(milliseconds{600});
    EXPECT_FALSE(region_.is_unavailable());
    EXPECT_EQ(changes_.back(), "available");
    EXPECT_EQ(region_.stats().outages, 1U);
}

TEST_F(RegionTest, IsUnavailableWhileItIsNotConnected) {
    know_nodes();
    origin_.events.unavailable("connection refused");
    EXPECT_TRUE(region_.is_unavailable());
    EXPECT_EQ(changes_.back(), "connection refused");
    table_->set_nodes(2);
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    pass_time(milliseconds{10'000});
    EXPECT_TRUE(origin_.syncs.empty());
    EXPECT_GT(region_.stats().oldest_unsynced, milliseconds{9'000});
    origin_.events.available(true);
    settle();
    ASSERT_EQ(origin_.syncs.size(), 1U) << "what is due goes out at once";
    origin_.answer_sync();
    EXPECT_EQ(origin_.cells[cell("a")].own, 1U);
}

TEST_F(RegionTest, ReportsAClockThatDiffersByMoreThanASecondOnce) {
    origin_.offset = Duration{-1'500};
    pass_time(milliseconds{5'000});
    EXPECT_EQ(offsets_, (std::vector<milliseconds>{milliseconds{-1'500}}));
    EXPECT_EQ(region_.stats().clock_offset, milliseconds{-1'500});
}

TEST_F(RegionTest, FlushesAndRetiresItsComponentsWhenItStops) {
    know_nodes();
    ASSERT_NE(pass_here(request("a", 1'000)), LocalVerdict::kAskOrigin);
    settle();
    region_.begin_stop();
    settle();
    ASSERT_EQ(origin_.syncs.size(), 1U) << "at once";
    origin_.answer_sync();
    pass_time(milliseconds{100});
    EXPECT_TRUE(region_.is_settled());
    EXPECT_EQ(origin_.cells[cell("a")].own, 0U);
    EXPECT_EQ(origin_.cells[cell("a")].stopped, 1U);
    EXPECT_EQ(entry("a").peers(kSequence), 0U) << "its own counts are not its peers'";
}

TEST_F(RegionTest, SyncWritesAndReadsSeveralKeys) {
    entry("a").admitted(kSequence).add(kSequence, 3);
    origin_.cells[cell("b")].peers = 4;
    const std::vector<Request> requests{request("a", 10), request("b", 10)};
    std::optional<bool> answered;
    region_.sync(requests, kNow, [&](bool is_answered) { answered = is_answered; });
    origin_.answer_sync();
    EXPECT_EQ(answered, true);
    EXPECT_EQ(origin_.cells[cell("a")].own, 3U);
    EXPECT_EQ(entry("b").peers(kSequence), 4U);
    EXPECT_EQ(entry("b").refreshed_at(), kNow);
}

TEST_F(RegionTest, KeepsOrderAndPaceWithManyKeys) {
    know_nodes();
    for (int i = 0; i < 200; ++i)
        ASSERT_NE(pass_here(request(std::to_string(i), 1'000)), LocalVerdict::kAskOrigin);
    settle();
    std::vector<std::string> order;
    for (int i = 0; i < 200 && order.size() < 200; ++i) {
        pass_time(milliseconds{10});
        if (origin_.syncs.empty()) continue;
        EXPECT_LE(origin_.syncs.front().first.size(), FlushQueue::kBatchKeys);
        for (const KeyComponents& key : origin_.syncs.front().first)
            order.push_back(key.current.identifier);
        now_ += milliseconds{5};
        origin_.answer_sync();
        settle();
        EXPECT_TRUE(origin_.syncs.empty()) << "four times as long as the flush took";
    }
    ASSERT_EQ(order.size(), 200U);
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], std::to_string(i));
}

}  // namespace
}  // namespace sluice
