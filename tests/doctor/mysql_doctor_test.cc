// `sluice doctor` on a MariaDB, with each fault that it looks for.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/doctor_run.h"
#include "support/mariadb_server.h"

namespace sluice::doctor_test {
namespace {

using mariadb_test::MariadbServer;
using namespace std::chrono_literals;

// One server for all tests of this file: a start takes seconds.
class MysqlDoctor : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = new MariadbServer; }
    static void TearDownTestSuite() { delete server_; }

    void SetUp() override { database_ = server_->make_store().database; }

    std::string url(const std::string& login) const {
        return "mysql://" + login + "@127.0.0.1:" + std::to_string(server_->port()) + "/" +
               database_;
    }
    DoctorRun examine_url(const std::string& url, std::chrono::seconds shift = {}) const {
        return examine({"--region", "eu", "--global", url}, shift);
    }
    DoctorRun examine_store(std::chrono::seconds shift = {}) const {
        return examine_url(server_->url_text(database_), shift);
    }
    // A user of that name, with these rights on the database.
    std::string url_of_user(const std::string& name, const std::string& rights) const {
        server_->run("CREATE USER " + name + "@'%' IDENTIFIED BY 'hush-hush'");
        server_->run("GRANT " + rights + " ON " + database_ + ".* TO " + name + "@'%'");
        return url(name + ":hush-hush");
    }

    static MariadbServer* server_;
    std::string database_;
};

MariadbServer* MysqlDoctor::server_ = nullptr;

TEST_F(MysqlDoctor, FindsNothingWrongWithAGoodServer) {
    const DoctorRun run = examine_url(url_of_user("serving", "SELECT, INSERT, UPDATE, DELETE"));
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.is_clean("mysql")) << run.out;
    EXPECT_TRUE(run.has("ok", "mysql", "the user has the rights")) << run.out;
    EXPECT_TRUE(run.has("ok", "mysql", "READ COMMITTED")) << run.out;
    EXPECT_TRUE(run.has("ok", "mysql", "its clock is")) << run.out;
    EXPECT_EQ(run.out.find("hush-hush"), std::string::npos) << run.out;
    for (const char* table :
         {"ratelimit_window_counts", "ratelimit_overrides", "ratelimit_regions"})
        EXPECT_EQ(server_->number("SELECT COUNT(*) FROM " + database_ + "." + table), 0) << table;
}

TEST_F(MysqlDoctor, FindsMissingTables) {
    const DoctorRun run = examine_url(server_->url_text(server_->make_database()));
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "mysql", "sluice migrate")) << run.out;
}

TEST_F(MysqlDoctor, FindsTablesOfAnotherVersion) {
    server_->run("UPDATE " + database_ + ".ratelimit_schema SET version = version - 1");
    const DoctorRun run = examine_store();
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "mysql", "sluice migrate")) << run.out;
}

TEST_F(MysqlDoctor, FindsMissingRights) {
    const DoctorRun reader = examine_url(url_of_user("reader", "SELECT"));
    EXPECT_EQ(reader.exit_code, 2) << reader.out;
    EXPECT_TRUE(reader.has("fault", "mysql", "INSERT on ratelimit_window_counts")) << reader.out;
    EXPECT_TRUE(reader.has("fault", "mysql", "DELETE on ratelimit_regions")) << reader.out;
    EXPECT_TRUE(
        reader.has("fault", "mysql", "GRANT SELECT, INSERT, UPDATE, DELETE ON " + database_))
        << reader.out;

    // As of a user that was made for the tables of the version before.
    const std::string url = url_of_user("older", "USAGE");
    for (const char* table : {"ratelimit_schema",
                              "ratelimit_window_counts",
                              "ratelimit_overrides",
                              "ratelimit_overrides_version"})
        server_->run("GRANT SELECT, INSERT, UPDATE, DELETE ON " + database_ + "." + table +
                     " TO older@'%'");
    const DoctorRun older = examine_url(url);
    EXPECT_EQ(older.exit_code, 2) << older.out;
    EXPECT_TRUE(older.has("fault", "mysql", "SELECT on ratelimit_regions")) << older.out;
    EXPECT_FALSE(older.has("fault", "mysql", "SELECT on ratelimit_overrides")) << older.out;
}

