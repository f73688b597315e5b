#include "overrides/sqlite_store.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "overrides/override_set.h"
#include "sqlite/database.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class SqliteStoreTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sluice_overrides_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    SqliteOptions options() const {
        return {.path = folder_ / "overrides.db", .busy_timeout = 0ms};
    }
    Result<std::unique_ptr<SqliteStore>> open() const { return SqliteStore::open(options()); }
    std::unique_ptr<SqliteStore> opened() const { return std::move(open().value()); }
    std::string open_error() const {
        auto store = open();
        return store ? "it opened" : store.error().message;
    }

    std::filesystem::path folder_;
};

Override sample(std::uint64_t order, std::string identifier = "vip_*") {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .id = "rlor_" + std::to_string(order),
            .grant = {.limit = (std::int64_t{1} << 53) - 1, .duration = 720h},
            .order = order};
}

void expect_same(const Override& a, const Override& b) {
    EXPECT_EQ(a.workspace, b.workspace);
    EXPECT_EQ(a.name_space, b.name_space);
    EXPECT_EQ(a.identifier, b.identifier);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.grant, b.grant);
    EXPECT_EQ(a.order, b.order);
}

TEST_F(SqliteStoreTest, ANewFileIsEmpty) {
    EXPECT_TRUE(opened()->load_all()->overrides.empty());
}

TEST_F(SqliteStoreTest, AnyBytesComeBackAfterReopening) {
    const Override odd = sample(2, "zero \0, newline \n, \xFF and 'quotes'"s);
    {
        const auto store = opened();
        EXPECT_TRUE(store->put(odd));
        EXPECT_TRUE(store->put(sample(1)));
    }
    const auto loaded = opened()->load_all().value().overrides;
    ASSERT_EQ(loaded.size(), 2U);
    expect_same(loaded[0], sample(1));
    expect_same(loaded[1], odd);
}

TEST_F(SqliteStoreTest, PuttingAgainChangesTheGrantAlone) {
    const auto store = opened();
    EXPECT_TRUE(store->put(sample(1)));
    Override changed = sample(1);
    changed.grant = {.limit = 0, .duration = 1s};
    EXPECT_TRUE(store->put(changed));
    const auto loaded = store->load_all().value().overrides;
    ASSERT_EQ(loaded.size(), 1U);
    expect_same(loaded[0], changed);
}

TEST_F(SqliteStoreTest, WhatWasRemovedStaysAwayAndCanBePutAgain) {
    {
        const auto store = opened();
        EXPECT_TRUE(store->put(sample(1)));
        EXPECT_TRUE(store->remove(sample(1).key()));
        EXPECT_TRUE(store->remove(sample(1).key()));
    }
    {
        const auto store = opened();
        EXPECT_TRUE(store->load_all()->overrides.empty());
        EXPECT_TRUE(store->put(sample(2)));
    }
    EXPECT_EQ(opened()->load_all()->overrides.at(0).id, "rlor_2");
}

TEST_F(SqliteStoreTest, ReplacingAllLeavesNothingElse) {
    {
        const auto store = opened();
        EXPECT_TRUE(store->put(sample(1, "one")));
        EXPECT_TRUE(store->put(sample(2, "two")));
        // The same key under another order, and an order under another key.
        EXPECT_FALSE(store->replace_all({sample(1, "two"), sample(7, "one")}));
    }
    const auto loaded = opened()->load_all().value().overrides;
    EXPECT_EQ(loaded, (std::vector<Override>{sample(1, "two"), sample(7, "one")}));
}

TEST_F(SqliteStoreTest, IsThereAgainInAnOverrideSet) {
    std::string id;
    const OverrideKey key{"w", "n", "vip_*"};
    {
        const auto set = OverrideSet::open(opened()).value();
        (void)set->set(key, {.limit = 1, .duration = 1s}).value();
        (void)set->remove(key).value();
        id = set->set(key, {.limit = 7, .duration = 60s}).value();
    }
    const auto set = OverrideSet::open(opened()).value();
    const Reader reader(*set);
    const Override* found = reader.match({"w", "n", "vip_1"});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->id, id);
    EXPECT_EQ(found->grant, (Grant{.limit = 7, .duration = 60s}));
}

