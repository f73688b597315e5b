// Servers of a region that stop and start again during a window.
#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/process.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using server_test::Server;

constexpr std::int64_t kStart = 1'699'999'800'000;

Ask ask_for(const std::string& identifier, std::int64_t cost = 1) {
    return {.identifier = identifier, .limit = 100, .cost = cost, .at = kStart + 60'000};
}

// Later in the same window: earlier counts of peers are too old to rely on.
int pass_until_denied(const Server& server, const std::string& identifier) {
    LimitClient client(server);
    Ask ask = ask_for(identifier);
    *ask.at += 20'000;
    int passed = 0;
    while (passed <= 1'000 && client.ask(ask).passed)
        ++passed;
    return passed;
}

class RegionRestart : public testing::Test {
  protected:
    Server start() const { return Server(sharing(redis_.url(), {"--test-clock"})); }

    RedisServer redis_;
};

TEST_F(RegionRestart, AStoppedServerNeitherLosesNorDoublesCounts) {
    const Server other = start();
    EXPECT_TRUE(LimitClient(other).ask(ask_for("alice", 20)).passed);
    {
        Server server = start();
        LimitClient client(server);
        for (int i = 0; i < 40; ++i)
            ASSERT_TRUE(client.ask(ask_for("alice")).passed);
        server.program().signal(SIGTERM);
        ASSERT_EQ(server.program().wait().exit_code, 0);
        EXPECT_EQ(total_of(redis_, "alice"), 60);
    }
    const Server again = start();
    EXPECT_EQ(pass_until_denied(again, "alice"), 40);
    EXPECT_EQ(pass_until_denied(other, "alice"), 0);
    EXPECT_TRUE(eventually([&] { return total_of(redis_, "alice") == 100; }));
}

TEST_F(RegionRestart, AKilledServerNeitherLosesNorDoublesCounts) {
    const Server other = start();
    EXPECT_TRUE(LimitClient(other).ask(ask_for("alice", 20)).passed);
    {
        Server server = start();
        LimitClient client(server);
        for (int i = 0; i < 40; ++i)
            ASSERT_TRUE(client.ask(ask_for("alice")).passed);
        ASSERT_TRUE(eventually([&] { return total_of(redis_, "alice") == 60; }));
        server.program().signal(SIGKILL);
        ASSERT_EQ(server.program().wait().signal, SIGKILL);
    }
    const Server again = start();
    EXPECT_EQ(pass_until_denied(again, "alice"), 40);
    EXPECT_EQ(pass_until_denied(other, "alice"), 0);
    EXPECT_TRUE(eventually([&] { return total_of(redis_, "alice") == 100; }));
}

TEST_F(RegionRestart, AStopRightAfterABurstFlushesAllOfIt) {
    constexpr int kAsked = 400;
    Server server = start();
    auto connection = server.connect();
    std::string requests;
    for (int i = 0; i < kAsked; ++i) {
        Ask ask = ask_for("k" + std::to_string(i % 100));
        ask.limit = 1'000'000;
        requests += request_for(ask);
    }
    connection.send(requests);
    std::int64_t passed = 0;
    for (int i = 0; i < kAsked; ++i)
        passed += read_limit_result(connection.receive()).passed ? 1 : 0;
    server.program().signal(SIGTERM);
    ASSERT_EQ(server.program().wait().exit_code, 0);
    std::int64_t total = 0;
    for (const auto& [identifier, stored] : totals_by_identifier(redis_))
        total += stored;
    EXPECT_EQ(passed, kAsked);
    EXPECT_EQ(total, passed);
}

TEST_F(RegionRestart, AStopDuringAnOutageWaitsUntilTheDeadline) {
    Server server(sharing(redis_.url(), {"--drain-timeout", "2s"}));
    redis_.kill();
    EXPECT_TRUE(LimitClient(server).ask({.identifier = "alice"}).passed);
    server.program().signal(SIGTERM);
    EXPECT_EQ(server.program().wait(15s).exit_code, 0);
}

TEST_F(RegionRestart, AStopDuringAnOutageFlushesIfRedisReturnsInTime) {
    Server server(sharing(redis_.url(), {"--drain-timeout", "20s"}));
    redis_.kill();
    EXPECT_TRUE(LimitClient(server).ask({.identifier = "alice"}).passed);
    server.program().signal(SIGTERM);
    redis_.start();
    ASSERT_EQ(server.program().wait().exit_code, 0);
    EXPECT_EQ(totals_by_identifier(redis_)["alice"], 1);
}

TEST_F(RegionRestart, AStopDuringAnOutageIsImmediateWithNothingUnsynced) {
    Server server(sharing(redis_.url(), {"--drain-timeout", "60s"}));
    redis_.kill();
    server.program().signal(SIGTERM);
    EXPECT_EQ(server.program().wait().exit_code, 0);
}

class KeptCounts : public testing::Test {
  protected:
    Server start() const {
        return Server({.flags = {"--data-dir", folder_.path("data"), "--test-clock"}});
    }

    server_test::ScratchFolder folder_;
};

TEST_F(KeptCounts, OfADataFolderSurviveAStop) {
    for (int round = 0; round < 3; ++round) {
        Server server = start();
        LimitClient client(server);
        for (int i = 0; i < 30; ++i)
            EXPECT_TRUE(client.ask(ask_for("alice")).passed);
        server.program().signal(SIGTERM);
        ASSERT_EQ(server.program().wait().exit_code, 0);
    }
    const Server server = start();
    EXPECT_EQ(pass_until_denied(server, "alice"), 10);
}

TEST_F(KeptCounts, OfADataFolderSurviveACrashOnceWritten) {
    {
        Server server = start();
        LimitClient client(server);
        for (int i = 0; i < 30; ++i)
            EXPECT_TRUE(client.ask(ask_for("alice")).passed);
        ASSERT_TRUE(eventually([&] {
            const auto answer =
                server.ask("/v2/ratelimit.inspect",
                           R"({"namespace":"test","identifier":"alice","duration":600000})",
                           {{"X-Test-Time", std::to_string(kStart + 60'000)}});
            return answer.body.find(R"("unsynced":false)") != std::string::npos;
        }));
        server.program().signal(SIGKILL);
        ASSERT_EQ(server.program().wait().signal, SIGKILL);
    }
    const Server server = start();
    EXPECT_EQ(pass_until_denied(server, "alice"), 70);
}

TEST(UnixSocket, CarriesARegion) {
    RedisServer redis;
    const Servers servers =
        make_servers(2, "redis+socket://" + redis.socket_path(), {"--test-clock"});
    EXPECT_TRUE(LimitClient(*servers[0]).ask(ask_for("alice", 60)).passed);
    ASSERT_TRUE(eventually([&] { return total_of(redis, "alice") == 60; }));
    EXPECT_EQ(pass_until_denied(*servers[1], "alice"), 40);
    EXPECT_TRUE(eventually([&] { return total_of(redis, "alice") == 100; }));
}

}  // namespace
}  // namespace sluice::regional_test
