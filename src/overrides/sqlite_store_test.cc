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
#include "overrides/stores.h"
#include "sqlite/database.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class SqliteOverrideStoreTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sluice_overrides_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    SqliteOverrideOptions options() const {
        return {.path = folder_ / "overrides.db", .busy_timeout = 0ms};
    }
    Result<std::unique_ptr<SqliteOverrideStore>> open() const {
        return SqliteOverrideStore::open(options());
    }
    std::unique_ptr<SqliteOverrideStore> opened() const { return std::move(open().value()); }
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
            .value = {.limit = (std::int64_t{1} << 53) - 1, .duration = 720h},
            .order = order};
}

void expect_same(const Override& a, const Override& b) {
    EXPECT_EQ(a.workspace, b.workspace);
    EXPECT_EQ(a.name_space, b.name_space);
    EXPECT_EQ(a.identifier, b.identifier);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.order, b.order);
}

TEST_F(SqliteOverrideStoreTest, ANewFileIsEmpty) {
    EXPECT_TRUE(opened()->load_all()->overrides.empty());
}

TEST_F(SqliteOverrideStoreTest, AnyBytesComeBackAfterReopening) {
    const Override odd = sample(2, "zero \0, newline \n, \xFF and 'quotes'"s);
    {
        const auto store = opened();
        EXPECT_TRUE(store->put(odd, {}));
        EXPECT_TRUE(store->put(sample(1), {}));
    }
    const auto loaded = opened()->load_all().value().overrides;
    ASSERT_EQ(loaded.size(), 2U);
    expect_same(loaded[0], sample(1));
    expect_same(loaded[1], odd);
}

TEST_F(SqliteOverrideStoreTest, PuttingAgainChangesTheGrantAlone) {
    const auto store = opened();
    EXPECT_TRUE(store->put(sample(1), {}));
    Override changed = sample(1);
    changed.value = {.limit = 0, .duration = 1s};
    EXPECT_TRUE(store->put(changed, {}));
    const auto loaded = store->load_all().value().overrides;
    ASSERT_EQ(loaded.size(), 1U);
    expect_same(loaded[0], changed);
}

TEST_F(SqliteOverrideStoreTest, ARemovedOverrideStaysRemovedAndCanBePutAgain) {
    {
        const auto store = opened();
        EXPECT_TRUE(store->put(sample(1), {}));
        EXPECT_TRUE(store->remove(sample(1).key(), {}));
        EXPECT_TRUE(store->remove(sample(1).key(), {}));
    }
    {
        const auto store = opened();
        EXPECT_TRUE(store->load_all()->overrides.empty());
        EXPECT_TRUE(store->put(sample(2), {}));
    }
    EXPECT_EQ(opened()->load_all()->overrides.at(0).id, "rlor_2");
}

TEST_F(SqliteOverrideStoreTest, ReplacingAllLeavesNothingElse) {
    {
        const auto store = opened();
        EXPECT_TRUE(store->put(sample(1, "one"), {}));
        EXPECT_TRUE(store->put(sample(2, "two"), Author{.token = "ops", .at = 1}));
        // The same key under another order, and an order under another key.
        EXPECT_FALSE(store->replace_all({sample(1, "two"), sample(7, "one")}));
    }
    const auto loaded = opened()->load_all().value().overrides;
    EXPECT_EQ(loaded, (std::vector<Override>{sample(1, "two"), sample(7, "one")}));
}

TEST_F(SqliteOverrideStoreTest, AnOverrideSetFindsItsOverridesAgain) {
    std::string id;
    const OverrideKey key{"w", "n", "vip_*"};
    {
        const auto set = OverrideSet::open(opened()).value();
        (void)set->set(key, {.limit = 1, .duration = 1s}).value();
        (void)set->remove(key).value();
        id = set->set(key, {.limit = 7, .duration = 60s}).value();
    }
    const auto set = OverrideSet::open(opened()).value();
    const auto reader = set->reader();
    const Override* found = reader.get().match({"w", "n", "vip_1"});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->id, id);
    EXPECT_EQ(found->value, (LimitAndDuration{.limit = 7, .duration = 60s}));
}

TEST_F(SqliteOverrideStoreTest, ASecondProcessCanNotOpenIt) {
    const auto store = opened();
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
}

