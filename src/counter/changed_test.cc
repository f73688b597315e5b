#include "counter/changed.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};
constexpr UnixTime kNow{Duration{600'000}};
constexpr Sequence kSequence = 10;

class ChangedTest : public testing::Test {
  protected:
    // Keys borrow their requests; one for each thread is enough, as no test uses two keys at a
    // time.
    LimitKey key(std::string_view identifier) {
        static thread_local Request request;
        request = {
            .workspace = "w", .name_space = "n", .identifier = identifier, .duration = kMinute};
        return table_->key(request);
    }
    Entry& entry(std::string_view identifier) {
        Instant at{};
        return table_->entry_for(key(identifier), kNow, at);
    }
    void spend(std::string_view identifier, Count cost) {
        const EpochPin pin;
        Entry& spent = entry(identifier);
        spent.admitted(kSequence).add(kSequence, cost);
        table_->settle(spent, kSequence, cost, key(identifier).hashed_request().request);
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 1'000, .sharing = Sharing::kShared, .seed = 1});
    ChangedList& changed_ = table_->changed();
};

TEST_F(ChangedTest, ListsAnEntryOnceHoweverOftenItChanges) {
    spend("a", 1);
    spend("a", 2);
    spend("b", 4);
    const auto taken = changed_.take();
    ASSERT_EQ(taken.changed.size(), 2U);
    EXPECT_EQ(taken.changed[0], &entry("b"));
    EXPECT_EQ(Components(*taken.changed[1]).of(kSequence), 3U);
    EXPECT_TRUE(changed_.take().changed.empty());
}

TEST_F(ChangedTest, HandsOutUrgentEntriesOnceAndInOrder) {
    int woken = 0;
    changed_.set_wake([&woken] { ++woken; });
    for (const char* identifier : {"a", "b", "a"}) {
        spend(identifier, 1);
        changed_.urge(entry(identifier));
    }
    EXPECT_EQ(woken, 2);
    EXPECT_EQ(changed_.take_urgent(),
              (std::vector<std::uint64_t>{entry("a").hash(), entry("b").hash()}));
    EXPECT_TRUE(changed_.take_urgent().empty());
    entry("a").end_urgent();
    changed_.urge(entry("a"));
    EXPECT_EQ(changed_.take_urgent().size(), 1U);
}

TEST_F(ChangedTest, KeepsTheLatestOfManyUrgentEntries) {
    for (int i = 0; i < 700; ++i)
        changed_.urge(entry(std::to_string(i)));
    const auto hashes = changed_.take_urgent();
    ASSERT_EQ(hashes.size(), 256U);
    EXPECT_EQ(hashes.back(), entry("699").hash());
}

TEST_F(ChangedTest, KeepsAnEntryListedThatChangedWhileItWasTaken) {
    spend("a", 1);
    Entry& a = *changed_.take().changed.at(0);
    const Components written(a);
    spend("a", 1);
    EXPECT_TRUE(changed_.take().changed.empty()) << "handed out twice at a time";
    EXPECT_TRUE(changed_.release(a, written));
    EXPECT_EQ(changed_.take().changed, std::vector{&a});
    EXPECT_TRUE(changed_.release(a, Components(a)));
    EXPECT_TRUE(changed_.take().changed.empty());
    EXPECT_FALSE(a.is_unsynced());
}

TEST_F(ChangedTest, KeepsAnEntryListedUntilWhatIsAdmittedIsSettled) {
    spend("a", 1);
    Entry& a = entry("a");
    a.begin_holding(5);
    a.admitted(kSequence).add(kSequence, 5);
    ASSERT_TRUE(changed_.mark(a));
    ASSERT_EQ(changed_.take().changed.size(), 1U);
    EXPECT_EQ(Components(a).of(kSequence), 1U) << "what a batch holds was counted";
    EXPECT_TRUE(changed_.release(a, Components(a)));
    ASSERT_EQ(changed_.take().changed.size(), 1U) << "an unfinished batch was forgotten";
    a.admitted(kSequence).subtract(kSequence, 5);
    a.end_holding(5);
    EXPECT_TRUE(changed_.release(a, Components(a)));
    EXPECT_TRUE(changed_.take().changed.empty());
}

TEST_F(ChangedTest, ComponentsExcludeWhatABatchIsAboutToHold) {
    spend("a", 3);
    Entry& a = entry("a");
    a.begin_holding(kMaxCount);
    a.begin_holding(kMaxCount);
    EXPECT_EQ(Components(a).of(kSequence), 0U);
    a.end_holding(kMaxCount);
    a.end_holding(kMaxCount);
    EXPECT_EQ(Components(a).of(kSequence), 3U);
}

TEST_F(ChangedTest, AnEntryThatChangesWhileLeavingStays) {
    Entry& a = entry("a");
    ASSERT_TRUE(ChangedList::leave(a));
    EXPECT_TRUE(a.is_leaving());
    EXPECT_FALSE(a.is_unsynced());
    EXPECT_FALSE(ChangedList::leave(a));
    spend("a", 1);
    EXPECT_FALSE(ChangedList::retire_leaving(a));
    EXPECT_EQ(changed_.take().changed, std::vector{&a});
    EXPECT_TRUE(changed_.release(a, Components(a)));
    ASSERT_TRUE(ChangedList::leave(a));
    EXPECT_TRUE(ChangedList::retire_leaving(a));
    EXPECT_FALSE(changed_.mark(a));
}

TEST_F(ChangedTest, IsNotRetiredBeforeItIsSynced) {
    spend("a", 1);
    Entry& a = entry("a");
    EXPECT_FALSE(ChangedList::leave(a));
    ASSERT_EQ(changed_.take().changed.size(), 1U);
    EXPECT_FALSE(ChangedList::leave(a));
    EXPECT_TRUE(changed_.release(a, Components(a)));
    EXPECT_TRUE(ChangedList::leave(a));
    EXPECT_TRUE(ChangedList::retire_leaving(a));
    EXPECT_FALSE(changed_.mark(a)) << "a retired entry must send its spender elsewhere";
}

TEST_F(ChangedTest, HandsARetiredEntryToItsLastHolder) {
    spend("listed", 1);
    EXPECT_FALSE(ChangedList::retire(entry("listed")));
    auto taken = changed_.take();
    EXPECT_TRUE(taken.changed.empty());
    ASSERT_EQ(taken.retired.size(), 1U);
    spend("taken", 1);
    Entry& held = *changed_.take().changed.at(0);
    EXPECT_FALSE(ChangedList::retire(held));
    EXPECT_FALSE(changed_.release(held, Components(held)));
    EXPECT_TRUE(ChangedList::retire(entry("idle")));
}

// Threads spend, one consumer takes and releases: in the end it has written every cost, exactly.
TEST_F(ChangedTest, WritesEverythingUnderRealThreads) {
    constexpr int kThreads = 3;
    constexpr int kRounds = 20'000;
    const std::vector<std::string> names{"a", "b", "c", "d"};
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < kRounds; ++i)
                spend(names[static_cast<std::size_t>(i + t) % names.size()], 1);
            running.fetch_sub(1);
        });
    }
    std::vector<std::pair<const Entry*, Count>> written(names.size());
    bool last = false;
    for (;;) {
        const auto taken = changed_.take();
        for (Entry* entry : taken.changed) {
            const Components components(*entry);
            auto slot = std::ranges::find_if(written, [&](const auto& pair) {
                return pair.first == entry || pair.first == nullptr;
            });
            *slot = {entry, components.all()[2].count};
            ASSERT_EQ(components.all()[2].sequence, kSequence);
            ASSERT_TRUE(changed_.release(*entry, components));
        }
        if (last && taken.changed.empty()) break;
        last = running.load() == 0;
    }
    for (std::thread& thread : threads)
        thread.join();
    Count sum = 0;
    for (const auto& [entry, count] : written)
        sum += count;
    EXPECT_EQ(sum, static_cast<Count>(kThreads) * kRounds);
}

}  // namespace
}  // namespace sluice
