// The global store is wrong, missing, killed or stopped: no request waits for it, the server
// says what is wrong, and what was missed is published exactly when it is back.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "global/regions.h"
#include "support/eventually.h"
#include "support/limit_client.h"
#include "support/mariadb_server.h"
#include "support/server.h"

namespace sluice::global_test {
namespace {

using mariadb_test::MariadbServer;
using regional_test::eventually;
using regional_test::LimitClient;
using server_test::Server;
using namespace std::chrono_literals;

// A stall of this machine may take as long; a wait for the store takes seconds.
constexpr auto kDelayed = 500ms;

void expect_logged(Server& server, std::string_view why) {
    EXPECT_TRUE(eventually([&] {
        const std::string log = server.program().output();
        const std::size_t line = log.find("global_unavailable");
        return line != std::string::npos && log.find(why, line) != std::string::npos;
    })) << "not logged: "
        << why << "\n"
        << server.program().output();
    EXPECT_EQ(server.program().output().find(MariadbServer::kPassword), std::string::npos);
}

// It serves, says that it is degraded, and lets no request wait.
void expect_degraded(const Server& server) {
    EXPECT_TRUE(eventually([&] { return degraded(server) == R"(["global"])"; }))
        << degraded(server);
    EXPECT_EQ(metric(server, "sluice_global_unavailable"), 1);
    LimitClient client(server);
    for (int i = 0; i < 20; ++i) {
        const auto fared = client.ask(ask_for("someone", 1, 10));
        EXPECT_EQ(fared.status, 200) << fared.body;
        EXPECT_EQ(fared.passed, i < 10);
        EXPECT_LT(fared.took, kDelayed);
    }
}

void expect_well(const Server& server) {
    EXPECT_TRUE(eventually([&] { return degraded(server) == "[]"; })) << degraded(server);
}

TEST(UnusableGlobal, NothingListensUntilItDoes) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    mariadb.kill();
    Server server(in_region("a", mariadb.url_text(database)));
    expect_degraded(server);
    expect_logged(server, "");
    mariadb.start();
    expect_well(server);
    EXPECT_TRUE(eventually([&] {
        return rows_of(mariadb, database, "someone") ==
               std::map<std::string, std::int64_t>{{"a", 10}};
    }));
}

TEST(UnusableGlobal, AWrongPasswordADatabaseAndATableThatAreMissing) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    const std::string address = "@127.0.0.1:" + std::to_string(mariadb.port()) + "/";
    Server stranger(in_region("a", "mysql://alice:wr0ng" + address + database));
    expect_degraded(stranger);
    expect_logged(stranger, "assword");
    EXPECT_EQ(stranger.program().output().find("wr0ng"), std::string::npos);

    Server lost(in_region("a", mariadb.url_text("sluice_nowhere")));
    expect_degraded(lost);
    expect_logged(lost, "sluice_nowhere");

    Server empty(in_region("a", mariadb.url_text(mariadb.make_database())));
    expect_degraded(empty);
    expect_logged(empty, "sluice migrate");
}

TEST(UnusableGlobal, ASchemaThatIsOlderOrNewer) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    const std::int64_t version =
        mariadb.number("SELECT MAX(version) FROM " + database + ".ratelimit_schema");
    mariadb.run("UPDATE " + database + ".ratelimit_schema SET version = version + 1");
    Server older(in_region("a", mariadb.url_text(database)));
    expect_degraded(older);
    expect_logged(older, "this program is older");
    mariadb.run("UPDATE " + database +
                ".ratelimit_schema SET version = " + std::to_string(version - 1));
    Server newer(in_region("a", mariadb.url_text(database)));
    expect_degraded(newer);
    expect_logged(newer, "sluice migrate");
    mariadb.run("UPDATE " + database +
                ".ratelimit_schema SET version = " + std::to_string(version));
    expect_well(older);
    expect_well(newer);
}

TEST(UnusableGlobal, AServerThatOnlyReads) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    mariadb.run("SET GLOBAL read_only = 1");
    Server server(in_region("a", mariadb.url_text(database)));
    EXPECT_TRUE(passes(server, ask_for("alice", 6)));
    EXPECT_TRUE(eventually([&] { return metric(server, "sluice_global_write_errors_total") > 0; }));
    expect_logged(server, "read-only");
    mariadb.run("SET GLOBAL read_only = 0");
    EXPECT_TRUE(eventually([&] { return !rows_of(mariadb, database, "alice").empty(); }));
    expect_well(server);
}