// The child process writes, reports it and waits to be killed.
[[noreturn]] void write_until_killed(const SqliteOverrideOptions& options, int report) {
    auto store = SqliteOverrideStore::open(options);
    const bool written = store && (*store)->put(sample(1), {}) &&
                         (*store)->put(sample(2, "two"), {}) &&
                         (*store)->remove(sample(1).key(), {});
    (void)!write(report, written ? "y" : "n", 1);
    while (true) {
        pause();
    }
}

TEST_F(SqliteOverrideStoreTest, AKilledProcessLosesNoAcknowledgedChange) {
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

TEST_F(SqliteOverrideStoreTest, AFileThatIsNoDatabaseIsReported) {
    std::ofstream(options().path) << std::string(8'192, 'x');
    EXPECT_NE(open_error().find("damaged or no SQLite database"), std::string::npos)
        << open_error();
    EXPECT_NE(open_error().find(options().path), std::string::npos);
}

TEST_F(SqliteOverrideStoreTest, ADamagedPageIsReported) {
    {
        const auto store = opened();
        for (std::uint64_t i = 1; i <= 30; ++i) {
            ASSERT_TRUE(store->put(sample(i, std::string(400, 'x') + std::to_string(i)), {}));
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

TEST_F(SqliteOverrideStoreTest, AFullDiskRefusesAndKeepsWhatItHas) {
    SqliteOverrideOptions small = options();
    small.max_bytes = 131'072;
    std::uint64_t held = 0;
    {
        const auto store = SqliteOverrideStore::open(small);
        ASSERT_TRUE(store) << store.error().message;
        std::optional<Error> error;
        while (!error && held < 10'000) {
            const auto put =
                (*store)->put(sample(held + 1, std::string(400, 'x') + std::to_string(held)), {});
            if (!put) error = put.error();
            if (!error) ++held;
        }
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code, kStoreFailed);
        EXPECT_NE(error->message.find("disk is full"), std::string::npos) << error->message;
        EXPECT_EQ((*store)->load_all()->overrides.size(), held);
        EXPECT_TRUE((*store)->remove(sample(1, std::string(400, 'x') + "0").key(), {}));
    }
    EXPECT_GT(held, 10U);
    EXPECT_EQ(opened()->load_all()->overrides.size(), held - 1);
}

TEST_F(SqliteOverrideStoreTest, UpgradesAFileOfItsOwnFromAnOlderVersion) {
    ASSERT_TRUE(opened()->put(sample(1, "one"), {}));
    {
        auto database =
            sqlite::Database::open({.path = options().path, .purpose = "overrides"}).value();
        ASSERT_FALSE(
            database.run("UPDATE ratelimit_schema SET version = 2;"
                         "DROP TABLE ratelimit_override_log"));
    }
    SqliteOverrideOptions shared = options();
    shared.use = sqlite::Use::kShared;
    const auto refused = SqliteOverrideStore::open(shared);
    ASSERT_FALSE(refused) << "nodes of the older version may use it";
    EXPECT_NE(refused.error().message.find("sluice migrate"), std::string::npos);
    const auto store = opened();
    ASSERT_EQ(store->load_all()->overrides.size(), 1U);
    EXPECT_TRUE(store->put(sample(2, "two"), Author{.token = "ops", .at = 1}));
    EXPECT_EQ(store->changes({.workspace = sample(1, "one").workspace, .name_space = {}})->size(),
              1U);
}

TEST_F(SqliteOverrideStoreTest, ANewerSchemaIsLeftAlone) {
    (void)opened();
    {
        auto database =
            sqlite::Database::open({.path = options().path, .purpose = "overrides"}).value();
        ASSERT_FALSE(database.run("UPDATE ratelimit_schema SET version = 99"));
    }
    EXPECT_NE(open_error().find("version 99"), std::string::npos) << open_error();
}

TEST_F(SqliteOverrideStoreTest, AnotherProgramsDatabaseIsLeftAlone) {
    {
        auto database =
            sqlite::Database::open({.path = options().path, .purpose = "overrides"}).value();
        ASSERT_FALSE(database.run("CREATE TABLE theirs (x)"));
    }
    EXPECT_NE(open_error().find("another program"), std::string::npos) << open_error();
}

TEST_F(SqliteOverrideStoreTest, AMissingFolderIsReported) {
    SqliteOverrideOptions nowhere = options();
    nowhere.path = folder_ / "missing" / "overrides.db";
    const auto store = SqliteOverrideStore::open(nowhere);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("folder must exist"), std::string::npos)
        << store.error().message;
}

}  // namespace
}  // namespace sluice::overrides
