#include "global/sqlite/sqlite_global_store.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "global/sqlite/count_statements.h"
#include "sqlite/database.h"
#include "sqlite/schema.h"
#include "support/store_calls.h"
#include "support/store_contract.h"

namespace sluice::global_test {
namespace {

using namespace std::chrono_literals;
using Kind = StoreFailure::Kind;

class SqliteKit final : public StoreKit {
  public:
    SqliteKit() {
        std::string folder = testing::TempDir() + "sluice_global_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    ~SqliteKit() override { std::filesystem::remove_all(folder_); }
    SqliteKit(const SqliteKit&) = delete;
    SqliteKit& operator=(const SqliteKit&) = delete;

    std::unique_ptr<GlobalStore> open(const std::string& region) override {
        return std::make_unique<SqliteGlobalStore>(SqliteGlobalOptions{
            .path = path(), .region = region, .busy_timeout = 10s, .now = [this] { return now_; }});
    }
    UnixTime now() override { return now_; }
    void pass(std::chrono::milliseconds time) override { now_ += time; }

    std::string path() const { return folder_ / "global.db"; }

  private:
    std::filesystem::path folder_;
    UnixTime now_{1'000'000s};
};

std::unique_ptr<StoreKit> make_sqlite_kit() {
    return std::make_unique<SqliteKit>();
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(make_sqlite_kit));

class SqliteGlobalStoreTest : public testing::Test {
  protected:
    sqlite::Database database() const {
        return sqlite::Database::open({.path = kit_.path(), .purpose = "test"}).value();
    }
    std::unique_ptr<GlobalStore> impatient(const std::string& region) const {
        return std::make_unique<SqliteGlobalStore>(
            SqliteGlobalOptions{.path = kit_.path(), .region = region, .busy_timeout = 0ms});
    }
    void expect_refused(const std::string& part) {
        const StoreFailure failure = failure_of(*kit_.open("eu"));
        EXPECT_EQ(failure.kind, Kind::kRefused);
        EXPECT_NE(failure.why.find(part), std::string::npos) << failure.why;
        EXPECT_NE(failure.why.find(kit_.path()), std::string::npos) << failure.why;
    }

