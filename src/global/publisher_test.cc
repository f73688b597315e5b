#include "global/publisher.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "global/global_fixture.h"

namespace sluice {
namespace {

using Kind = StoreFailure::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PublisherTest : public testing::Test {
  protected:
    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
    GlobalNode node_{clock_, world_, "a"};
    GlobalNode other_{clock_, world_, "b"};

    // The entry, which stays: nothing else uses the table meanwhile.
    Entry& held(const std::string& identifier) {
        const EpochPin pin;
        return *node_.find(identifier);
    }
    Count row(const std::string& identifier, const std::string& region) {
        for (const auto& [name, components] : world_->held()) {
            if (name.identifier != identifier) continue;
            const auto found = components.find(region);
            return found == components.end() ? 0 : found->second.count;
        }
        return 0;
    }
};

// Half of an even split between two regions.
TEST_F(PublisherTest, BelowAFourthOfTheLimitThereIsNoRow) {
    node_.spend("k", 24, 100);
    node_.publish();
    EXPECT_TRUE(world_->held().empty());
    node_.spend("k", 1, 100);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 25U);
}

TEST_F(PublisherTest, AnUnchangedValueIsNotWrittenAgain) {
    node_.spend("k", 6);
    node_.publish();
    node_.publish();
    node_.spend("k", 0);
    node_.publish();
    EXPECT_EQ(node_.store.rows(), 1U);
    node_.spend("k", 1);
    node_.publish();
    EXPECT_EQ(node_.store.rows(), 2U);
    EXPECT_EQ(row("k", "a"), 7U);
}

TEST_F(PublisherTest, OneThatKnowsOfAnotherRegionPublishesHoweverLittle) {
    node_.spend("k", 6);
    node_.publish();
    other_.spend("k", 1);
    other_.publish();
    EXPECT_EQ(row("k", "b"), 0U);
    other_.import();
    other_.publish();
    EXPECT_EQ(row("k", "b"), 1U);
}

TEST_F(PublisherTest, WhatIsImportedIsNeverPublished) {
    node_.spend("k", 6);
    node_.publish();
    other_.spend("k", 3);
    other_.import();
    other_.publish();
    EXPECT_EQ(row("k", "b"), 3U);
    EXPECT_EQ(other_.global("k"), 6U);
    node_.import();
    EXPECT_EQ(node_.global("k"), 3U);
    node_.spend("k", 1);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 7U);
}

TEST_F(PublisherTest, WhatAnUnfinishedBatchHoldsIsNotPublished) {
    node_.spend("k", 5);
    {
        const EpochPin pin;
        Entry& entry = *node_.find("k");
        entry.begin_holding(4);
        entry.admitted(node_.sequence()).add(node_.sequence(), 4);
    }
    node_.publish();
    EXPECT_EQ(row("k", "a"), 5U);
}

