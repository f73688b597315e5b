#include "global/component_table.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr UnixTime kNow{seconds{1'700'000'040}};
constexpr Duration kDuration{600'000};
const ComponentTable::Time kStart{seconds{1'000}};

bool is_always_held(const StoredKeyId&, std::uint64_t) {
    return true;
}

Sequence sequence() {
    return instant_at(kNow, kDuration).sequence;
}

CellName cell(const std::string& identifier, int windows_ahead = 0) {
    return stored_name({.workspace = "w",
                        .name_space = "n",
                        .identifier = identifier,
                        .duration = kDuration,
                        .sequence = sequence() + windows_ahead});
}

class ComponentTableTest : public testing::Test {
  protected:
    std::optional<ComponentSums> merge(const CellName& cell,
                                       std::string_view region,
                                       Count count,
                                       milliseconds at = {},
                                       ComponentSource source = ComponentSource::kStore) {
        return table_.merge(
            stored_key_id(cell),
            cell,
            {.region = region, .count = count, .source = source, .at = kStart + at});
    }
    ComponentSums sums(const CellName& cell) {
        return table_.sums(stored_key_id(cell), cell.sequence);
    }
    std::vector<ComponentTable::Shown> list(const CellName& cell, milliseconds at) {
        return table_.list(stored_key_id(cell), cell.sequence, kStart + at);
    }

    ComponentTable table_{"own", 64 * 100, is_always_held};
};

TEST_F(ComponentTableTest, EachRegionsComponentIsMergedByMax) {
    merge(cell("k"), "b", 5);
    merge(cell("k"), "c", 3);
    EXPECT_EQ(sums(cell("k")).foreign, 8U);
    merge(cell("k"), "b", 4);
    EXPECT_EQ(sums(cell("k")).foreign, 8U) << "an old count";
    merge(cell("k"), "c", 4);
    const auto after = merge(cell("k"), "b", 5);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->foreign, 9U);
    EXPECT_EQ(table_.cells(), 1U);
}

TEST_F(ComponentTableTest, TheOwnRowIsKeptApart) {
    merge(cell("k"), "own", 7);
    merge(cell("k"), "b", 5);
    EXPECT_EQ(sums(cell("k")).own, 7U);
    EXPECT_EQ(sums(cell("k")).foreign, 5U);
}

TEST_F(ComponentTableTest, CellsAndKeysAreKeptApart) {
    merge(cell("k"), "b", 5);
    merge(cell("k", 1), "b", 6);
    merge(cell("l"), "b", 7);
    CellName other_duration = cell("k");
    other_duration.duration = 2 * kDuration;
    merge(other_duration, "b", 8);
    EXPECT_EQ(sums(cell("k")).foreign, 5U);
    EXPECT_EQ(sums(cell("k", 1)).foreign, 6U);
    EXPECT_EQ(sums(cell("l")).foreign, 7U);
    EXPECT_EQ(sums(other_duration).foreign, 8U);
    EXPECT_EQ(sums(cell("k", 2)).foreign, 0U);
    const auto both = table_.cells_of(stored_key_id(cell("k")));
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].sequence, sequence());
    EXPECT_EQ(both[0].sums.foreign, 5U);
    EXPECT_EQ(both[1].sums.foreign, 6U);
    EXPECT_TRUE(table_.cells_of(stored_key_id(cell("m"))).empty());
}

TEST_F(ComponentTableTest, SumsDontOverflow) {
    merge(cell("k"), "b", kMaxCount);
    merge(cell("k"), "c", ~Count{0});
    EXPECT_EQ(sums(cell("k")).foreign, kMaxCount);
}

