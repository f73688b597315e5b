#include "counter/table.h"

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "counter/epoch.h"

namespace sluice {
namespace {

constexpr Duration kSecond{1'000};
constexpr UnixTime kNow{Duration{1'000'000}};

class TableTest : public testing::Test {
  protected:
    void open(std::size_t max_keys, Sharing sharing = Sharing::kAlone) {
        table_ = *Table::create({.max_keys = max_keys, .sharing = sharing, .seed = 42});
    }
    // Keys borrow their requests; one for each thread is enough, as no test uses two keys at a
    // time.
    LimitKey key(std::string_view identifier) {
        static thread_local Request request;
        request = {
            .workspace = "w", .name_space = "n", .identifier = identifier, .duration = kSecond};
        return table_->key(request);
    }
    Entry& use(std::string_view identifier, Count spend, Count limit, UnixTime now = kNow) {
        Instant at{};
        Entry& entry = table_->entry_for(key(identifier), now, at);
        const Sequence sequence = at.sequence;
        entry.note_use(limit, now);
        entry.admitted(sequence).add(sequence, spend);
        return entry;
    }

    std::unique_ptr<Table> table_;
    std::optional<EpochPin> pin_{std::in_place};
};

// A key borrows its request.
template <class T>
concept TakesTemporaries = requires(const T& table) {
    table.key(Request{});
};
static_assert(!TakesTemporaries<Table>);

TEST_F(TableTest, FindsEveryKeyWhileItGrows) {
    open(100'000);
    std::set<const Entry*> entries;
    for (int i = 0; i < 50'000; ++i)
        entries.insert(&use("key " + std::to_string(i), 1, 10));
    EXPECT_EQ(entries.size(), 50'000U);
    EXPECT_EQ(table_->tally().held(), 50'000U);
    for (int i = 0; i < 50'000; ++i) {
        const std::string name = "key " + std::to_string(i);
        const Entry* const entry = table_->find(key(name));
        ASSERT_TRUE(entry != nullptr && entry->key().identifier == name) << name;
    }
    EXPECT_EQ(table_->find(key("another")), nullptr);
}

TEST_F(TableTest, EvictsTheLeastUsedFirst) {
    open(64);
    for (int i = 0; i < 32; ++i)
        use("busy " + std::to_string(i), 9, 10);
    for (int i = 0; i < 32; ++i)
        use("small " + std::to_string(i), 1, 10);
    for (int i = 0; i < 640; ++i)
        use("flood " + std::to_string(i), 1, 10);
    EXPECT_EQ(table_->tally().held(), 64U);
    EXPECT_EQ(table_->tally().evicted.load(), 640U);
    for (int i = 0; i < 32; ++i)
        EXPECT_NE(table_->find(key("busy " + std::to_string(i))), nullptr);
}

TEST_F(TableTest, DoesNotLetManySmallLimitsDisplaceALargeOne) {
    open(64);
    use("large", 95, 100);
    for (int i = 0; i < 640; ++i)
        use("used up " + std::to_string(i), 1, 1);
    EXPECT_NE(table_->find(key("large")), nullptr);
}

TEST_F(TableTest, RemovesWhatHasExpiredStepByStep) {
    open(1'000'000);
    for (int i = 0; i < 5'000; ++i)
        use("old " + std::to_string(i), 1, 10);
    for (int i = 0; i < 5'000; ++i)
        use("new " + std::to_string(i), 1, 10, kNow + 10 * kSecond);
    EXPECT_EQ(table_->tally().evicted.load(), 0U);
    EXPECT_GT(table_->tally().expired.load(), 3'900U);
    EXPECT_LT(table_->tally().held(), 6'200U);
}

// A thread that has found an entry, and stops there while the entry expires, must not spend in it.
TEST_F(TableTest, ClosesAnEntryBeforeItExpires) {
    open(1'000'000);
    Entry& found = use("slow", 1, 10);
    const UnixTime later = kNow + 10 * kSecond;
    for (int i = 0; table_->find(key("slow")) != nullptr; ++i) {
        ASSERT_LT(i, 100'000);
        use("other " + std::to_string(i), 1, 10, later);
    }
    EXPECT_EQ(found.locate(later).sequence, Entry::kClosed);
    Instant at{};
    EXPECT_NE(&table_->entry_for(key("slow"), later, at), &found);
    EXPECT_EQ(at.sequence, instant_at(later, kSecond).sequence);
}

TEST_F(TableTest, ReplacesAnEntryThatWasOutgrown) {
    open(100);
    use("sleeper", 5, 10);
    const UnixTime later = kNow + 100'000'000 * kSecond;
    const Entry& entry = use("sleeper", 1, 10, later);
    EXPECT_EQ(entry.spent(entry.high()), 1U);
    EXPECT_EQ(table_->tally().held(), 1U);
}

// A thread that found the entry before it was replaced, and whose own time has not outgrown it,
// must not spend in an entry that is out of the table.
TEST_F(TableTest, ClosesAnEntryThatWasOutgrownBeforeItIsReplaced) {
    for (const Sharing sharing : {Sharing::kAlone, Sharing::kShared}) {
        open(100, sharing);
        Entry& found = use("sleeper", 5, 10);
        const UnixTime outgrown = kNow + 4'000 * kSecond;
        const UnixTime before = outgrown - kSecond;
        ASSERT_FALSE(found.outgrown(before));
        const Entry& successor = use("sleeper", 0, 10, outgrown);
        ASSERT_NE(&successor, &found);
        EXPECT_EQ(found.locate(before).sequence, Entry::kClosed);
        EXPECT_EQ(&use("sleeper", 10, 10, before), &successor);
        EXPECT_EQ(successor.spent(instant_at(before, kSecond).sequence), 10U);
        EXPECT_EQ(table_->tally().held(), 1U);
        EXPECT_EQ(table_->tally().expired.load(), 1U);
    }
}

TEST_F(TableTest, KeepsUnsyncedEntriesEvenAtTheCap) {
    open(8, Sharing::kShared);
    for (int i = 0; i < 8; ++i) {
        Entry& entry = use("synced " + std::to_string(i), 1, 10);
        if (i < 4) {
            ASSERT_TRUE(table_->changed().mark(entry));
        }
    }
    for (int i = 0; i < 100; ++i) {
        use("flood " + std::to_string(i), 1, 10);
        pin_.emplace();  // leaving entries are removed when no reader can see them
    }
    for (int i = 0; i < 4; ++i)
        EXPECT_NE(table_->find(key("synced " + std::to_string(i))), nullptr);
    EXPECT_LE(table_->tally().held(), 8U + 4U) << "those on their way out aside";
    EXPECT_GT(table_->tally().evicted.load(), 90U);
}

TEST_F(TableTest, KeepsAnEntryThatIsUsedWhileLeaving) {
    open(4, Sharing::kShared);
    const Entry& used = use("used", 1, 10);
    for (int i = 0; i < 100; ++i) {
        use("flood " + std::to_string(i), 1, 10);
        pin_.emplace();
        if (!used.is_leaving()) continue;
        Entry& again = use("used", 1, 10);
        ASSERT_EQ(&again, &used);
        const Request request{
            .workspace = "w", .name_space = "n", .identifier = "used", .duration = kSecond};
        table_->settle(again, again.high(), 1, request);
        const auto taken = table_->changed().take();
        ASSERT_EQ(taken.changed.size(), 1U);
        ASSERT_TRUE(table_->changed().release(again, Components(again)));
        break;
    }
    EXPECT_EQ(table_->find(key("used")), &used);
    EXPECT_EQ(used.spent(used.high()), 2U);
}

TEST_F(TableTest, SettlesInTheSuccessorOfAnEntryThatWasRemoved) {
    open(100, Sharing::kShared);
    Entry& removed = use("a", 3, 10);
    ASSERT_TRUE(ChangedList::leave(removed) && ChangedList::retire_leaving(removed));
    // The table's own removal follows the same steps; a retired entry that is still linked stands
    // in for it here.
    const UnixTime later = kNow + 10'000 * kSecond;
    Entry& successor = use("a", 0, 10, later);
    ASSERT_NE(&successor, &removed);
    const Sequence sequence = successor.high();
    table_->settle(removed, sequence, 3, key("a").hashed_request().request);
    EXPECT_EQ(successor.admitted(sequence).of(sequence), 3U);
    EXPECT_EQ(Components(successor).of(sequence), 3U);
    EXPECT_TRUE(successor.is_unsynced());
}

// The watcher of new keys gives an entry its imported counts before the first decision.
TEST_F(TableTest, ShowsEachNewEntryToItsWatcherBeforeItIsUsed) {
    open(100, Sharing::kShared);
    std::vector<std::string> made;
    table_->watch_new_keys([&](Entry& entry) {
        made.emplace_back(entry.key().identifier);
        entry.raise_global(entry.high(), 4);
    });
    EXPECT_EQ(use("a", 1, 10).spent(instant_at(kNow, kSecond).sequence), 5U);
    use("b", 1, 10);
    EXPECT_EQ(use("a", 1, 10).spent(instant_at(kNow, kSecond).sequence), 6U);
    EXPECT_EQ(made, (std::vector<std::string>{"a", "b"}));
}

TEST_F(TableTest, ShowsAnEntryThatReplacesAnOutgrownOne) {
    open(100);
    int made = 0;
    table_->watch_new_keys([&](Entry&) { ++made; });
    use("sleeper", 5, 10);
    use("sleeper", 1, 10, kNow + kSecond);
    EXPECT_EQ(made, 1);
    use("sleeper", 1, 10, kNow + 100'000'000 * kSecond);
    EXPECT_EQ(made, 2);
}

TEST_F(TableTest, FindsExactlyWhatItHolds) {
    open(100'000);
    for (int i = 0; i < 2'000; ++i)
        use("key " + std::to_string(i), 1, 10);
    for (int i = 0; i < 2'000; ++i) {
        const std::string name = "key " + std::to_string(i);
        const Entry* const entry = table_->find_exactly(key(name));
        ASSERT_TRUE(entry != nullptr && entry->key().identifier == name) << name;
    }
    EXPECT_EQ(table_->find_exactly(key("another")), nullptr);
    EXPECT_EQ(table_->tally().held(), 2'000U) << "a lookup makes no entry";
}

// find() may miss an entry that another thread moves to another bucket; find_exactly() may not.
TEST_F(TableTest, FindsExactlyWhileTheTableGrows) {
    open(100'000);
    const Entry* const held = &use("held", 1, 10);
    std::atomic<bool> has_grown{false};
    std::thread growing([&] {
        const EpochPin pin;
        for (int i = 0; i < 30'000; ++i) {
            const std::string name = "other " + std::to_string(i);
            Instant at{};
            table_->entry_for(key(name), kNow, at);
        }
        has_grown = true;
    });
    int missed = 0;
    while (!has_grown)
        missed += table_->find_exactly(key("held")) == held ? 0 : 1;
    growing.join();
    EXPECT_EQ(missed, 0);
}

constexpr std::array kDurations = {kSecond,
                                   Duration{1'500},
                                   60 * kSecond,
                                   3'600 * kSecond,
                                   86'400 * kSecond,
                                   30 * 86'400 * kSecond};

// A table of keys with windows of several durations, in which entries expire all the time.
class JumpingClockTest : public TableTest {
  protected:
    static constexpr UnixTime kStart{Duration{1'700'000'000'000}};

    static Request request(const std::string& identifier, Duration duration) {
        return {
            .workspace = "w", .name_space = "n", .identifier = identifier, .duration = duration};
    }
    Instant ask(const std::string& identifier, Duration duration, UnixTime now) {
        const Request asked = request(identifier, duration);
        Instant at{};
        table_->entry_for(table_->key(asked), now, at);
        return at;
    }
    bool is_held(const std::string& identifier, Duration duration) {
        const Request asked = request(identifier, duration);
        return table_->find(table_->key(asked)) != nullptr;
    }
    // Makes `count` keys of each duration.
    void ask_new_keys(int count, UnixTime now) {
        for (int i = 0; i < count; ++i) {
            for (const Duration duration : kDurations)
                ask("k" + std::to_string(next_++), duration, now);
        }
    }
    // Whether the requests for a new key, 60 of them in 60 windows, are decided each in its own.
    void expect_new_keys_keep_time(UnixTime from) {
        for (const Duration duration : kDurations) {
            const std::string identifier = "new" + std::to_string(next_++);
            for (int i = 0; i < 60; ++i) {
                const UnixTime now = from + i * duration;
                ASSERT_EQ(ask(identifier, duration, now).sequence,
                          instant_at(now, duration).sequence)
                    << duration.count() << " ms, request " << i;
            }
        }
    }

    int next_ = 0;
};

TEST_F(JumpingClockTest, OneTimestampFarAheadDoesNotHoldBackNewKeys) {
    for (const int far_keys : {1, 100, 2'000}) {
        open(1'000'000);
        ask_new_keys(300, kStart);
        ASSERT_GE(table_->tally().held(), 1'024U);
        const Duration ten_years{315'360'000'000};
        for (const Duration ahead : {ten_years, 2 * ten_years})
            ask_new_keys(far_keys, kStart + ahead);
        ASSERT_GT(table_->tally().expired.load(), 0U);
        expect_new_keys_keep_time(kStart);
    }
}

// Also one that is further ahead than laps of a ring can tell apart.
TEST_F(JumpingClockTest, AKeyThatWasUsedFarAheadStartsOverWithinTwoWindows) {
    for (const Duration ahead : {10 * kSecond, 3'600 * kSecond, 10'000 * kSecond}) {
        open(1'000);
        use("k", 7, 10, kStart);
        const Entry& ahead_of_time = use("k", 3, 10, kStart + ahead);
        const Sequence far = ahead_of_time.high();
        for (const Duration back : {kSecond, Duration{1}, kSecond + Duration{999}}) {
            EXPECT_EQ(ask("k", kSecond, kStart + back).sequence, far);
        }
        EXPECT_EQ(table_->tally().started_over.load(), 0U);
        const Sequence usable = instant_at(kStart, kSecond).sequence + 2;
        EXPECT_EQ(ask("k", kSecond, kStart + 2 * kSecond).sequence, usable);
        const Entry& again = use("k", 0, 10, kStart + 2 * kSecond);
        EXPECT_EQ(again.spent(usable), 0U);
        EXPECT_EQ(table_->tally().started_over.load(), 1U);
        EXPECT_EQ(table_->tally().held(), 1U);
    }
}

// A clock that is ahead expires keys whose counts are in use, and at the origin.
TEST_F(JumpingClockTest, AKeyThatWasExpiredTooEarlyIsANewIncarnation) {
    open(1'000'000, Sharing::kShared);
    const std::uint32_t before = use("k", 1, 10, kStart).incarnation();
    for (int i = 0; table_->find(key("k")) != nullptr; ++i) {
        ASSERT_LT(i, 100'000);
        ask("other " + std::to_string(i), kSecond, kStart + 3'600 * kSecond);
    }
    EXPECT_NE(use("k", 1, 10, kStart).incarnation(), before);
    EXPECT_EQ(table_->tally().started_over.load(), 0U);
}

TEST_F(JumpingClockTest, ATimestampFarAheadDoesNotUndoAStepBack) {
    open(1'000'000);
    ask_new_keys(300, kStart);
    ask_new_keys(1'000, kStart + Duration{315'360'000'000});
    ask_new_keys(300, kStart);
    // Expires what came back, by the true time.
    ask_new_keys(2'000, kStart + 4 * kSecond);
    const Instant back = ask("back", kSecond, kStart + 3 * kSecond);
    EXPECT_EQ(back.sequence, instant_at(kStart, kSecond).sequence + 3);
}

// No new entry decides in a window of which an entry of its key, that has expired, could have held
// counts.
TEST_F(JumpingClockTest, AStepBackOfLessThanTwoWindowsOpensNoBudgetAgain) {
    for (const Duration duration : kDurations) {
        open(1'000'000);
        const std::array back = {
            Duration{1}, duration / 2, duration, 2 * duration - Duration{1}, Duration{0}};
        const auto victim = [](std::size_t i) { return "victim " + std::to_string(i); };
        Sequence used = 0;
        for (std::size_t i = 0; i < back.size(); ++i)
            used = ask(victim(i), duration, kStart).sequence;
        const UnixTime dead_from = start_of(used + 3, duration);
        for (int i = 0; i < 5'000; ++i)
            ask("other " + std::to_string(i), duration, dead_from);
        for (std::size_t i = 0; i < back.size(); ++i) {
            ASSERT_FALSE(is_held(victim(i), duration));
            EXPECT_EQ(ask(victim(i), duration, dead_from - back[i]).sequence, used + 3)
                << duration.count() << " ms, " << back[i].count() << " ms back";
        }
    }
}

// Its former counts at the origin are those of another owner, and not to be taken for its own.
TEST_F(TableTest, AKeyThatStartsOverIsANewIncarnationWithChangesOfItsOwn) {
    open(1'000, Sharing::kShared);
    Entry& ahead = use("k", 3, 10, kNow + 100 * kSecond);
    ASSERT_TRUE(table_->changed().mark(ahead));
    const std::uint32_t before = ahead.incarnation();
    const Entry& again = use("k", 1, 10);
    EXPECT_NE(&again, &ahead);
    EXPECT_NE(again.incarnation(), before);
    EXPECT_TRUE(ahead.is_retired());
    EXPECT_FALSE(again.is_unsynced());
    const ChangedList::Taken taken = table_->changed().take();
    ASSERT_EQ(taken.retired.size(), 1U);
    table_->dispose(*taken.retired.front());
}

// A thread spends far ahead, and is suspended before it marks the entry. Its key has started over
// by then, and the cost is not entered in a window that has not come.
TEST_F(TableTest, ACostThatIsSettledAfterItsKeyStartedOverMovesNothingAhead) {
    open(1'000, Sharing::kShared);
    const UnixTime later = kNow + 100 * kSecond;
    Entry& ahead = use("k", 3, 10, later);
    Entry& again = use("k", 1, 10);
    ASSERT_NE(&again, &ahead);
    const Request request{
        .workspace = "w", .name_space = "n", .identifier = "k", .duration = kSecond};
    table_->settle(ahead, instant_at(later, kSecond).sequence, 3, request);
    EXPECT_EQ(table_->find(key("k")), &again);
    EXPECT_EQ(again.high(), instant_at(kNow, kSecond).sequence);
    // And the other way round: it was spent before the clock stepped forward.
    Entry& far = use("k", 1, 10, later);
    ASSERT_EQ(&far, &again) << "its ring has moved on";
    table_->settle(ahead, instant_at(kNow, kSecond).sequence, 3, request);
    EXPECT_EQ(table_->find(key("k")), &far);
    EXPECT_EQ(far.high(), instant_at(later, kSecond).sequence);
}

TEST(Table, ReportsHowMuchMemoryWasRefused) {
    const auto table =
        Table::create({.max_keys = std::size_t{1} << 52U, .sharing = Sharing::kAlone, .seed = 1});
    ASSERT_FALSE(table.has_value());
    EXPECT_EQ(table.error().code, ErrorCode::kOutOfMemory);
    EXPECT_NE(table.error().message.find("max_keys"), std::string::npos);
}

}  // namespace
}  // namespace sluice
