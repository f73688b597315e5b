// Live regions are marked and counted by the clock of the server.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mysql/mysql_connection.h"
#include "support/mariadb_server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

using namespace std::chrono_literals;
using global_test::cell_of;
using global_test::Components;
using global_test::publish;
using global_test::read;

class MysqlRegions : public testing::Test {
  protected:
    // Far from the time zone of any machine that runs the test.
    static void SetUpTestSuite() {
        server_ = std::make_unique<MariadbServer>(
            MariadbServerOptions{.flags = {"--default-time-zone=-11:00"}});
    }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override { server_->run("USE " + url_.database); }

    static std::int64_t now() { return server_->number("SELECT " + std::string(kSqlNow)); }
    static std::int64_t seen_at(const std::string& region) {
        return server_->number("SELECT seen_at FROM ratelimit_regions WHERE region = '" + region +
                               "'");
    }
    // A region that was marked so long ago.
    static void add_region(const std::string& region, std::chrono::milliseconds age) {
        server_->run("INSERT INTO ratelimit_regions (region, seen_at) VALUES ('" + region + "', " +
                     std::string(kSqlNow) + " - (" + std::to_string(age.count()) + "))");
    }

    static inline std::unique_ptr<MariadbServer> server_;
    const MysqlUrl url_ = server_->make_store();
};

TEST_F(MysqlRegions, ARegionIsMarkedWithTheTimeOfTheServer) {
    MysqlGlobalStore store(patient(url_, "eu"));
    for (int i = 0; i < 2; ++i) {
        const std::int64_t before = now();
        EXPECT_EQ(publish(store, std::vector<RegionCount>{}).regions, 1U);
        EXPECT_GE(seen_at("eu"), before);
        EXPECT_LE(seen_at("eu"), now());
    }
}

TEST_F(MysqlRegions, AMarkDoesNotMoveBackWithTheClockOfTheServer) {
    add_region("eu", -1h);
    const std::int64_t ahead = seen_at("eu");
    MysqlGlobalStore store(patient(url_, "eu"));
    EXPECT_EQ(publish(store, std::vector<RegionCount>{}).regions, 1U);
    EXPECT_EQ(seen_at("eu"), ahead);
}

TEST_F(MysqlRegions, RegionsAreCountedForTheTimeOfTheirMemory) {
    add_region("a", 0ms);
    add_region("b", kRegionMemory - 30s);
    add_region("c", kRegionMemory);
    add_region("d", kRegionMemory + 30s);
    add_region("e", -30s);
    MysqlGlobalStore store(patient(url_, "eu"));
    EXPECT_EQ(read(store, {}).regions, 3U) << "a, b and e";
    EXPECT_EQ(publish(store, "x", 1).regions, 3U) << "rows do not mark their region";
    EXPECT_EQ(publish(store, std::vector<RegionCount>{}).regions, 4U);
}

// Another program may have written it.
TEST_F(MysqlRegions, AComponentOfARegionWithoutANameIsNotTheirNumber) {
    MysqlGlobalStore store(patient(url_, "eu"));
    publish(store, std::vector<RegionCount>{});
    publish(store, "x", 1);
    server_->run(
        "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, duration_ms, "
        "sequence, region, count, expires_at, updated_at) SELECT workspace_id, namespace, "
        "identifier, duration_ms, sequence, '', 77, expires_at, updated_at FROM "
        "ratelimit_window_counts");
    const auto found = publish(store, "x", 2);
    EXPECT_EQ(found.regions, 1U);
    EXPECT_EQ(found.cells.at(cell_of("x")), (Components{{"", 77}, {"eu", 2}}));
}

TEST_F(MysqlRegions, CountsArePublishedWithoutTheRightToReadThem) {
    server_->run("CREATE USER writer IDENTIFIED BY 'w'");
    server_->run("GRANT SELECT ON ratelimit_schema TO writer");
    server_->run("GRANT SELECT, INSERT, UPDATE ON ratelimit_window_counts TO writer");
    MysqlUrl url = url_;
    url.user = "writer";
    url.password = "w";
    MysqlGlobalStore store(patient(url, "eu"));
    for (const Count count : {1U, 2U}) {
        EXPECT_EQ(publish(store, "x", count).regions, std::nullopt);
        EXPECT_EQ(server_->number("SELECT count FROM ratelimit_window_counts"),
                  static_cast<std::int64_t>(count));
    }
    EXPECT_EQ(store.connections(), 1U);
}

}  // namespace
}  // namespace sluice::mariadb_test