TEST_F(SqliteStoreTest, ASecondOwnerIsTold) {
    const auto store = opened();
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
}

// The child writes, says so and waits for its end.
[[noreturn]] void write_until_killed(const SqliteOptions& options, int says) {
    auto store = SqliteStore::open(options);
    const bool written = store && (*store)->put(sample(1)) && (*store)->put(sample(2, "two")) &&
                         (*store)->remove(sample(1).key());
    (void)!write(says, written ? "y" : "n", 1);
    while (true) {
        pause();
    }
}

TEST_F(SqliteStoreTest, AKilledProcessLosesNothingThatWasAnswered) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) write_until_killed(options(), ends[1]);
    char answer = 0;
    ASSERT_EQ(read(ends[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    const auto loaded = opened()->load_all().value().overrides;
    ASSERT_EQ(loaded.size(), 1U);
    expect_same(loaded[0], sample(2, "two"));
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsReported) {
    std::ofstream(options().path) << std::string(8'192, 'x');
    EXPECT_NE(open_error().find("damaged or no SQLite database"), std::string::npos)
        << open_error();
    EXPECT_NE(open_error().find(options().path), std::string::npos);
}

TEST_F(SqliteStoreTest, ADamagedPageIsReported) {
    {
        const auto store = opened();
        for (std::uint64_t i = 1; i <= 30; ++i) {
            ASSERT_TRUE(store->put(sample(i, std::string(400, 'x') + std::to_string(i))));
        }
    }
    const auto size = std::filesystem::file_size(options().path);
    std::fstream file(options().path, std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t at = 8'192; at < size; at += 4'096) {
        file.seekp(static_cast<std::streamoff>(at));
        file << std::string(2'000, '\x5A');
    }
    file.close();
    EXPECT_NE(open_error().find("damaged"), std::string::npos) << open_error();
}

TEST_F(SqliteStoreTest, AFullDiskRefusesAndKeepsWhatItHas) {
    SqliteOptions small = options();
    small.max_bytes = 65'536;
    std::uint64_t held = 0;
    {
        const auto store = SqliteStore::open(small);
        ASSERT_TRUE(store) << store.error().message;
        std::optional<Error> error;
        while (!error && held < 10'000) {
            const auto put =
                (*store)->put(sample(held + 1, std::string(400, 'x') + std::to_string(held)));
            if (!put) error = put.error();
            if (!error) ++held;
        }
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code, kStoreFailed);
        EXPECT_NE(error->message.find("disk is full"), std::string::npos) << error->message;
        EXPECT_EQ((*store)->load_all()->overrides.size(), held);
        EXPECT_TRUE((*store)->remove(sample(1, std::string(400, 'x') + "0").key()));
    }
    EXPECT_GT(held, 10U);
    EXPECT_EQ(opened()->load_all()->overrides.size(), held - 1);
}

TEST_F(SqliteStoreTest, ANewerSchemaIsLeftAlone) {
    (void)opened();
    {
        auto database =
            sqlite::Database::open({.path = options().path, .purpose = "overrides"}).value();
        ASSERT_FALSE(database.run("UPDATE schema_version SET version = 2"));
    }
    EXPECT_NE(open_error().find("version 2"), std::string::npos) << open_error();
}

TEST_F(SqliteStoreTest, AnotherProgramsDatabaseIsLeftAlone) {
    {
        auto database =
            sqlite::Database::open({.path = options().path, .purpose = "overrides"}).value();
        ASSERT_FALSE(database.run("CREATE TABLE theirs (x)"));
    }
    EXPECT_NE(open_error().find("another program"), std::string::npos) << open_error();
}

TEST_F(SqliteStoreTest, AMissingFolderIsReported) {
    SqliteOptions nowhere = options();
    nowhere.path = folder_ / "missing" / "overrides.db";
    const auto store = SqliteStore::open(nowhere);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("folder must exist"), std::string::npos)
        << store.error().message;
}

}  // namespace
}  // namespace sluice::overrides
