#include "global/publish_queue.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"
#include "global/bus_health.h"

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr UnixTime kNow{seconds{1'700'000'040}};
constexpr Duration kDuration{600'000};

// A limit of 100, which two regions share: a lone region publishes from 25 on.
class PublishQueueTest : public testing::Test {
  protected:
    void spend(const std::string& identifier, Count cost) { spend(identifier, cost, queue_); }
    void spend(const std::string& identifier, Count cost, PublishQueue& queue) {
        const EpochPin pin;
        Instant at;
        const Request request{.name_space = "n", .identifier = identifier, .duration = kDuration};
        Entry& entry = table_->entry_for(table_->key(request), kNow, at);
        entry.note_use(100, kNow);
        entry.admitted(at.sequence).add(at.sequence, cost);
        queue.offer(entry);
    }
    // As the publisher does.
    std::size_t take(PublishQueue& queue) {
        const auto taken = queue.take();
        const EpochPin pin;
        for (const PublishCandidate& each : taken) {
            const Request request{.name_space = each.key.name_space,
                                  .identifier = each.key.identifier,
                                  .duration = each.key.duration};
            table_->find(table_->key(request))->end_offer();
        }
        return taken.size();
    }
    static CellName cell(const std::string& identifier) {
        return {.workspace = std::string(Request{}.workspace),
                .name_space = "n",
                .identifier = identifier,
                .duration = kDuration,
                .sequence = instant_at(kNow, kDuration).sequence};
    }
    void published(const std::string& identifier, Count count) {
        components_.merge(
            stored_key_id(cell(identifier)),
            cell(identifier),
            {.region = "own", .count = count, .source = ComponentSource::kStore, .at = time_});
    }
    PublishQueue::Config config() {
        return {.policy = publish_adaptively,
                .clock = [this] { return time_; },
                .urged = [this] { ++urged_; },
                .announce = {},
                .is_bus_live = [this](PublishQueue::Time at) { return !health_.is_silent(at); }};
    }
    PublishQueue::Config bus_config() {
        PublishQueue::Config with_bus = config();
        with_bus.announce = [this](const CellName& name, Count count) {
            announced_.emplace_back(name.identifier, count);
        };
        return with_bus;
    }

    PublishQueue::Time time_{seconds{1'000}};
    BusHealth health_;
    int urged_ = 0;
    std::vector<std::pair<std::string, Count>> announced_;
    const std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 100, .sharing = Sharing::kSole, .seed = 1});
    ComponentTable components_{
        "own", 1'000, [](const StoredKeyId&, std::uint64_t) { return true; }};
    PublishQueue::Regions regions_{2};
    PublishQueue queue_{config(), components_, regions_};
    PublishQueue bus_queue_{bus_config(), components_, regions_};
};

TEST_F(PublishQueueTest, OnlyWhatThePolicySelectsIsQueuedAndOnce) {
    spend("k", 24);
    EXPECT_EQ(take(queue_), 0U);
    spend("k", 1);
    spend("k", 1);
    spend("l", 30);
    EXPECT_EQ(take(queue_), 2U);
    EXPECT_EQ(take(queue_), 0U);
    spend("k", 1);
    EXPECT_EQ(take(queue_), 1U);
}

TEST_F(PublishQueueTest, ThePublisherIsUrgedOncePerTake) {
    spend("k", 24);
    EXPECT_FALSE(queue_.is_urged());
    spend("k", 1);
    spend("k", 25);
    spend("l", 25);
    EXPECT_TRUE(queue_.is_urged());
    EXPECT_EQ(urged_, 1);
    take(queue_);
    EXPECT_FALSE(queue_.is_urged());
    spend("l", 25);
    EXPECT_EQ(urged_, 2);
}

TEST_F(PublishQueueTest, WhatWasPublishedUrgesOnlyOnceItHasGrownByTheThreshold) {
    spend("k", 25);
    take(queue_);
    published("k", 25);
    spend("k", 24);
    EXPECT_FALSE(queue_.is_urged());
    EXPECT_EQ(take(queue_), 1U) << "a remainder, for the regular tick";
    spend("k", 1);
    EXPECT_TRUE(queue_.is_urged());
}

TEST_F(PublishQueueTest, MoreRegionsUrgeSooner) {
    regions_ = 5;
    spend("k", 10);
    EXPECT_TRUE(queue_.is_urged());
}

TEST_F(PublishQueueTest, WithABusCountsAreAnnouncedAndNothingIsUrgent) {
    spend("k", 24, bus_queue_);
    EXPECT_TRUE(announced_.empty());
    spend("k", 1, bus_queue_);
    spend("k", 24, bus_queue_);
    ASSERT_EQ(announced_.size(), 1U) << "24 are not announced yet";
    EXPECT_EQ(announced_.back(), std::pair(std::string("k"), Count{25}));
    spend("k", 1, bus_queue_);
    ASSERT_EQ(announced_.size(), 2U);
    EXPECT_EQ(announced_.back().second, 50U) << "absolute";
    EXPECT_EQ(urged_, 0);
    EXPECT_EQ(take(bus_queue_), 1U) << "the regular tick publishes it all the same";
    EXPECT_EQ(components_.sums(stored_key_id(cell("k")), cell("k").sequence).own, 0U);
}

TEST_F(PublishQueueTest, LongKeysAreAnnouncedByTheirStoredNames) {
    const std::string identifier(300, 'x');
    spend(identifier, 25, bus_queue_);
    ASSERT_EQ(announced_.size(), 1U);
    EXPECT_EQ(announced_[0].first, stored_name(cell(identifier)).identifier);
}

TEST_F(PublishQueueTest, WhileTheBusIsSilentCountsAreAnnouncedAndUrgeThePublisher) {
    health_.sent(time_);
    spend("k", 25, bus_queue_);
    EXPECT_EQ(urged_, 0);
    time_ += BusHealth::kSilence;
    spend("k", 1, bus_queue_);
    EXPECT_EQ(urged_, 1) << "what was announced is not published";
    EXPECT_EQ(announced_.size(), 1U);
    take(bus_queue_);
    published("k", 26);
    spend("k", 24, bus_queue_);
    EXPECT_EQ(announced_.size(), 2U);
    EXPECT_EQ(urged_, 1) << "24 are not published yet";
    spend("k", 1, bus_queue_);
    EXPECT_EQ(urged_, 2);
    health_.received(time_);
    take(bus_queue_);
    spend("k", 25, bus_queue_);
    EXPECT_EQ(urged_, 2);
    EXPECT_EQ(announced_.size(), 3U);
}

}  // namespace
}  // namespace sluice
