// Sets of several nodes on one store.
#include <map>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "overrides/override_set.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;

constexpr LimitAndDuration kValue{.limit = 5, .duration = 60s};
constexpr LimitAndDuration kOther{.limit = 7, .duration = 60s};

OverrideKey key_of(std::string_view identifier) {
    return {.workspace = "w", .name_space = "n", .identifier = identifier};
}

// What the nodes share, in memory.
struct World {
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, Override> rows;
    std::uint64_t next_order = 100;
    std::uint64_t version = 0;
    std::optional<Error> failure;
    int loads = 0;
};

class WorldStore final : public OverrideStore {
  public:
    explicit WorldStore(World& world) : world_(world) {}

    Result<std::uint64_t> version() override {
        if (world_.failure) return *world_.failure;
        return world_.version;
    }
    Result<Contents> load_all() override {
        if (world_.failure) return *world_.failure;
        ++world_.loads;
        Contents contents{.overrides = {}, .version = world_.version};
        for (const auto& [key, row] : world_.rows)
            contents.overrides.push_back(row);
        return contents;
    }
    Result<Stored> put(const Override& entry, const std::optional<Author>&) override {
        if (world_.failure) return *world_.failure;
        const auto [row, is_new] = world_.rows.try_emplace(named(entry.key()), entry);
        if (is_new) row->second.order = world_.next_order++;
        row->second.value = entry.value;
        return Stored{row->second, ++world_.version};
    }
    Result<std::vector<Change>> changes(const ChangeQuery&) override {
        return std::vector<Change>{};
    }
    Result<Removed> remove(const OverrideKey& key, const std::optional<Author>&) override {
        if (world_.failure) return *world_.failure;
        const bool found = world_.rows.erase(named(key)) > 0;
        if (found) ++world_.version;
        return Removed{found, world_.version};
    }

  private:
    static World::Key named(const OverrideKey& key) {
        return {
            std::string(key.workspace), std::string(key.name_space), std::string(key.identifier)};
    }
    World& world_;
};

class SharedSet : public testing::Test {
  protected:
    std::unique_ptr<OverrideSet> join(std::vector<Override> last_known = {}) {
        return OverrideSet::open_shared(std::make_unique<WorldStore>(world_), std::move(last_known))
            .value();
    }

    World world_;
    std::unique_ptr<OverrideSet> here_ = join();
    std::unique_ptr<OverrideSet> there_ = join();
};

TEST_F(SharedSet, WhatOthersChangeIsSeenAfterAReload) {
    const std::string id = here_->set(key_of("a*"), kValue).value();
    auto reader = there_->reader();
    EXPECT_EQ(reader.get().match(key_of("ab")), nullptr);
    EXPECT_FALSE(there_->reload());
    reader.refresh();
    ASSERT_NE(reader.get().match(key_of("ab")), nullptr);
    EXPECT_EQ(reader.get().match(key_of("ab"))->id, id);
    (void)here_->set(key_of("a*"), kOther).value();
    EXPECT_FALSE(there_->reload());
    reader.refresh();
    EXPECT_EQ(reader.get().match(key_of("ab"))->value, kOther);
    EXPECT_TRUE(here_->remove(key_of("a*")).value());
    EXPECT_FALSE(there_->reload());
    reader.refresh();
    EXPECT_EQ(reader.get().match(key_of("ab")), nullptr);
    EXPECT_EQ(there_->size(), 0U);
}

TEST_F(SharedSet, OneKeySetByTwoNodesIsOneOverride) {
    const std::string id = here_->set(key_of("a"), kValue).value();
    EXPECT_EQ(there_->set(key_of("a"), kOther).value(), id);
    EXPECT_EQ(world_.rows.size(), 1U);
    EXPECT_FALSE(here_->reload());
    EXPECT_EQ(here_->get(key_of("a")), there_->get(key_of("a")));
    EXPECT_EQ(here_->get(key_of("a"))->value, kOther);
}

TEST_F(SharedSet, TheStoreDecidesWhichOneIsOlder) {
    const std::string first = here_->set(key_of("ab*"), kValue).value();
    (void)there_->set(key_of("*ab"), kValue).value();
    const std::string last = here_->set(key_of("c"), kValue).value();
    for (OverrideSet* const set : {here_.get(), there_.get()}) {
        EXPECT_FALSE(set->reload());
        EXPECT_EQ(set->reader().get().match(key_of("abab"))->id, first);
        const Page page = set->list({"w", "n"}, {.cursor = {}, .limit = 9}).value();
        ASSERT_EQ(page.overrides.size(), 3U);
        EXPECT_EQ(page.overrides.front().id, first);
        EXPECT_EQ(page.overrides.back().id, last);
    }
}

