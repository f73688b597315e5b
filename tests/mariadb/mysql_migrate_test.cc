// Migration: creates and upgrades the tables, once.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mysql/mysql_schema.h"
#include "support/mariadb_server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

class MysqlMigrate : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = new MariadbServer; }
    static void TearDownTestSuite() {
        delete server_;
        server_ = nullptr;
    }
    std::int64_t tables() {
        return server_->number(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" +
            url_.database + "'");
    }

    static MariadbServer* server_;
    const MysqlUrl url_ = server_->url(server_->make_database());
};

MariadbServer* MysqlMigrate::server_ = nullptr;

TEST_F(MysqlMigrate, ADryRunReturnsThePlanAndChangesNothing) {
    const auto would = migrate_mysql(url_, DryRun::kYes);
    ASSERT_TRUE(would) << would.error().message;
    EXPECT_EQ(would->from, 0);
    EXPECT_EQ(would->to, kMysqlSchemaVersion);
    EXPECT_EQ(tables(), 0);
    const auto done = migrate_mysql(url_, DryRun::kNo);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->statements, would->statements);
    EXPECT_EQ(tables(), 6);
}

TEST_F(MysqlMigrate, ASecondRunFindsNothingToDo) {
    ASSERT_TRUE(migrate_mysql(url_, DryRun::kNo));
    MysqlGlobalStore store(patient(url_));
    global_test::publish(store, "x", 3);
    const auto again = migrate_mysql(url_, DryRun::kNo);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->from, kMysqlSchemaVersion);
    EXPECT_TRUE(again->statements.empty());
    EXPECT_EQ(global_test::import_all(store).of("x").at("eu"), 3U);
}

TEST_F(MysqlMigrate, ContinuesAnInterruptedRun) {
    const std::vector<std::string> statements = mysql_upgrade_from(0);
    server_->run("USE " + url_.database);
    for (std::size_t i = 0; i + 1 < statements.size(); ++i) {
        server_->run(statements[i]);
        EXPECT_LT(migrate_mysql(url_, DryRun::kYes)->from, kMysqlSchemaVersion);
    }
    ASSERT_TRUE(migrate_mysql(url_, DryRun::kNo));
    EXPECT_EQ(tables(), 6);
    EXPECT_EQ(server_->number("SELECT version FROM ratelimit_schema"), kMysqlSchemaVersion);
}

TEST_F(MysqlMigrate, AnUpgradeFromVersion1AddsTablesAndKeepsTheCounts) {
    const std::vector<std::string> added = mysql_upgrade_from(1);
    const std::vector<std::string> all = mysql_upgrade_from(0);
    ASSERT_LT(added.size(), all.size());
    server_->run("USE " + url_.database);
    for (std::size_t i = 0; i < all.size() - added.size(); ++i)
        server_->run(all[i]);
    EXPECT_EQ(tables(), 4);
    server_->run(
        "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, duration_ms, "
        "sequence, region, count, expires_at, updated_at) VALUES ('w', 'n', 'x', 60000, 10, 'us', "
        "7, 720000, 1)");
    const auto done = migrate_mysql(url_, DryRun::kNo);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->from, 1);
    EXPECT_EQ(done->to, kMysqlSchemaVersion);
    EXPECT_EQ(done->statements, added);
    EXPECT_EQ(tables(), 6);
    MysqlGlobalStore store(patient(url_));
    const auto found = global_test::publish(store, "x", 3);
    EXPECT_EQ(found.cells.at(global_test::cell_of("x")),
              (global_test::Components{{"eu", 3}, {"us", 7}}));
}

TEST_F(MysqlMigrate, ConcurrentRunsMigrateOnce) {
    std::atomic<int> worked = 0;  // relaxed: the threads are joined before it is read
    std::atomic<int> found_none = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            const auto done = migrate_mysql(url_, DryRun::kNo);
            if (!done) return;
            worked.fetch_add(1, std::memory_order_relaxed);
            if (done->from == 0) found_none.fetch_add(1, std::memory_order_relaxed);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(worked.load(std::memory_order_relaxed), 8);
    EXPECT_EQ(found_none.load(std::memory_order_relaxed), 1);
}

TEST_F(MysqlMigrate, RejectsANewerSchema) {
    ASSERT_TRUE(migrate_mysql(url_, DryRun::kNo));
    server_->run("USE " + url_.database);
    server_->run("UPDATE ratelimit_schema SET version = 99");
    const auto refused = migrate_mysql(url_, DryRun::kNo);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, kStoreFailed);
    EXPECT_NE(refused.error().message.find("this program is older"), std::string::npos);
    EXPECT_EQ(server_->number("SELECT version FROM ratelimit_schema"), 99);
}

TEST_F(MysqlMigrate, ReportsErrorsWithoutSecrets) {
    MysqlUrl wrong = url_;
    wrong.password = "secret2";
    const auto refused = migrate_mysql(wrong, DryRun::kNo);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("refused the user or the password"), std::string::npos);
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
}

// Three parts of 512 characters of four bytes, twice the same and once not.
TEST_F(MysqlMigrate, OverridesOfTheLongestKeysAreUnique) {
    ASSERT_TRUE(migrate_mysql(url_, DryRun::kNo));
    server_->run("USE " + url_.database);
    const auto insert = [](const std::string& id, const std::string& digest) {
        return "INSERT INTO ratelimit_overrides (id, workspace_id, namespace, identifier, "
               "parts_digest, `limit`, duration_ms) VALUES ('" +
               id + "', REPEAT('w', 2048), REPEAT('n', 2048), REPEAT('i', 2048), UNHEX(SHA2('" +
               digest + "', 256)), 9007199254740991, 1000)";
    };
    EXPECT_EQ(server_->number("SELECT version FROM ratelimit_overrides_version"), 0);
    server_->run(insert("a", "one"));
    server_->run(insert("b", "other"));
    EXPECT_THROW(server_->run(insert("c", "one")), std::runtime_error);
    server_->run("USE " + url_.database);
    EXPECT_THROW(server_->run(insert("a", "third")), std::runtime_error);
}

}  // namespace
}  // namespace sluice::mariadb_test