TEST_F(PublisherTest, RowsAreSortedAndChunksBounded) {
    for (int i = 0; i < 2'500; ++i)
        node_.spend("k" + std::to_string(i * 7'919 % 2'500), 6);
    node_.publish();
    EXPECT_EQ(node_.store.published.size(), 3U);
    EXPECT_EQ(node_.store.rows(), 2'500U);
    std::vector<CellName> names;
    for (const auto& chunk : node_.store.published) {
        EXPECT_LE(chunk.size(), Publisher::kChunkRows);
        for (const RegionCount& row : chunk)
            names.push_back(row.cell);
    }
    EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST_F(PublisherTest, ADeadlockAndALostConnectionAreTriedAgainWithinTheTick) {
    node_.spend("k", 6);
    node_.store.failures = {Kind::kBusy, Kind::kLost, Kind::kBusy};
    const auto began = clock_.now;
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
    EXPECT_LT(clock_.now - began, seconds{2});
    EXPECT_EQ(node_.global_sync.publisher().counts().failures, 3U);
    EXPECT_FALSE(node_.global_sync.publisher().counts().waiting_since);
}

TEST_F(PublisherTest, ARefusalEndsTheTickAndTheNextOneCarriesWhatIsLeft) {
    node_.spend("k", 6);
    node_.store.failures = {Kind::kRefused};
    node_.publish();
    EXPECT_EQ(row("k", "a"), 0U);
    EXPECT_TRUE(node_.global_sync.publisher().counts().waiting_since);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
}

// The first of three chunks lands, the second does not: only what landed counts as pushed.
TEST_F(PublisherTest, WhatWasPushedIsNotedChunkByChunk) {
    for (int i = 0; i < 2'500; ++i)
        node_.spend("k" + std::to_string(i), 6);
    Publisher& publisher = node_.global_sync.publisher();
    node_.global_sync.offer_changes();
    publisher.tick_now(clock_.now);
    node_.make_call(*publisher.next(clock_.now, clock_.wall));
    ASSERT_FALSE(publisher.next(clock_.now, clock_.wall)->rows.empty());
    publisher.answered(StoreFailure{Kind::kRefused, "scripted"}, 1, clock_.now);
    EXPECT_EQ(world_->held().size(), 1'000U);
    node_.publish();
    EXPECT_EQ(world_->held().size(), 2'500U);
    EXPECT_EQ(node_.store.rows(), 2'500U);
}

TEST_F(PublisherTest, WhatChangesWhileAChunkIsUnderwayIsPublishedByTheNextTick) {
    node_.spend("k", 6);
    node_.global_sync.offer_changes();
    Publisher& publisher = node_.global_sync.publisher();
    publisher.tick_now(clock_.now);
    const auto call = publisher.next(clock_.now, clock_.wall);
    ASSERT_EQ(call->rows.size(), 1U);
    node_.spend("k", 2);
    node_.global_sync.offer_changes();
    node_.make_call(*call);
    EXPECT_EQ(row("k", "a"), 6U);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 8U);
}

TEST_F(PublisherTest, AFailingStoreIsNotCalled) {
    clock_.advance(seconds{60});  // the breaker has forgotten the calls that succeeded
    node_.store.failures.assign(50, Kind::kLost);
    node_.spend("k", 6);
    node_.publish();
    const std::size_t calls = 50 - node_.store.failures.size();
    EXPECT_EQ(calls, 5U);
    EXPECT_EQ(node_.global_sync.publish_breaker().state(clock_.now), Breaker::State::kOpen);
    EXPECT_EQ(node_.global_sync.publish_breaker().last_failure(), "scripted");
    clock_.advance(seconds{20});
    node_.publish();  // a probe, which fails
    EXPECT_EQ(50 - node_.store.failures.size(), calls + 1);
    node_.store.failures.clear();
    clock_.advance(seconds{20});
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
    EXPECT_FALSE(node_.global_sync.publish_breaker().last_failure());
}

TEST_F(PublisherTest, AStoreThatRecoversWithinTheTickGetsItsRowsInIt) {
    clock_.advance(seconds{60});  // the breaker has forgotten the calls that succeeded
    node_.store.failures.assign(5, Kind::kLost);  // enough to open the breaker
    node_.spend("k", 6);
    node_.global_sync.offer_changes();
    Publisher& publisher = node_.global_sync.publisher();
    publisher.tick_now(clock_.now);
    const auto began = clock_.now;
    for (int i = 0; i < 100 && row("k", "a") == 0; ++i) {
        clock_.advance(std::chrono::ceil<milliseconds>(std::max(publisher.wake_at(), clock_.now) -
                                                       clock_.now));
        const auto call = publisher.next(clock_.now, clock_.wall);
        if (call) node_.make_call(*call);
    }
    EXPECT_EQ(row("k", "a"), 6U);
    EXPECT_LT(clock_.now - began, kGlobalInterval);
}

TEST_F(PublisherTest, CellsThatExpiredDuringAnOutageAreNotPublished) {
    node_.spend("k", 6);
    node_.store.failures = {Kind::kRefused};
    node_.publish();
    clock_.advance(2 * node_.duration);
    node_.publish();
    EXPECT_TRUE(world_->held().empty());
    EXPECT_TRUE(node_.global_sync.publisher().is_idle());
    EXPECT_EQ(node_.global_sync.publisher().counts().given_up, 1U);
}

TEST_F(PublisherTest, ThePreviousCellIsPublishedAsLongAsItMatters) {
    node_.spend("k", 6);
    clock_.advance(node_.duration);
    node_.spend("k", 7);
    node_.publish();
    EXPECT_EQ(world_->held().size(), 2U);
}

TEST_F(PublisherTest, AKeyThatIsTooLongIsStoredByDigestAndStillShared) {
    const std::string key(300, 'x');
    node_.spend(key, 6);
    node_.publish();
    ASSERT_EQ(world_->held().size(), 1U);
    EXPECT_EQ(world_->held().begin()->first.identifier.size(), kStoredIdentifierBytes + 1);
    other_.import();
    other_.spend(key, 1);  // finds what was imported before it
    EXPECT_EQ(other_.global(key), 6U);
    node_.spend(key, 1);
    node_.publish();
    other_.import();
    other_.spend(key, 1);
    other_.global_sync.offer_changes();  // and after
    EXPECT_EQ(other_.global(key), 7U);
    other_.publish();
    node_.import();
    node_.spend(key, 1);
    node_.global_sync.offer_changes();
    EXPECT_EQ(node_.global(key), 2U);
}

// What it is about to admit is taken off as if it had. It is denied, and so announces nothing.
TEST_F(PublisherTest, ACountThatABatchMadeLookSmallerIsPublishedWhenTheBatchHasGone) {
    for (const Count cost : {6U, 3U}) {
        node_.spend("k", cost);
        node_.global_sync.offer_changes();
    }
    Entry& entry = held("k");
    entry.begin_holding(5);
    node_.publish();
    entry.end_holding(5);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 9U);
}

TEST_F(PublisherTest, WhatADisplacedEntrySpentIsPublishedAlsoIfItsKeyHasComeBack) {
    node_.spend("k", 6);
    node_.global_sync.offer_changes();
    for (int i = 0; node_.find("k") != nullptr && i < 100'000; ++i) {
        node_.spend("other " + std::to_string(i), 9);
        node_.global_sync.offer_changes();
    }
    ASSERT_EQ(node_.find("k"), nullptr);
    node_.spend("k", 1);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
}

class UnknownLimitTest : public PublisherTest {
  protected:
    // What a read of a key that is not held leaves behind.
    void read(const std::string& identifier, Count spent) {
        const Request request{
            .name_space = "n", .identifier = identifier, .duration = node_.duration};
        Instant at;
        const EpochPin pin;
        Entry& entry = node_.table().entry_for(node_.table().key(request), clock_.wall, at);
        entry.raise_peers(at.sequence, spent);
        node_.global_sync.offer(entry);
    }
    void displace(const std::string& identifier) {
        for (int i = 0; node_.find(identifier) != nullptr && i < 100'000; ++i) {
            node_.spend("other " + std::to_string(i), 9);
            node_.global_sync.offer_changes();
        }
        ASSERT_EQ(node_.find(identifier), nullptr);
    }
};

TEST_F(UnknownLimitTest, AKeyThatIsDisplacedBeforeItsLimitIsKnownIsNotPublished) {
    read("k", 4);
    node_.spend("k", 0);
    displace("k");
    node_.publish();
    EXPECT_EQ(row("k", "a"), 0U);
    read("k", 6);
    node_.spend("k", 0);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
}

TEST_F(UnknownLimitTest, TheLimitOfADisplacedKeyHoldsForAnEntryThatHasNone) {
    node_.spend("k", 6);
    node_.global_sync.offer_changes();
    displace("k");
    read("k", 6);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
}

TEST_F(UnknownLimitTest, OneThatKnowsOfAnotherRegionPublishesWithoutALimit) {
    other_.spend("k", 6);
    other_.publish();
    node_.import();
    read("k", 1);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 1U);
}

TEST_F(PublisherTest, TheLastTickAlsoCarriesWhatWasOfferedWhileAChunkWaitsToBeTriedAgain) {
    node_.spend("k", 6);
    node_.global_sync.offer_changes();
    Publisher& publisher = node_.global_sync.publisher();
    publisher.tick_now(clock_.now);
    ASSERT_EQ(publisher.next(clock_.now, clock_.wall)->rows.size(), 1U);
    publisher.answered(StoreFailure{Kind::kLost, "scripted"}, 1, clock_.now);
    node_.spend("l", 6);
    node_.global_sync.offer_changes();
    publisher.tick_now(clock_.now);
    EXPECT_FALSE(publisher.is_idle());
    while (const auto call = publisher.next(clock_.now, clock_.wall))
        node_.make_call(*call);
    EXPECT_EQ(world_->held().size(), 2U);
    EXPECT_TRUE(publisher.is_idle());
}

// As on a server that is read-only: the failure is reported once, not again after every import.
TEST_F(PublisherTest, ARefusalToPublishIsNoLessTrueBecauseImportsSucceed) {
    node_.spend("k", 6);
    node_.store.failures = {Kind::kRefused};
    node_.publish();
    node_.import();
    EXPECT_EQ(node_.global_sync.publish_breaker().last_failure(), "scripted");
    node_.publish();
    EXPECT_FALSE(node_.global_sync.publish_breaker().last_failure());
}

// A thread that spends in it may find it removed before the change is listed; then it enters the
// cost elsewhere.
TEST_F(PublisherTest, WhatIsSpentInAnEntryOnItsWayOutIsPublishedOnlyIfItStays) {
    node_.spend("k", 6);
    node_.global_sync.offer_changes();
    Entry& entry = held("k");
    ASSERT_TRUE(ChangedList::leave(entry));
    entry.admitted(node_.sequence()).add(node_.sequence(), 1);
    node_.publish();
    EXPECT_EQ(row("k", "a"), 6U);
    ASSERT_TRUE(node_.table().changed().mark(entry));
    node_.publish();
    EXPECT_EQ(row("k", "a"), 7U);
}

class CrowdedPublisherTest : public PublisherTest {
  protected:
    void offer(const std::string& identifier) {
        node_.spend(identifier, 6);
        const EpochPin pin;
        publish_queue_.offer(*node_.find(identifier));
    }
    std::vector<std::string> next() {
        publisher_.tick_now(clock_.now);
        std::vector<std::string> names;
        if (const auto call = publisher_.next(clock_.now, clock_.wall)) {
            for (const RegionCount& row : call->rows)
                names.push_back(row.cell.identifier);
        }
        return names;
    }
    void answer(const std::optional<StoreFailure>& failure) {
        publisher_.answered(failure, 1, clock_.now);
    }

    ComponentTable components_{"a", 100, [](const StoredKeyId&, std::uint64_t) { return true; }};
    PublishQueue::Regions regions_{2};
    PublishQueue publish_queue_{{.policy = publish_adaptively,
                                 .clock = [this] { return clock_.now; },
                                 .urged = [] {},
                                 .announce = {},
                                 .is_bus_live = [](GlobalNode::Time) { return false; }},
                                components_,
                                regions_};
    StoreBreaker breaker_{kGlobalInterval};
    Publisher publisher_{node_.table(),
                         publish_queue_,
                         components_,
                         regions_,
                         breaker_,
                         {.most_cells = 2},
                         clock_.now};
};

TEST_F(CrowdedPublisherTest, WhatWasPublishedMakesRoomForWhatWasNot) {
    offer("a");
    offer("b");
    EXPECT_EQ(next().size(), 2U);
    answer(std::nullopt);
    offer("c");
    offer("d");
    EXPECT_EQ(next(), (std::vector<std::string>{"c", "d"}));
    answer(std::nullopt);
    EXPECT_EQ(publisher_.counts().given_up, 0U);
    EXPECT_EQ(publisher_.counts().forgotten, 2U);
}

TEST_F(CrowdedPublisherTest, WhatCeasesToMatterFirstIsGivenUpAndCounted) {
    node_.duration = seconds{3'600};
    offer("long a");
    offer("long b");
    EXPECT_EQ(next().size(), 2U);
    answer(StoreFailure{Kind::kRefused, "scripted"});
    node_.duration = seconds{60};
    offer("short");
    EXPECT_EQ(next(), (std::vector<std::string>{"long a", "long b"}));
    EXPECT_EQ(publisher_.counts().given_up, 1U);
    answer(std::nullopt);
    EXPECT_TRUE(publisher_.is_idle());
}

}  // namespace
}  // namespace sluice