    SqliteKit kit_;
};

TEST_F(SqliteGlobalStoreTest, KeepsCountsWhenAllHaveClosedTheFile) {
    publish(*kit_.open("eu"), "x", 3);
    EXPECT_EQ(import_all(*kit_.open("us")).of("x"), (Components{{"eu", 3}}));
}

TEST_F(SqliteGlobalStoreTest, SaysBusyWhileAnotherProcessWrites) {
    const auto store = impatient("eu");
    publish(*store, "x", 1);
    sqlite::Database other = database();
    ASSERT_FALSE(other.run("BEGIN IMMEDIATE"));
    const StoreFailure failure = failure_of(*store);
    EXPECT_EQ(failure.kind, Kind::kBusy);
    EXPECT_NE(failure.why.find("other processes held it for too long"), std::string::npos)
        << failure.why;
    EXPECT_EQ(import_all(*store).of("x").at("eu"), 1U) << "a writer keeps no reader away";
    ASSERT_FALSE(other.run("COMMIT"));
    publish(*store, "x", 2);
    EXPECT_EQ(import_all(*store).of("x").at("eu"), 2U);
}

TEST_F(SqliteGlobalStoreTest, RefusesANewerFile) {
    publish(*kit_.open("eu"), "x", 1);
    ASSERT_FALSE(database().run("UPDATE ratelimit_schema SET version = 4"));
    expect_refused("version 4, and this program is older");
    const auto migrated = migrate_sqlite(kit_.path(), DryRun::kNo);
    ASSERT_FALSE(migrated);
    EXPECT_NE(migrated.error().message.find("this program is older"), std::string::npos);
    EXPECT_EQ(database().number("SELECT version FROM ratelimit_schema").value(), 4);
}

TEST_F(SqliteGlobalStoreTest, RefusesAnOlderFileUntilItWasMigrated) {
    publish(*kit_.open("eu"), "x", 1);
    ASSERT_FALSE(database().run("UPDATE ratelimit_schema SET version = 2"));
    expect_refused("run: sluice migrate --global sqlite:" + kit_.path());
    const auto migrated = migrate_sqlite(kit_.path(), DryRun::kNo);
    ASSERT_TRUE(migrated) << migrated.error().message;
    EXPECT_EQ(import_all(*kit_.open("eu")).of("x").at("eu"), 1U);
}

TEST_F(SqliteGlobalStoreTest, LooksAgainAfterItWasRefused) {
    const auto store = kit_.open("eu");
    publish(*kit_.open("eu"), "x", 1);
    ASSERT_FALSE(database().run("UPDATE ratelimit_schema SET version = 4"));
    EXPECT_EQ(failure_of(*store).kind, Kind::kRefused);
    ASSERT_FALSE(database().run("UPDATE ratelimit_schema SET version = 3"));
    EXPECT_EQ(import_all(*store).of("x").at("eu"), 1U);
}

TEST_F(SqliteGlobalStoreTest, RefusesAnotherProgramsFileAndLeavesItAlone) {
    ASSERT_FALSE(database().run("CREATE TABLE theirs (x)"));
    expect_refused("another program");
    EXPECT_FALSE(migrate_sqlite(kit_.path(), DryRun::kNo));
    EXPECT_EQ(database().number("SELECT count(*) FROM sqlite_schema").value(), 1);
}

TEST_F(SqliteGlobalStoreTest, RefusesAFileThatIsNoDatabase) {
    std::ofstream(kit_.path()) << std::string(8'192, 'x');
    expect_refused("damaged or no SQLite database");
}

TEST_F(SqliteGlobalStoreTest, RefusesAFolderThatIsNotThere) {
    SqliteGlobalStore store({.path = kit_.path() + "/missing/global.db", .region = "eu"});
    const StoreFailure failure = failure_of(store);
    EXPECT_EQ(failure.kind, Kind::kRefused);
    EXPECT_NE(failure.why.find("folder must exist"), std::string::npos) << failure.why;
}

TEST_F(SqliteGlobalStoreTest, ADryRunOfAMigrationCreatesNothing) {
    const auto would = migrate_sqlite(kit_.path(), DryRun::kYes);
    ASSERT_TRUE(would) << would.error().message;
    EXPECT_EQ(would->from, 0);
    EXPECT_EQ(would->to, kSqliteSchemaVersion);
    EXPECT_FALSE(std::filesystem::exists(kit_.path()));
    const auto done = migrate_sqlite(kit_.path(), DryRun::kNo);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->statements, would->statements);
    const auto again = migrate_sqlite(kit_.path(), DryRun::kNo);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->from, kSqliteSchemaVersion);
    EXPECT_TRUE(again->statements.empty());
    publish(*kit_.open("eu"), "x", 1);
}

TEST_F(SqliteGlobalStoreTest, ComponentsOfVeryManyRegionsAreImported) {
    publish(*kit_.open("eu"), "x", kMaxCount);
    ASSERT_FALSE(database().run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
        "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, duration_ms, "
        "sequence, region, count, expires_at, updated_at) SELECT workspace_id, namespace, "
        "identifier, duration_ms, sequence, CAST(i AS BLOB), count, expires_at, updated_at FROM "
        "ratelimit_window_counts, n"));
    const Imported imported = import_all(*kit_.open("eu"));
    EXPECT_EQ(imported.of("x").size(), 3'001U);
    for (const auto& [region, count] : imported.of("x"))
        EXPECT_EQ(count, kMaxCount) << region;
}

// No statement may become slower with the number of cells in the file that it is not about.
TEST_F(SqliteGlobalStoreTest, FindsWhatItNeedsByAnIndex) {
    publish(*kit_.open("eu"), "x", 1);
    auto file = database();
    const auto plan_of = [&](const std::string& sql) {
        std::string steps;
        auto statement = file.prepare("EXPLAIN QUERY PLAN " + sql).value();
        (void)statement.for_each(
            [&](const sqlite::Statement& row) { steps += row.bytes(3) + "; "; });
        return steps;
    };
    const ImportQuery changed{.living_at = {}, .changed_since = UnixTime{}};
    const std::string import =
        plan_of(sqlite_sql::import_statement(changed, sqlite_sql::HasEnd::kYes));
    EXPECT_EQ(import.find("SCAN ratelimit_window_counts"), std::string::npos) << import;
    EXPECT_NE(import.find("updated_at_idx (updated_at>?"), std::string::npos) << import;
    const std::string cell_order = "workspace_id,namespace,identifier,duration_ms,sequence";
    const ImportQuery page{.living_at = {}, .after = cell_of("x")};
    for (const std::string& sql : {sqlite_sql::page_end_statement(page),
                                   sqlite_sql::import_statement(page, sqlite_sql::HasEnd::kYes)}) {
        EXPECT_NE(plan_of(sql).find("((" + cell_order + ")>"), std::string::npos) << plan_of(sql);
        EXPECT_EQ(plan_of(sql).find("TEMP B-TREE"), std::string::npos) << plan_of(sql);
    }
    for (const std::string& sql : {std::string(sqlite_sql::kDelete),
                                   std::string(sqlite_sql::kList),
                                   sqlite_sql::page_end_statement(changed)})
        EXPECT_EQ(plan_of(sql).find("SCAN"), std::string::npos) << plan_of(sql);
    EXPECT_NE(plan_of(sqlite_sql::kNewest).find("updated_at_idx"), std::string::npos);
    EXPECT_NE(plan_of(sqlite_sql::kDelete).find("expires_at_idx (expires_at<?)"),
              std::string::npos);
}

[[noreturn]] void publish_in_child(SqliteKit& kit, const std::string& region) {
    const auto store = kit.open(region);
    for (Count count = 1; count <= 50; ++count) {
        const std::vector<RegionCount> rows = {{cell_of("x"), count}, {cell_of("y"), count}};
        while (const auto failure = try_publish(*store, rows)) {
            if (failure->kind != Kind::kBusy) _exit(1);
        }
    }
    _exit(0);
}

TEST_F(SqliteGlobalStoreTest, ServesManyProcessesAtOnceFromTheFirstMomentOn) {
    constexpr int kProcesses = 8;
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
        const pid_t child = fork();
        if (child == 0) publish_in_child(kit_, "region " + std::to_string(i));
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    const Imported imported = import_all(*kit_.open("other"));
    EXPECT_EQ(sum_of(imported.of("x")), 50U * kProcesses);
    EXPECT_EQ(sum_of(imported.of("y")), 50U * kProcesses);
}

TEST_F(SqliteGlobalStoreTest, AnImportEndsWhenItIsInterrupted) {
    const auto store = kit_.open("eu");
    std::vector<RegionCount> rows;
    for (int i = 0; i < 5'000; ++i)
        rows.push_back({cell_of(std::to_string(10'000 + i)), 1});
    publish(*store, rows);
    std::size_t visits = 0;
    const auto visit = [&](const RegionRow&) {
        if (++visits == 1) std::thread([&] { store->interrupt(); }).join();
    };
    const auto end = store->import({.living_at = {}}, visit);
    ASSERT_TRUE(std::holds_alternative<StoreFailure>(end));
    EXPECT_EQ(std::get<StoreFailure>(end).kind, Kind::kLost);
    EXPECT_LT(visits, rows.size());
}

}  // namespace
}  // namespace sluice::global_test
