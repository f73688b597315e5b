// Tests that stores keep the changes of overrides.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "overrides/override_set.h"
#include "overrides/stores.h"

namespace sluice::overrides {
namespace {

constexpr OverrideKey kKey{"w", "login", "alice"};

Author author(const std::string& token, std::int64_t at) {
    return {.token = token, .at = at};
}

LimitAndDuration per_minute(std::int64_t limit) {
    return {.limit = limit, .duration = std::chrono::seconds{60}};
}

class OverrideLog : public testing::TestWithParam<bool> {
  protected:
    OverrideLog() {
        std::filesystem::create_directories(folder_);
        set_ = *OverrideSet::open(GetParam() ? open_file() : std::make_unique<MemoryStore>());
    }
    ~OverrideLog() override {
        set_.reset();
        std::filesystem::remove_all(folder_);
    }

    std::unique_ptr<OverrideStore> open_file() {
        return *SqliteOverrideStore::open({.path = folder_ + "/overrides.db"});
    }
    std::vector<Change> changes(const ChangeQuery& query) { return *set_->changes(query); }

    const std::string folder_ = testing::TempDir() + "override_log_" + std::to_string(getpid());
    std::unique_ptr<OverrideSet> set_;
};

TEST_P(OverrideLog, KeepsWhoWhenAndBothValues) {
    ASSERT_TRUE(set_->set(kKey, per_minute(10), author("ops", 1)));
    ASSERT_TRUE(set_->set(kKey, per_minute(20), author("web", 2)));
    ASSERT_TRUE(set_->remove(kKey, author("ops", 3)));
    EXPECT_FALSE(set_->remove(kKey, author("ops", 4)).value()) << "no change";
    const auto found = changes({.workspace = "w", .name_space = {}});
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].author, author("ops", 3));
    EXPECT_EQ(found[0].before, per_minute(20));
    EXPECT_FALSE(found[0].after);
    EXPECT_EQ(found[1].author, author("web", 2));
    EXPECT_EQ(found[1].before, per_minute(10));
    EXPECT_EQ(found[1].after, per_minute(20));
    EXPECT_FALSE(found[2].before);
    EXPECT_EQ(found[2].after, per_minute(10));
    EXPECT_EQ(found[2].identifier, "alice");
    EXPECT_EQ(found[2].id, found[0].id);
    EXPECT_TRUE(found[2].id.starts_with("rlor_"));
}

TEST_P(OverrideLog, IsReadByWorkspaceAndNamespaceInPages) {
    for (std::int64_t i = 1; i <= 5; ++i)
        ASSERT_TRUE(set_->set(kKey, per_minute(i), author("a", i)));
    ASSERT_TRUE(set_->set({"w", "mail", "bob"}, per_minute(1), author("a", 6)));
    ASSERT_TRUE(set_->set({"x", "login", "eve"}, per_minute(1), author("a", 7)));
    EXPECT_EQ(changes({.workspace = "x", .name_space = {}}).size(), 1U);
    EXPECT_EQ(changes({.workspace = "w", .name_space = "mail"}).size(), 1U);
    EXPECT_TRUE(changes({.workspace = "none", .name_space = {}}).empty());
    const auto first = changes({.workspace = "w", .name_space = "login", .most = 3});
    ASSERT_EQ(first.size(), 3U);
    const auto rest =
        changes({.workspace = "w", .name_space = "login", .before = first[2].order, .most = 3});
    ASSERT_EQ(rest.size(), 2U);
    EXPECT_EQ(rest[0].author.at, 2);
}

TEST_P(OverrideLog, IsBoundedForEachWorkspace) {
    const auto most = static_cast<std::int64_t>(kMaxChangesKept);
    ASSERT_TRUE(set_->set({"x", "login", "eve"}, per_minute(1), author("a", 1)));
    for (std::int64_t i = 1; i <= most + 5; ++i)
        ASSERT_TRUE(set_->set(kKey, per_minute(i), author("a", i)));
    const auto found = changes({.workspace = "w", .name_space = {}, .most = 2 * kMaxChangesKept});
    ASSERT_EQ(found.size(), kMaxChangesKept);
    EXPECT_EQ(found.back().author.at, 6);
    EXPECT_EQ(changes({.workspace = "x", .name_space = {}}).size(), 1U);
}

TEST_P(OverrideLog, SurvivesARestartWithAFile) {
    ASSERT_TRUE(set_->set(kKey, per_minute(1), author("a", 1)));
    if (!GetParam()) return;
    set_.reset();
    set_ = *OverrideSet::open(open_file());
    EXPECT_EQ(changes({.workspace = "w", .name_space = {}}).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Stores, OverrideLog, testing::Bool());

}  // namespace
}  // namespace sluice::overrides
