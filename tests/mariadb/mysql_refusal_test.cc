// Servers that limit the size of statements, or refuse some rows.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/mariadb_server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

using global_test::cell_of;
using global_test::import_all;
using global_test::publish;
using Kind = StoreFailure::Kind;

std::vector<RegionCount> rows_with(const std::string& identifier, int rows) {
    std::vector<RegionCount> made;
    for (int i = 0; i < rows; ++i)
        made.push_back({cell_of(identifier + std::to_string(100'000 + i)), 1});
    return made;
}

std::int64_t rows_in(MariadbServer& server, const MysqlUrl& url) {
    return server.number("SELECT COUNT(*) FROM " + url.database + ".ratelimit_window_counts");
}

TEST(MysqlRefusal, StatementsRespectMaxAllowedPacket) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    server.run("SET GLOBAL max_allowed_packet = 16384");
    MysqlGlobalStore store(patient(url));
    publish(store, rows_with(std::string(200, 'x'), 1'000));
    EXPECT_EQ(import_all(store).cells.size(), 1'000U);
    EXPECT_EQ(store.connections(), 1U);
}

TEST(MysqlRefusal, AReadBackKeepsToTheLargestPacket) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    const auto rows = rows_with(std::string(200, 'x'), 1'000);
    MysqlGlobalStore us(patient(url, "us"));
    publish(us, rows);
    server.run("SET GLOBAL max_allowed_packet = 16384");
    MysqlGlobalStore eu(patient(url, "eu"));
    ASSERT_FALSE(global_test::try_publish(eu, {}));
    const auto published = publish(eu, rows);
    EXPECT_EQ(published.visits, 2'000U);
    EXPECT_EQ(published.regions, 1U);
    std::vector<CellName> cells;
    for (const RegionCount& row : rows)
        cells.push_back(row.cell);
    const auto found = global_test::read(eu, cells);
    EXPECT_EQ(found.visits, 2'000U);
    EXPECT_EQ(found.cells, published.cells);
    EXPECT_EQ(found.regions, 1U);
    EXPECT_EQ(eu.connections(), 1U);
}

TEST(MysqlRefusal, ARowLargerThanAPacketIsNamedInTheError) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    server.run("SET GLOBAL max_allowed_packet = 1024");
    MysqlGlobalStore store(patient(url));
    std::vector<RegionCount> too_long = rows_with(std::string(240, '\x01'), 1);
    too_long.front().cell.name_space = std::string(240, '\x01');
    const auto failure = global_test::try_publish(store, too_long);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kRows);
    EXPECT_NE(failure->why.find("max_allowed_packet of 1024"), std::string::npos) << failure->why;
    publish(store, "x", 1);
    EXPECT_EQ(rows_in(server, url), 1);
    EXPECT_EQ(store.connections(), 1U);
}

TEST(MysqlRefusal, AValueThatATriggerRefusesKeepsTheConnection) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    server.run("CREATE TRIGGER " + url.database + ".guard BEFORE INSERT ON " + url.database +
               ".ratelimit_window_counts FOR EACH ROW IF NEW.identifier = 'bad' THEN SIGNAL "
               "SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF");
    MysqlGlobalStore store(patient(url));
    const std::vector<RegionCount> rows = {
        {cell_of("bac"), 1}, {cell_of("bad"), 1}, {cell_of("bae"), 1}};
    const auto failure = global_test::try_publish(store, rows);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kRows);
    EXPECT_NE(failure->why.find("not this one"), std::string::npos) << failure->why;
    EXPECT_EQ(rows_in(server, url), 0);
    publish(store, "bac", 1);
    EXPECT_EQ(store.connections(), 1U);
}

// From a trigger: an error code that the store does not know.
TEST(MysqlRefusal, AnUnknownErrorRefusesTheRowsAndKeepsTheConnection) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    server.run("CREATE TRIGGER " + url.database + ".guard BEFORE INSERT ON " + url.database +
               ".ratelimit_window_counts FOR EACH ROW IF NEW.identifier = 'bad' THEN SIGNAL "
               "SQLSTATE '45000' SET MYSQL_ERRNO = 1416, MESSAGE_TEXT = 'not this one'; END IF");
    MysqlGlobalStore store(patient(url));
    const std::vector<RegionCount> rows = {{cell_of("bac"), 1}, {cell_of("bad"), 1}};
    const auto failure = global_test::try_publish(store, rows);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kRows);
    EXPECT_EQ(rows_in(server, url), 0);
    publish(store, "bac", 1);
    EXPECT_EQ(store.connections(), 1U);
}

// A user that may publish but not delete.
TEST(MysqlRefusal, AMissingPrivilegeKeepsTheConnection) {
    MariadbServer server;
    MysqlUrl url = server.make_store();
    server.run("CREATE USER writer IDENTIFIED BY 'w'");
    server.run("GRANT SELECT, INSERT, UPDATE ON " + url.database + ".* TO writer");
    url.user = "writer";
    url.password = "w";
    MysqlGlobalStore store(patient(url));
    publish(store, "x", 1);
    const auto deleted = store.delete_expired(std::chrono::milliseconds{0}, 10);
    const auto* const failure = std::get_if<StoreFailure>(&deleted);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kRefused);
    publish(store, "x", 2);
    EXPECT_EQ(store.connections(), 1U);
}

}  // namespace
}  // namespace sluice::mariadb_test
