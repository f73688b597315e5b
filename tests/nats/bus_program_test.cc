// `sluice serve` with a bus: it starts without one, and reports its outage and its return.
#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "nats/members.h"
#include "support/limit_client.h"
#include "support/nats_server.h"
#include "support/server.h"

namespace sluice::nats_test {
namespace {

using server_test::Server;
using namespace std::chrono_literals;

std::string metric(const Server& server, const std::string& name) {
    const std::string text = server.get("/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    if (at == std::string::npos) return "none";
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
}

bool is_degraded(const Server& server) {
    return server.get("/readyz").body.find(R"("degraded":["bus"])") != std::string::npos;
}

bool is_well(const Server& server) {
    return server.get("/readyz").body.find(R"("degraded":[])") != std::string::npos;
}

std::size_t lines_with(Server& server, std::string_view text) {
    const std::string log = server.program().output();
    std::size_t lines = 0;
    for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
        ++lines;
    return lines;
}

class BusProgram : public testing::Test {
  protected:
    std::vector<std::string> flags(const std::string& bus, const std::string& region = "eu") const {
        return {"--region", region, "--global", "sqlite:" + scratch_.path("g.db"), "--bus", bus};
    }

    server_test::ScratchFolder scratch_;
};

TEST_F(BusProgram, AnOutageOfTheBusIsReportedAndDelaysNoRequest) {
    NatsServer nats({.config = "authorization { user: a, password: hush }", .starts = false});
    Server server({.flags = flags(nats.url("a:hush"))});
    EXPECT_TRUE(eventually([&] { return is_degraded(server); })) << server.get("/readyz").body;
    EXPECT_EQ(metric(server, "sluice_bus_unavailable"), "1");
    nats.start();
    EXPECT_TRUE(eventually([&] { return is_well(server); })) << server.get("/readyz").body;
    EXPECT_EQ(metric(server, "sluice_bus_unavailable"), "0");

    RawClient raw(nats.url("a:hush"));
    raw.publish("sluice.v1.00", "hello");
    EXPECT_TRUE(
        eventually([&] { return metric(server, "sluice_bus_malformed_messages_total") == "1"; }));

    nats.kill();
    EXPECT_TRUE(eventually([&] { return is_degraded(server); }));
    regional_test::LimitClient client(server);
    for (int i = 0; i < 20; ++i) {
        const auto answer = client.ask({.identifier = "alice", .limit = 10});
        EXPECT_EQ(answer.passed, i < 10) << answer.body;
        EXPECT_LT(answer.took, 500ms);
    }
    nats.start();
    EXPECT_TRUE(eventually([&] { return is_well(server); }));
    EXPECT_EQ(metric(server, "sluice_bus_reconnects_total"), "1");
    EXPECT_TRUE(eventually([&] { return lines_with(server, "bus_recovered") == 2; }));
    EXPECT_EQ(lines_with(server, "bus_unavailable"), 2U) << server.program().output();
    EXPECT_EQ(lines_with(server, nats.address() + ": "), 2U) << server.program().output();
    EXPECT_EQ(lines_with(server, "hush"), 0U) << server.program().output();
}

// Imports come every 10 seconds: only the bus is faster.
TEST_F(BusProgram, AnotherRegionDeniesWithinASecondAndShowsWhy) {
    NatsServer nats;
    Server eu({.flags = flags(nats.url(), "eu")});
    Server us({.flags = flags(nats.url(), "us")});
    ASSERT_TRUE(eventually([&] { return is_well(eu) && is_well(us); }));
    const regional_test::Ask one{.identifier = "alice", .limit = 10, .duration = 24h};
    regional_test::Ask none = one;
    none.cost = 0;
    regional_test::LimitClient first(eu);
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(first.ask(one).passed);
    const auto spent_at = std::chrono::steady_clock::now();
    regional_test::LimitClient second(us);
    EXPECT_TRUE(eventually([&] { return second.ask(none).remaining == 0; }));
    // A second, and four more for a busy machine.
    EXPECT_LT(std::chrono::steady_clock::now() - spent_at, 5s);
    EXPECT_FALSE(second.ask(one).passed);

    const auto ending =
        server_test::run({"inspect", "test", "alice", "--duration", "24h", "--url", us.url()});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_NE(ending.out.find("\n  eu  "), std::string::npos) << ending.out;
    EXPECT_NE(ending.out.find(", 10 known here ("), std::string::npos) << ending.out;
    EXPECT_NE(ending.out.find(" ago, from the bus)"), std::string::npos) << ending.out;
}

TEST_F(BusProgram, ABadFileStopsItWithTheNameOfTheSetting) {
    auto arguments = flags("tls://a:hush@127.0.0.1:1");
    arguments.insert(arguments.begin(), "serve");
    arguments.insert(arguments.end(), {"--bus-tls-ca", scratch_.write("ca.pem", "no certificate")});
    const auto ending = server_test::run(arguments);
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_NE(ending.err.find("bus is \"tls://127.0.0.1:1\": the CA certificate for the bus"),
              std::string::npos)
        << ending.err;
    EXPECT_EQ(ending.err.find("hush"), std::string::npos);
}

}  // namespace
}  // namespace sluice::nats_test
