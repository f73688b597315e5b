// The commit time of a published row, and its timestamp.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "global/mysql/count_statements.h"
#include "mysql/mysql_connection.h"
#include "support/mariadb_server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

using namespace std::chrono_literals;
using global_test::cell_of;
using global_test::import_all;
using global_test::import_changed;
using global_test::publish;
using Kind = StoreFailure::Kind;

class MysqlLateCommit : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = std::make_unique<MariadbServer>(); }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override {
        server_->run("USE " + url_.database);
        MysqlGlobalStore store(patient(url_, "eu"));
        publish(store, {{cell_of("a"), 1}, {cell_of("b"), 1}});
        make_older();
    }
    void TearDown() override { server_->run("ROLLBACK"); }

    // Sets the timestamps of all rows to an hour ago.
    static void make_older() {
        server_->run("UPDATE ratelimit_window_counts SET updated_at = " + std::string(kSqlNow) +
                     " - 3600000");
    }
    static void lock_row(const std::string& identifier) {
        server_->run("BEGIN");
        server_->run("SELECT * FROM ratelimit_window_counts WHERE identifier = '" + identifier +
                     "' FOR UPDATE");
    }
    static void unlock() { server_->run("ROLLBACK"); }
    static UnixTime now() {
        return UnixTime{
            std::chrono::milliseconds{server_->number("SELECT " + std::string(kSqlNow))}};
    }
    static UnixTime updated_at(const std::string& identifier) {
        return UnixTime{std::chrono::milliseconds{
            server_->number("SELECT updated_at FROM ratelimit_window_counts WHERE identifier = '" +
                            identifier + "'")}};
    }
    static std::int64_t count(const std::string& identifier) {
        return server_->number("SELECT count FROM ratelimit_window_counts WHERE identifier = '" +
                               identifier + "'");
    }
    // Returns when a statement waits for a locked row.
    static void await_waiter() {
        while (server_->number("SELECT variable_value FROM information_schema.global_status WHERE "
                               "variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'") == 0)
            std::this_thread::sleep_for(5ms);
    }
    // The server refreshes its lock tables only if they were not read for 0.1 s.
    static std::int64_t open_transactions() {
        std::this_thread::sleep_for(150ms);
        return server_->number("SELECT COUNT(*) FROM information_schema.innodb_trx");
    }
    static void await_no_transaction() {
        while (open_transactions() > 0) {
        }
    }

    static inline std::unique_ptr<MariadbServer> server_;
    const MysqlUrl url_ = server_->make_store();
};

// The server continues the statement after its client has disconnected, until it gets the lock.
TEST_F(MysqlLateCommit, APublishThatItsClientAbandonedIsNeverCommitted) {
    lock_row("b");
    auto options = patient(url_, "eu");
    options.server.answer_timeout = 1s;
    MysqlGlobalStore store(options);
    const std::vector<RegionCount> rows = {{cell_of("a"), 5}, {cell_of("b"), 5}};
    const auto failure = global_test::try_publish(store, rows);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kLost);
    unlock();
    await_no_transaction();
    EXPECT_EQ(count("a"), 1);
    EXPECT_EQ(count("b"), 1);
    publish(store, rows);
    EXPECT_EQ(count("a"), 5);
}

TEST_F(MysqlLateCommit, APublishBeyondItsTimeLimitIsRolledBack) {
    lock_row("b");
    auto options = patient(url_, "eu");
    options.commit_within = 200ms;
    MysqlGlobalStore store(options);
    const std::vector<RegionCount> rows = {{cell_of("a"), 5}, {cell_of("b"), 5}};
    std::optional<StoreFailure> failure;
    std::thread publisher([&] { failure = global_test::try_publish(store, rows); });
    await_waiter();
    std::this_thread::sleep_for(300ms);
    unlock();
    publisher.join();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kBusy);
    EXPECT_EQ(count("a"), 1);
    EXPECT_EQ(count("b"), 1);
    await_no_transaction();
}