TEST_F(ComponentTableTest, ComponentsAreListedByRegionWithTheirAgesAndSources) {
    merge(cell("k"), "c", 3, milliseconds{0}, ComponentSource::kStore);
    merge(cell("k"), "b", 5, milliseconds{100}, ComponentSource::kBus);
    merge(cell("k"), "own", 1, milliseconds{200}, ComponentSource::kStore);
    // The same count in the store does not change how it first came.
    merge(cell("k"), "b", 5, milliseconds{300}, ComponentSource::kStore);
    const auto listed = list(cell("k"), milliseconds{400});
    ASSERT_EQ(listed.size(), 3U);
    EXPECT_EQ(listed[0].region, "b");
    EXPECT_EQ(listed[0].count, 5U);
    EXPECT_EQ(listed[0].source, ComponentSource::kBus);
    EXPECT_EQ(listed[0].age, milliseconds{300});
    EXPECT_EQ(listed[1].region, "c");
    EXPECT_EQ(listed[1].age, milliseconds{400});
    EXPECT_EQ(listed[1].source, ComponentSource::kStore);
    EXPECT_EQ(listed[2].region, "own");
    merge(cell("k"), "b", 6, milliseconds{350}, ComponentSource::kStore);
    EXPECT_EQ(list(cell("k"), milliseconds{400})[0].age, milliseconds{50});
    EXPECT_EQ(list(cell("k"), milliseconds{400})[0].source, ComponentSource::kStore);
    EXPECT_TRUE(list(cell("l"), milliseconds{400}).empty());
}

TEST_F(ComponentTableTest, DeadCellsAreDroppedAndNotCountedAsDropped) {
    merge(cell("k"), "b", 5);
    merge(cell("k", 1), "b", 6);
    merge(cell("l"), "b", 7);
    EXPECT_FALSE(table_.is_empty());
    table_.forget_dead(kNow + kDuration);
    EXPECT_EQ(table_.cells(), 3U);
    table_.forget_dead(kNow + 2 * kDuration);
    EXPECT_EQ(table_.cells(), 1U);
    EXPECT_EQ(sums(cell("k", 1)).foreign, 6U);
    EXPECT_EQ(sums(cell("k")).foreign, 0U);
    table_.forget_dead(kNow + 3 * kDuration);
    EXPECT_TRUE(table_.is_empty());
    EXPECT_EQ(table_.dropped(), 0U);
}

TEST_F(ComponentTableTest, WhatWasAnnouncedIsNoComponent) {
    const StoredKeyId id = stored_key_id(cell("k"));
    EXPECT_EQ(table_.announced(id, sequence()), 0U);
    table_.note_announced(id, cell("k"), 9);
    table_.note_announced(id, cell("k"), 8);
    EXPECT_EQ(table_.announced(id, sequence()), 9U);
    EXPECT_EQ(sums(cell("k")).own, 0U) << "it may have been lost";
    EXPECT_EQ(sums(cell("k")).foreign, 0U);
    merge(cell("l"), "b", 5);
    const auto all = table_.all_announced();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].cell, cell("k"));
    EXPECT_EQ(all[0].count, 9U);
    table_.forget_dead(kNow + 2 * kDuration);
    EXPECT_TRUE(table_.all_announced().empty());
}