TEST_F(MysqlDoctor, ChecksTheRightsOnEveryTable) {
    // Without these, the version can't be read, and rights are not checked.
    const std::string url = url_of_user("nobody", "CREATE");
    server_->run("GRANT SELECT ON " + database_ + ".ratelimit_schema TO nobody@'%'");
    const DoctorRun run = examine_url(url);
    const auto tables =
        server_->rows("SELECT table_name FROM information_schema.tables WHERE table_schema = '" +
                      database_ + "'");
    ASSERT_GE(tables.size(), 6U);
    for (const auto& table : tables)
        EXPECT_TRUE(run.has("fault", "mysql", "DELETE on " + table[0])) << table[0] << run.out;
}

TEST_F(MysqlDoctor, ChecksTheReplicaForReadingOnly) {
    const std::string reader = url_of_user("replica_reader", "SELECT");
    const DoctorRun run = examine(
        {"--region", "eu", "--global", server_->url_text(database_), "--global-replica", reader});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("ok", "mysql replica", "the user has the rights")) << run.out;
}

TEST_F(MysqlDoctor, FindsAReadOnlyServer) {
    server_->run("SET GLOBAL read_only = 1");
    const DoctorRun run = examine_store();
    server_->run("SET GLOBAL read_only = 0");
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "mysql", "name the primary")) << run.out;
}

TEST_F(MysqlDoctor, ALaxModeOfTheServerDoesNotMatter) {
    server_->run("SET GLOBAL sql_mode = 'NO_ENGINE_SUBSTITUTION'");
    const DoctorRun run = examine_store();
    server_->run("SET GLOBAL sql_mode = DEFAULT");
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("ok", "mysql", "sql_mode of the session is strict")) << run.out;
}

TEST_F(MysqlDoctor, FindsSmallPackets) {
    for (const auto& [bytes, level] : {std::pair{"32768", "fault"}, {"131072", "warning"}}) {
        server_->run(std::string("SET GLOBAL max_allowed_packet = ") + bytes);
        const DoctorRun run = examine_store();
        server_->run("SET GLOBAL max_allowed_packet = DEFAULT");
        EXPECT_TRUE(run.has(level, "mysql", "max_allowed_packet is " + std::string(bytes)))
            << run.out;
    }
}

TEST_F(MysqlDoctor, ComparesClocks) {
    const DoctorRun run = examine_store(100s);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "mysql", " ms behind this machine's")) << run.out;
}

TEST_F(MysqlDoctor, FindsAServerThatCannotBeUsed) {
    const DoctorRun login = examine_url(url("alice:wrong-word"));
    EXPECT_EQ(login.exit_code, 2) << login.out;
    EXPECT_TRUE(login.has("fault", "mysql", "Access denied")) << login.out;
    EXPECT_EQ(login.out.find("wrong-word"), std::string::npos) << login.out;
    const DoctorRun down = examine_url("mysql://alice@127.0.0.1:1/limits");
    EXPECT_EQ(down.exit_code, 2) << down.out;
    EXPECT_TRUE(down.has("fault", "mysql", "start MySQL")) << down.out;
}

TEST(MysqlDoctorOfABinaryLog, FindsStatements) {
    MariadbServer server({.flags = {"--log-bin", "--server-id=1", "--binlog-format=STATEMENT"}});
    // Made by its administrator: with this format the user of Sluice can't.
    const std::string database = server.make_database();
    const DoctorRun run = examine({"--region", "eu", "--global", server.url_text(database)});
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "mysql", "set binlog_format to ROW or MIXED")) << run.out;
}

}  // namespace
}  // namespace sluice::doctor_test