TEST_F(MysqlLateCommit, ARowThatWaitedForALockHasATimestampAfterTheWait) {
    lock_row("b");
    MysqlGlobalStore store(patient(url_, "eu"));
    std::thread publisher([&] { publish(store, {{cell_of("a"), 5}, {cell_of("b"), 5}}); });
    await_waiter();
    std::this_thread::sleep_for(50ms);
    const UnixTime released = now();
    unlock();
    publisher.join();
    EXPECT_GE(updated_at("b"), released);
}

// A connection that is idle in a transaction, as after its machine was suspended.
TEST_F(MysqlLateCommit, TheServerRollsBackAPublishThatItsClientDoesNotCommit) {
    MysqlConnection connection(patient(url_).server);
    ASSERT_FALSE(connection.connect());
    ASSERT_TRUE(std::holds_alternative<std::uint64_t>(connection.run(manual_commit_statement(1s))));
    const std::vector<RegionCount> rows = {{cell_of("a"), 5}};
    ASSERT_TRUE(std::holds_alternative<std::uint64_t>(
        connection.run(publish_statement("eu", rows, Stamp::kGrown))));
    await_no_transaction();
    EXPECT_TRUE(std::holds_alternative<MysqlFailure>(connection.run("COMMIT")));
    EXPECT_EQ(count("a"), 1);
}

// The first attempt may have been committed after its client gave up, later than its timestamp.
TEST_F(MysqlLateCommit, ARetryAfterALostReplyUpdatesTheTimestamp) {
    auto options = patient(url_, "eu");
    options.server.answer_timeout = 1s;
    options.retry_period = 10s;
    MysqlGlobalStore store(options);
    publish(store, "a", 2);
    server_->pause();
    const std::vector<RegionCount> rows = {{cell_of("a"), 3}};
    ASSERT_TRUE(global_test::try_publish(store, rows));
    server_->resume();
    MysqlGlobalStore other(patient(url_, "eu"));
    publish(other, "a", 3);
    make_older();
    const UnixTime before = now();
    publish(store, "b", 7);
    publish(store, rows);
    EXPECT_GE(updated_at("a"), before) << "the outcome of the first try was unknown";
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    do {
        std::this_thread::sleep_for(200ms);
        make_older();
        publish(store, rows);
    } while (updated_at("a") >= before && std::chrono::steady_clock::now() < deadline);
    EXPECT_LT(updated_at("a"), before) << "it can't be committed any more";
}

TEST_F(MysqlLateCommit, OtherCallsOnTheConnectionUseAutocommit) {
    MysqlGlobalStore store(patient(url_, "eu"));
    publish(store, "a", 2);
    EXPECT_EQ(global_test::delete_expired(store, 0s, 10), 2U);
    EXPECT_EQ(server_->number("SELECT COUNT(*) FROM ratelimit_window_counts"), 0);
    publish(store, "a", 3);
    EXPECT_EQ(import_all(store).of("a").at("eu"), 3U);
    EXPECT_EQ(open_transactions(), 0);
}

// As between two ticks. A table that is waiting to be altered delays all who use it.
TEST_F(MysqlLateCommit, AConnectionThatStandsIdleHoldsNoLockOnItsTables) {
    MysqlGlobalStore store(patient(url_, "eu"));
    server_->run("SET SESSION lock_wait_timeout = 3");
    for (const char* table : {"ratelimit_window_counts", "ratelimit_regions"}) {
        const std::string alter = "ALTER TABLE " + std::string(table) + " COMMENT = 'altered'";
        publish(store, "a", 2);
        EXPECT_NO_THROW(server_->run(alter)) << "after a publish";
        global_test::read(store, {cell_of("a")});
        EXPECT_NO_THROW(server_->run(alter)) << "after a read";
    }
    EXPECT_EQ(open_transactions(), 0);
    EXPECT_EQ(store.connections(), 1U);
}

}  // namespace
}  // namespace sluice::mariadb_test