TEST_F(ComponentTableTest, TooManyRegionsAreLeftOutAndCounted) {
    for (int i = 0; i < 1'023; ++i)
        ASSERT_TRUE(merge(cell("k"), "r" + std::to_string(i), 1));
    EXPECT_FALSE(merge(cell("k"), "one more", 1));
    EXPECT_TRUE(merge(cell("k"), "own", 1));
    EXPECT_TRUE(merge(cell("k"), "r7", 2));
    EXPECT_EQ(sums(cell("k")).foreign, 1'024U);
    EXPECT_EQ(table_.dropped(), 1U);
}

// Ids whose last bytes are the same share a shard, and so its part of the bound.
class FullComponentTableTest : public testing::Test {
  protected:
    static constexpr std::size_t kMostCells = 10;

    static StoredKeyId id(int i) {
        StoredKeyId id{};
        std::memcpy(id.bytes.data(), &i, sizeof i);
        return id;
    }
    bool merge(int i, int windows_ahead) {
        const ComponentTable::Update update{
            .region = "b", .count = 7, .source = ComponentSource::kStore, .at = kStart};
        return table_.merge(id(i), cell("k", windows_ahead), update).has_value();
    }
    Count count(int i, int windows_ahead) {
        return table_.sums(id(i), sequence() + windows_ahead).foreign;
    }

    ComponentTable table_{"own", 64 * kMostCells, is_always_held};
};

TEST_F(FullComponentTableTest, ACellThatDiesSoonerMakesRoom) {
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(merge(i, i < 5 ? 0 : 1));
    for (int i = 10; i < 15; ++i)
        EXPECT_TRUE(merge(i, 2));
    EXPECT_EQ(table_.cells(), kMostCells);
    EXPECT_EQ(table_.dropped(), 5U);
    for (int i = 10; i < 15; ++i)
        EXPECT_EQ(count(i, 2), 7U) << i;
    // Of a sample of eight at least three died first: none of those that last is gone before them.
    int soon = 0;
    for (int i = 0; i < 5; ++i)
        soon += count(i, 0) == 7U;
    EXPECT_LE(soon, 2);
}

TEST_F(FullComponentTableTest, ACellThatDiesNoLaterThanAllOthersIsNotTaken) {
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(merge(i, 1));
    EXPECT_FALSE(merge(10, 1));
    EXPECT_FALSE(merge(11, 0));
    EXPECT_EQ(table_.dropped(), 2U);
    EXPECT_TRUE(merge(3, 1)) << "it is held";
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(count(i, 1), 7U);
}

TEST_F(FullComponentTableTest, ARecordWhoseCellsMadeRoomIsDroppedToo) {
    for (int i = 0; i < 1'000; ++i)
        EXPECT_TRUE(merge(i, i)) << "each lasts longer than all before";
    EXPECT_EQ(table_.cells(), kMostCells);
    table_.forget_dead(kNow + 2'000 * kDuration);
    EXPECT_EQ(table_.cells(), 0U);
}

// With a table of entries that drops keys.
class LongKeyIndexTest : public testing::Test {
  protected:
    static constexpr std::size_t kMaxKeys = 100;

    static std::string identifier(int i) { return std::string(300, 'x') + std::to_string(i); }
    void make(int i) {
        Instant at;
        const std::string text = identifier(i);
        const Request request{
            .workspace = "w", .name_space = "n", .identifier = text, .duration = kDuration};
        Entry& entry = entries_->entry_for(entries_->key(request), kNow, at);
        components_.add_long_key(stored_key_id(entry.key()), entry.hash());
    }
    bool is_held(const StoredKeyId& id, std::uint64_t hash) {
        for (const Entry* entry : entries_->entries_with_hash(hash))
            if (stored_key_id(entry->key()) == id) return true;
        return false;
    }

    const std::unique_ptr<Table> entries_ =
        *Table::create({.max_keys = kMaxKeys, .sharing = Sharing::kAlone, .seed = 1});
    ComponentTable components_{"own", 1'000, [this](const StoredKeyId& id, std::uint64_t hash) {
                                   return is_held(id, hash);
                               }};
};

TEST_F(LongKeyIndexTest, AHeldKeyIsFoundByItsStoredName) {
    const EpochPin pin;
    make(1);
    const auto hash = components_.hash_of_long_key(stored_key_id(cell(identifier(1))));
    ASSERT_TRUE(hash);
    EXPECT_TRUE(is_held(stored_key_id(cell(identifier(1))), *hash));
    EXPECT_FALSE(components_.hash_of_long_key(stored_key_id(cell(identifier(2)))));
    make(1);
    EXPECT_EQ(components_.long_keys(), 1U);
}

TEST_F(LongKeyIndexTest, TheIndexIsBoundedByTheKeysInTheTable) {
    for (int i = 0; i < 5'000; ++i) {
        const EpochPin pin;
        make(i);
        ASSERT_LE(components_.long_keys(), 4 * kMaxKeys);
    }
    const EpochPin pin;
    components_.forget_dead(kNow);
    EXPECT_LE(components_.long_keys(), entries_->tally().held());
    EXPECT_GE(components_.long_keys(), kMaxKeys);
}

TEST_F(LongKeyIndexTest, ComponentsOfADroppedKeyStayUntilTheyAreDead) {
    const CellName stored = cell(identifier(0));
    const StoredKeyId id = stored_key_id(stored);
    components_.merge(
        id, stored, {.region = "b", .count = 7, .source = ComponentSource::kStore, .at = kStart});
    for (int i = 0; i < 5'000; ++i) {
        const EpochPin pin;
        make(i);
    }
    const EpochPin pin;
    components_.forget_dead(kNow);
    EXPECT_FALSE(components_.hash_of_long_key(id));
    EXPECT_EQ(components_.sums(id, sequence()).foreign, 7U);
}

}  // namespace
}  // namespace sluice