TEST(UnusableGlobal, OneRowThatIsRefusedLeavesTheOthersAlone) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    mariadb.run("CREATE TRIGGER " + database + ".guard BEFORE INSERT ON " + database +
                ".ratelimit_window_counts FOR EACH ROW IF NEW.identifier = 'bad' THEN SIGNAL "
                "SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF");
    Server server(in_region("a", mariadb.url_text(database)));
    for (const char* identifier : {"alice", "bad", "carol"})
        EXPECT_TRUE(passes(server, ask_for(identifier, 8)));
    for (const char* identifier : {"alice", "carol"})
        EXPECT_TRUE(eventually([&] { return !rows_of(mariadb, database, identifier).empty(); }))
            << identifier;
    EXPECT_TRUE(
        eventually([&] { return metric(server, "sluice_global_rows_refused_total") == 1; }));
    EXPECT_TRUE(eventually([&] {
        const std::string log = server.program().output();
        return log.find("global_rows_refused") != std::string::npos &&
               log.find("not this one") != std::string::npos;
    })) << server.program().output();
    EXPECT_NE(server.program().output().find("identifier_bytes=3 identifier_sha256="),
              std::string::npos);
    EXPECT_EQ(server.program().output().find("identifier=bad"), std::string::npos);
    expect_well(server);
}

// The new primary lacks the last rows, and their keys are at their limits: nothing of them grows.
TEST(GlobalOutage, RowsThatAFailoverLosesAreRestored) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    const Server server(in_region("a", mariadb.url_text(database)));
    const std::map<std::string, std::int64_t> wanted = {{"a", 10}};
    EXPECT_TRUE(passes(server, ask_for("alice", 10)));
    EXPECT_TRUE(eventually([&] { return rows_of(mariadb, database, "alice") == wanted; }));
    mariadb.run("DELETE FROM " + database + ".ratelimit_window_counts");
    mariadb.kill();
    mariadb.start();
    EXPECT_TRUE(eventually([&] { return rows_of(mariadb, database, "alice") == wanted; }));
    EXPECT_FALSE(passes(server, ask_for("alice", 1)));
    EXPECT_TRUE(eventually([&] { return metric(server, "sluice_global_republishes_total") > 0; }));
}

// Two regions under load while the store crashes, stands still, and returns.
TEST(GlobalOutage, NoRequestWaitsAndInTheEndAllIsExact) {
    MariadbServer mariadb;
    const std::string database = mariadb.make_store().database;
    std::vector<std::unique_ptr<Server>> servers;
    for (const char* region : {"a", "b"})
        servers.push_back(std::make_unique<Server>(in_region(region, mariadb.url_text(database))));

    constexpr std::int64_t kLimit = 1'000;  // so that a quarter of it is spent soon
    std::atomic<bool> is_over{false};
    std::atomic<int> delayed{0};
    std::atomic<int> failed{0};
    std::vector<std::thread> clients;
    std::vector<std::map<std::string, std::int64_t>> spent(servers.size());
    for (std::size_t i = 0; i < servers.size(); ++i) {
        clients.emplace_back([&, i] {
            LimitClient client(*servers[i]);
            for (int n = 0; !is_over; ++n) {
                const std::string identifier = "k" + std::to_string(n % 7);
                const auto fared = client.ask(ask_for(identifier, 1 + n % 3, kLimit));
                if (fared.status != 200) ++failed;
                if (fared.took > kDelayed) ++delayed;
                if (fared.passed) spent[i][identifier] += 1 + n % 3;
                std::this_thread::sleep_for(2ms);
            }
        });
    }
    std::this_thread::sleep_for(2s);
    mariadb.kill();  // in mid-publish or mid-import: both happen five times a second
    std::this_thread::sleep_for(2s);
    mariadb.start();
    std::this_thread::sleep_for(2s);
    mariadb.pause();
    std::this_thread::sleep_for(3s);
    mariadb.resume();
    std::this_thread::sleep_for(1s);
    mariadb.kill();
    mariadb.start();
    is_over = true;
    for (std::thread& client : clients)
        client.join();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(delayed, 0);

    for (int k = 0; k < 7; ++k) {
        const std::string identifier = "k" + std::to_string(k);
        const std::map<std::string, std::int64_t> wanted = {{"a", spent[0][identifier]},
                                                            {"b", spent[1][identifier]}};
        EXPECT_TRUE(eventually([&] { return rows_of(mariadb, database, identifier) == wanted; }))
            << identifier;
        await_global(*servers[0], identifier, spent[1][identifier], kLimit);
        await_global(*servers[1], identifier, spent[0][identifier], kLimit);
    }
    for (const auto& server : servers)
        expect_well(*server);
}

}  // namespace
}  // namespace sluice::global_test