TEST_F(SharedSet, AnOverrideThatWasMadeAnewElsewhereHasItsNewIdAndAge) {
    const std::string old = here_->set(key_of("a"), kValue).value();
    (void)here_->set(key_of("b"), kValue).value();
    EXPECT_FALSE(there_->reload());
    EXPECT_TRUE(there_->remove(key_of("a")).value());
    const std::string anew = there_->set(key_of("a"), kValue).value();
    EXPECT_NE(anew, old);
    EXPECT_EQ(here_->set(key_of("a"), kOther).value(), anew);
    const Page page = here_->list({"w", "n"}, {.cursor = {}, .limit = 9}).value();
    ASSERT_EQ(page.overrides.size(), 2U);
    EXPECT_EQ(page.overrides[0].identifier, "b");
    EXPECT_EQ(page.overrides[1].id, anew);
}

TEST_F(SharedSet, ANodeCanRemoveAnOverrideThatItHasNotRead) {
    (void)here_->set(key_of("a"), kValue).value();
    EXPECT_TRUE(there_->remove(key_of("a")).value());
    EXPECT_FALSE(there_->remove(key_of("a")).value());
    EXPECT_FALSE(here_->remove(key_of("a")).value()) << "another node was first";
    EXPECT_FALSE(here_->get(key_of("a")));
}

TEST_F(SharedSet, OnlyNewsIsLoaded) {
    EXPECT_FALSE(here_->reload());
    EXPECT_FALSE(here_->reload());
    EXPECT_EQ(world_.loads, 1);
    (void)here_->set(key_of("a"), kValue).value();
    (void)here_->remove(key_of("a")).value();
    EXPECT_FALSE(here_->reload());
    EXPECT_EQ(world_.loads, 1) << "what it did itself is no news";
    (void)there_->set(key_of("b"), kValue).value();
    (void)here_->set(key_of("c"), kValue).value();
    EXPECT_FALSE(here_->reload());
    EXPECT_EQ(world_.loads, 2) << "another one came before its own";
    EXPECT_TRUE(here_->get(key_of("b")));
}

TEST_F(SharedSet, AnUnavailableStoreLeavesTheLastKnown) {
    (void)here_->set(key_of("a"), kValue).value();
    EXPECT_FALSE(there_->reload());
    world_.failure = Error{kStoreUnavailable, "gone"};
    EXPECT_EQ(there_->reload()->message, "gone");
    EXPECT_EQ(there_->set(key_of("a"), kOther).error().code, kStoreUnavailable);
    EXPECT_EQ(there_->set(key_of("b"), kValue).error().code, kStoreUnavailable);
    EXPECT_EQ(there_->remove(key_of("a")).error().code, kStoreUnavailable);
    EXPECT_EQ(there_->get(key_of("a"))->value, kValue);
    EXPECT_EQ(there_->size(), 1U);
    world_.failure.reset();
    EXPECT_TRUE(there_->set(key_of("b"), kValue));
}

// As one that was restored from a backup.
TEST_F(SharedSet, AStoreThatComesBackIsReadAgainWhateverItsVersion) {
    (void)here_->set(key_of("a"), kValue).value();
    EXPECT_FALSE(there_->reload());
    world_.failure = Error{kStoreUnavailable, "gone"};
    EXPECT_TRUE(there_->reload());
    world_.failure.reset();
    world_.rows.clear();
    EXPECT_FALSE(there_->reload());
    EXPECT_FALSE(there_->get(key_of("a")));
}

TEST_F(SharedSet, BeginsWithWhatWasLastKnown) {
    const Override known{.workspace = "w",
                         .name_space = "n",
                         .identifier = "a",
                         .id = "rlor_a",
                         .value = kValue,
                         .order = 3};
    world_.failure = Error{kStoreUnavailable, "gone"};
    const auto set = join({known});
    EXPECT_TRUE(set->reload());
    EXPECT_EQ(set->get(key_of("a")), known);
    world_.failure.reset();
    EXPECT_FALSE(set->reload());
    EXPECT_FALSE(set->get(key_of("a"))) << "another node had removed it";
}

TEST_F(SharedSet, AStoredOverrideOutOfRangeLeavesTheLastKnown) {
    (void)here_->set(key_of("a"), kValue).value();
    EXPECT_FALSE(there_->reload());
    (void)here_->set(key_of("b"), kValue).value();
    world_.rows.begin()->second.value.limit = -1;
    const auto error = there_->reload();
    ASSERT_TRUE(error);
    EXPECT_NE(error->message.find(world_.rows.begin()->second.id), std::string::npos);
    EXPECT_EQ(there_->get(key_of("a"))->value, kValue);
}

TEST_F(SharedSet, WhatOthersStoredBeyondTheBoundsIsServed) {
    for (std::size_t i = 0; i < kMaxSearchedPerNamespace + 1; ++i) {
        const std::string pattern = "*" + std::to_string(i) + "*";
        world_.rows[{"w", "n", pattern}] = {"w", "n", pattern, "rlor_" + pattern, kValue, i + 1};
    }
    ++world_.version;
    EXPECT_FALSE(here_->reload());
    EXPECT_EQ(here_->size(), kMaxSearchedPerNamespace + 1);
    EXPECT_EQ(here_->set(key_of("*x*y"), kValue).error().code, kInvalidRequest);
    EXPECT_TRUE(here_->set(key_of("*0*"), kOther)) << "a change of one is no more than there was";
}

}  // namespace
}  // namespace sluice::overrides
