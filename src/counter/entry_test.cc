#include "counter/entry.h"

#include <cstring>
#include <deque>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr Duration kSecond{1'000};

constexpr UnixTime at(std::int64_t ms) {
    return UnixTime{Duration{ms}};
}

// Keys borrow their requests, which therefore live as long as the tests.
LimitKey key_of(const Request& request) {
    static std::deque<Request> requests;
    return {requests.emplace_back(request), KeyHash(1)};
}
LimitKey key_for(std::string_view identifier) {
    return key_of(
        {.workspace = "w", .name_space = "n", .identifier = identifier, .duration = kSecond});
}

class EntryTest : public testing::Test {
  protected:
    Entry entry_{key_for("id"), at(100'500), at(0), Sharing::kAlone};
};

TEST_F(EntryTest, BeginsAtTheTimeOfItsFirstRequest) {
    EXPECT_EQ(entry_.high(), 100);
    EXPECT_EQ(entry_.locate(at(100'250)).elapsed, Duration{250});
}

TEST_F(EntryTest, MovesOnAndKeepsTheCellsThatStillMatter) {
    entry_.admitted(100).add(100, 7);
    EXPECT_EQ(entry_.locate(at(102'000)).sequence, 102);
    EXPECT_EQ(entry_.spent(100), 7U);
    EXPECT_EQ(entry_.spent(101), 0U);
    entry_.locate(at(103'000));
    EXPECT_EQ(entry_.spent(100), 0U);
}

TEST_F(EntryTest, DecidesAStepBackOfOneWindowAtItsOwnTime) {
    entry_.locate(at(102'000));
    const Instant back = entry_.locate(at(101'900));
    EXPECT_EQ(back.sequence, 101);
    EXPECT_EQ(back.elapsed, Duration{900});
    EXPECT_EQ(entry_.high(), 102);
}

TEST_F(EntryTest, DecidesARequestThatIsLateByTwoWindowsAtTheOldestInstantHeld) {
    entry_.locate(at(105'000));
    const Instant back = entry_.locate(at(103'900));
    EXPECT_EQ(back.sequence, 104);
    EXPECT_EQ(back.elapsed, Duration::zero());
    EXPECT_EQ(entry_.starts_over_in(at(103'900)), std::nullopt);
}

TEST_F(EntryTest, DecidesALargerStepBackWithWhatWasSpentAhead) {
    entry_.locate(at(160'500));
    const Instant back = entry_.locate(at(100'900));
    EXPECT_EQ(back.sequence, 160);
    EXPECT_EQ(back.elapsed, Duration::zero());
}

TEST_F(EntryTest, StartsOverWhereNothingCountsThatWasSpentBeforeTheLeap) {
    entry_.locate(at(160'500));
    for (const std::int64_t back : {100'000, 100'999, 101'000, 101'999}) {
        EXPECT_EQ(entry_.starts_over_in(at(back)), 102) << back;
        EXPECT_FALSE(entry_.must_start_over(at(back))) << back;
    }
    for (const std::int64_t back : {10'000, 99'999, 102'000, 157'999}) {
        EXPECT_EQ(entry_.starts_over_in(at(back)), back / 1'000) << back;
        EXPECT_TRUE(entry_.must_start_over(at(back))) << back;
    }
    EXPECT_EQ(entry_.starts_over_in(at(158'000)), std::nullopt);
}

TEST_F(EntryTest, RemembersWhereItLeaptFromWhileItMovesOn) {
    entry_.locate(at(160'500));
    for (std::int64_t now = 161'000; now < 170'000; now += 1'000)
        entry_.locate(at(now));
    EXPECT_EQ(entry_.starts_over_in(at(100'000)), 102);
    entry_.locate(at(180'000));
    EXPECT_EQ(entry_.starts_over_in(at(100'000)), 100);
    EXPECT_EQ(entry_.starts_over_in(at(169'000)), 171);
}

TEST_F(EntryTest, CanBeClosedOnlyWhereItStands) {
    EXPECT_FALSE(entry_.close(99));
    EXPECT_TRUE(entry_.close(100));
    EXPECT_EQ(entry_.locate(at(101'000)).sequence, Entry::kClosed);
    EXPECT_FALSE(entry_.must_start_over(at(0)));
}

TEST_F(EntryTest, DecidesNothingBeforeWhatWasForgotten) {
    Entry entry{key_for("id"), at(100'500), at(104'700), Sharing::kAlone};
    EXPECT_EQ(entry.locate(at(100'500)).sequence, 104);
    EXPECT_EQ(entry.locate(at(103'999)).sequence, 104);
    entry.locate(at(105'000));
    EXPECT_EQ(entry.locate(at(104'100)).sequence, 104);
    EXPECT_EQ(entry.locate(at(103'100)).sequence, 104);
}

TEST_F(EntryTest, FollowsARingThatMovedBeforeItsNewestSequenceWasStored) {
    // The state after a thread stopped between opening the cells of 102 and storing 102.
    for (const Sequence sequence : {102, 103}) {
        CellCount& count = entry_.admitted(sequence);
        count.reopen(count.load(), sequence);
    }
    const Instant asked{.sequence = 100, .elapsed = Duration{500}};
    ASSERT_FALSE(entry_.admitted(99).load().belongs_to(99));
    const Instant moved = entry_.relocate(asked, at(100'500));
    EXPECT_EQ(entry_.high(), 102);
    EXPECT_EQ(moved.sequence, 101);
    EXPECT_EQ(moved.elapsed, Duration::zero());
}

TEST_F(EntryTest, OpensEachCellEmptyHoweverFarItLeaps) {
    Sequence sequence = 100;
    for (const Sequence leap : {1, 2, 3, 4, 5, 3'999, 7, 3'999, 3'999, 1}) {
        entry_.admitted(sequence).add(sequence, 9);
        entry_.raise_peers(sequence, 3);
        entry_.raise_global(sequence + 1, 2);
        sequence += leap;
        ASSERT_EQ(entry_.locate(start_of(sequence, kSecond)).sequence, sequence);
        ASSERT_EQ(entry_.spent(sequence), leap == 1 ? 2U : 0U) << "after a leap of " << leap;
        ASSERT_EQ(entry_.spent(sequence + 1), 0U);
        ASSERT_EQ(entry_.spent(sequence - 1), leap == 1 ? 12U : leap == 2 ? 2U : 0U);
    }
}

TEST_F(EntryTest, IsOutgrownOnlyWhenLapsCouldBeMistaken) {
    EXPECT_FALSE(entry_.outgrown(at(4'099'999)));
    EXPECT_TRUE(entry_.outgrown(at(4'100'000)));
}

// Whatever its windows are, so that a thread that finds it takes another one.
TEST_F(EntryTest, IsOutgrownOnceItIsClosed) {
    ASSERT_TRUE(entry_.close_if_dead(at(103'000)).has_value());
    EXPECT_TRUE(entry_.outgrown(at(103'000)));
}

TEST_F(EntryTest, MergesCountsOfPeersAndRegionsByMaximum) {
    EXPECT_TRUE(entry_.raise_peers(100, 4));
    EXPECT_TRUE(entry_.raise_peers(100, 2));
    EXPECT_TRUE(entry_.raise_global(100, 5));
    EXPECT_TRUE(entry_.raise_global(101, 8));
    EXPECT_FALSE(entry_.raise_global(102, 8));
    EXPECT_FALSE(entry_.raise_peers(97, 8));
    EXPECT_EQ(entry_.foreign(100), 9U);
    EXPECT_EQ(entry_.foreign(101), 8U);
    EXPECT_EQ(entry_.admitted(100).of(100), 0U);
}

TEST_F(EntryTest, CountsAsUnsyncedWhatTheOriginHasNotAcknowledged) {
    entry_.admitted(99).add(99, 5);
    entry_.admitted(100).add(100, 7);
    EXPECT_EQ(entry_.unsynced(100), 12U) << "nothing was acknowledged";
    entry_.set_synced(99, 3);
    EXPECT_EQ(entry_.unsynced(100), 9U) << "2 of the previous cell are not";
    entry_.set_synced(100, 4);
    EXPECT_EQ(entry_.unsynced(100), 3U) << "the previous cell was written as well";
    entry_.set_synced(100, 9);
    EXPECT_EQ(entry_.unsynced(100), 0U) << "credit";
    EXPECT_EQ(entry_.unsynced(99), 5U) << "of an older cell nothing is known";
    entry_.set_synced(97, 100);
    EXPECT_EQ(entry_.unsynced(100), 12U);
}

TEST_F(EntryTest, BoundsWhatTheOriginMayHoldOfIt) {
    entry_.admitted(100).add(100, 5);
    EXPECT_EQ(entry_.most_at_origin(100), 5U) << "it was never asked";
    entry_.set_credit(100, 3);
    EXPECT_EQ(entry_.most_at_origin(100), 8U);
    EXPECT_EQ(entry_.credit(99), kMaxCount) << "of an earlier cell it is not known any more";
    EXPECT_EQ(entry_.credit(101), 0U);
    entry_.set_credit(99, 0);
    EXPECT_EQ(entry_.credit(100), 3U) << "a late call changes nothing";
    entry_.set_credit(100, 0);
    EXPECT_EQ(entry_.most_at_origin(100), 5U);
    entry_.set_credit(100, Count{1} << 30U);
    EXPECT_EQ(entry_.most_at_origin(100), kMaxCount);
}

TEST_F(EntryTest, IsUrgentOnceUntilItIsFlushed) {
    EXPECT_TRUE(entry_.begin_urgent());
    EXPECT_FALSE(entry_.begin_urgent());
    entry_.end_urgent();
    EXPECT_TRUE(entry_.begin_urgent());
}

TEST_F(EntryTest, ComparesKeysWhole) {
    const std::string long_text(2'000, 'x');
    for (const std::string& text : {std::string("i"),
                                    std::string("seven77"),
                                    std::string("sixteen bytes..."),
                                    std::string("longer than sixteen bytes"),
                                    long_text}) {
        const Entry entry{key_for(text), at(0), at(0), Sharing::kAlone};
        EXPECT_TRUE(entry.has_key(key_for(text)));
        EXPECT_EQ(entry.key().identifier, text);
        EXPECT_EQ(entry.key().workspace, "w");
        for (std::size_t i = 0; i < text.size(); ++i) {
            std::string other = text;
            other[i] ^= 1;
            ASSERT_FALSE(entry.has_key(key_for(other))) << "byte " << i << " of " << text.size();
        }
        EXPECT_FALSE(entry.has_key(key_for(text + "x")));
    }
}

TEST(LimitKey, KeepsPartsApartWhereverTheSeparatorFalls) {
    const auto key =
        [](std::string_view workspace, std::string_view name_space, Duration duration) {
            return key_of({.workspace = workspace,
                           .name_space = name_space,
                           .identifier = "i",
                           .duration = duration});
        };
    const Entry entry{key("ab", "c", kSecond), at(0), at(0), Sharing::kAlone};
    EXPECT_TRUE(entry.has_key(key("ab", "c", kSecond)));
    EXPECT_FALSE(entry.has_key(key("a", "bc", kSecond)));
    EXPECT_FALSE(entry.has_key(key("ab", "c", Duration{1'001})));
    EXPECT_NE(key("ab", "c", kSecond).hash(), key("a", "bc", kSecond).hash());
    EXPECT_NE(key("ab", "c", kSecond).hash(), key("c", "ab", kSecond).hash());
    EXPECT_NE(key("ab", "c", kSecond).hash(), key("ab", "c", Duration{1'001}).hash());
}

// A client that chooses both must not be able to fill one bucket.
TEST(LimitKey, DoesNotLetTheIdentifierCancelTheDuration) {
    std::set<std::uint64_t> hashes;
    for (std::uint32_t ms = 0x2020'2020; ms < 0x2020'2020 + 1'000; ++ms) {
        std::string identifier = "AAAAAAAABBBB0000";
        std::memcpy(identifier.data() + 12, &ms, sizeof ms);
        hashes.insert(key_of({.workspace = "w",
                              .name_space = "n",
                              .identifier = identifier,
                              .duration = Duration{ms}})
                          .hash());
    }
    EXPECT_EQ(hashes.size(), 1'000U);
}

// Two texts of one repeated byte have the same words, whatever their sizes: only the sizes
// distinguish them, and no duration may make up for the difference.
TEST(LimitKey, DoesNotLetTheDurationCancelTheSizeOfATextInTheHash) {
    const auto key = [](std::string_view identifier, std::int64_t duration_ms) {
        return key_of({.workspace = "w",
                       .name_space = "n",
                       .identifier = identifier,
                       .duration = Duration{duration_ms}});
    };
    EXPECT_NE(key("aaaaaaaa", 0x18'0000).hash(), key("aaaaaaaaa", 0x19'0000).hash());
    std::set<std::uint64_t> hashes;
    const std::string text(kShortBytes, 'a');
    for (std::size_t size = 8; size <= kShortBytes; ++size) {
        for (int bit = 10; bit < 31; ++bit)
            hashes.insert(key({text.data(), size}, std::int64_t{1} << bit).hash());
    }
    EXPECT_EQ(hashes.size(), 9U * 21U);
}

TEST(SharedEntry, KnowsNoPeerCountsUntilItWasRefreshed) {
    Entry entry{key_for("id"), at(100'000), at(0), Sharing::kShared};
    EXPECT_EQ(entry.refreshed_at(), Entry::kNever);
    entry.set_refreshed(at(105'000));
    EXPECT_EQ(entry.refreshed_at(), at(105'000));
}

TEST(SharedEntry, IsStrictUntilTheLatestDeadline) {
    Entry entry{key_for("id"), at(100'000), at(0), Sharing::kShared};
    EXPECT_FALSE(entry.is_strict(at(100'000)));
    EXPECT_TRUE(entry.make_strict(at(100'000), at(103'000)));
    EXPECT_FALSE(entry.make_strict(at(100'000), at(101'000)));
    EXPECT_FALSE(entry.make_strict(at(102'000), at(104'000))) << "it was strict already";
    EXPECT_TRUE(entry.is_strict(at(103'999)));
    EXPECT_FALSE(entry.is_strict(at(104'000)));
    EXPECT_TRUE(entry.make_strict(at(104'000), at(105'000)));
}

TEST(SharedEntry, HasNoYoungViewWhileStrict) {
    Entry entry{key_for("id"), at(100'000), at(0), Sharing::kShared};
    entry.make_strict(at(99'000), at(100'500));
    EXPECT_EQ(entry.refreshed_at(), Entry::kNever) << "a denial reads nothing";
    entry.set_refreshed(at(100'499));
    EXPECT_EQ(entry.refreshed_at(), Entry::kStrict);
    entry.set_refreshed(at(100'500));
    EXPECT_EQ(entry.refreshed_at(), at(100'500));
    entry.make_strict(at(100'600), at(160'600));
    EXPECT_EQ(entry.refreshed_at(), Entry::kStrict);
}

TEST(SharedEntry, IsNotStrictUntilADeadlineOfAClockThatWasAhead) {
    const Request request{
        .workspace = "w", .name_space = "n", .identifier = "id", .duration = 1'800 * kSecond};
    constexpr std::int64_t kNow = 100 * 1'800'000;
    constexpr std::int64_t kAhead = kNow + 3'600'000;
    Entry entry{key_of(request), at(kNow), at(0), Sharing::kShared};
    entry.make_strict(at(kAhead), at(kAhead + 1'800'000));
    EXPECT_TRUE(entry.is_strict(at(kAhead)));
    EXPECT_FALSE(entry.is_strict(at(kNow)));
    EXPECT_TRUE(entry.make_strict(at(kNow), at(kNow + 1'800'000))) << "by a new denial";
    EXPECT_EQ(entry.strict_until(), at(kNow + 1'800'000));
    entry.make_strict(at(kAhead), at(kAhead + 1'800'000));
    entry.set_refreshed(at(kNow + 1'800'000 - 1));
    EXPECT_EQ(entry.refreshed_at(), at(kNow + 1'800'000 - 1));
    EXPECT_FALSE(entry.is_strict(at(kAhead))) << "and not when that time comes";
}

// Two sequences that are equal in the bits which are kept of them.
constexpr Sequence kSynced = 100;
constexpr Sequence kSame = kSynced + 2'048;

TEST(SharedEntry, ForgetsWhatWasSyncedBeforeALeap) {
    Entry entry{key_for("id"), at(kSynced * 1'000), at(0), Sharing::kShared};
    entry.set_synced(kSynced, 50);
    entry.locate(at(kSame * 1'000));
    entry.admitted(kSame).add(kSame, 10);
    EXPECT_EQ(entry.unsynced(kSame), 10U);
}

TEST(SharedEntry, ForgetsWhatWasSyncedManyWindowsAgo) {
    Entry entry{key_for("id"), at(kSynced * 1'000), at(0), Sharing::kShared};
    entry.set_synced(kSynced, 50);
    entry.locate(at((kSynced + 1) * 1'000));
    EXPECT_EQ(entry.unsynced(kSynced, {.current = 60, .previous = 0}), 10U) << "still the previous";
    for (Sequence sequence = kSynced; sequence <= kSame; ++sequence)
        entry.locate(at(sequence * 1'000));
    entry.admitted(kSame).add(kSame, 10);
    EXPECT_EQ(entry.unsynced(kSame), 10U);
}

TEST(SharedEntry, KeepsItsIncarnation) {
    const Entry entry{key_for("id"), at(0), at(0), Sharing::kShared, 0x0123'4567};
    EXPECT_EQ(entry.incarnation(), 0x0123'4567U);
}

}  // namespace
}  // namespace sluice
