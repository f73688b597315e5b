// The output of `sluice inspect` for a key that two nodes share.
#include <chrono>
#include <string>
#include <vector>

#include <boost/json.hpp>
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
using server_test::Ending;
using server_test::Server;

Ending run_inspect(const Server& server, const std::vector<std::string>& flags = {}) {
    // A day, so that no window ends in the midst of the test unless midnight comes.
    std::vector<std::string> words = {
        "inspect", "test", "alice", "--duration", "24h", "--url", server.url()};
    words.insert(words.end(), flags.begin(), flags.end());
    return server_test::run(words);
}

boost::json::value inspected(const Server& server) {
    const Ending ending = run_inspect(server, {"--json"});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    return server_test::json(ending.out).at("data");
}

Ask ask_for(std::int64_t limit, std::int64_t cost) {
    return {.identifier = "alice", .limit = limit, .duration = 24h, .cost = cost};
}

class Inspect : public testing::Test {
  protected:
    // A window of a day must not end before the test does.
    static void SetUpTestSuite() {
        ASSERT_TRUE(eventually(
            [] {
                const auto now = std::chrono::system_clock::now().time_since_epoch();
                return now % 24h < 24h - 30s;
            },
            40s));
    }

    void spend() {
        ASSERT_TRUE(LimitClient(*servers_[0]).ask(ask_for(1'000, 7)).passed);
        ASSERT_TRUE(eventually([&] { return total_of(redis_, "alice") == 7; }));
        ASSERT_TRUE(LimitClient(*servers_[1]).ask(ask_for(1'000, 5)).passed);
        ASSERT_TRUE(eventually([&] { return total_of(redis_, "alice") == 12; }));
    }

    RedisServer redis_;
    Servers servers_ = make_servers(2, redis_.url());
};

TEST_F(Inspect, PrintsTheCountsOfEachNodeAndTheOriginAsJson) {
    spend();
    const boost::json::value one = inspected(*servers_[0]);
    const boost::json::value two = inspected(*servers_[1]);
    EXPECT_NE(one.at("node"), two.at("node"));
    for (const boost::json::value& data : {one, two}) {
        EXPECT_TRUE(data.at("held").as_bool());
        EXPECT_FALSE(data.at("originUnavailable").as_bool());
        EXPECT_FALSE(data.at("unsynced").as_bool());
        EXPECT_EQ(data.at("lastLimit").as_int64(), 1'000);
        EXPECT_EQ(data.at("current").at("global").as_int64(), 0);
        const boost::json::value& origin = data.at("current").at("origin");
        EXPECT_EQ(origin.at("total").as_int64(), 12);
        EXPECT_EQ(origin.at("components").as_array().size(), 2U);
        EXPECT_GT(origin.at("lifetime").as_int64(), 24 * 3'600'000);
        EXPECT_EQ(data.at("previous").at("origin").at("total").as_int64(), 0);
        for (const boost::json::value& component : origin.at("components").as_array()) {
            const bool is_first = component.at("owner") == one.at("node");
            EXPECT_EQ(component.at("count").as_int64(), is_first ? 7 : 5);
        }
    }
    EXPECT_EQ(one.at("current").at("admitted").as_int64(), 7);
    EXPECT_EQ(one.at("current").at("settled").as_int64(), 7);
    EXPECT_EQ(two.at("current").at("admitted").as_int64(), 5);
    EXPECT_EQ(two.at("current").at("peers").as_int64(), 7);
}

TEST_F(Inspect, PrintsTheCountsOfEachNodeAndTheOriginAsText) {
    spend();
    const Ending ending = run_inspect(*servers_[1]);
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    const std::string node = std::string(inspected(*servers_[1]).at("node").as_string());
    const std::string other = std::string(inspected(*servers_[0]).at("node").as_string());
    for (const std::string& words : {std::string("test alice, windows of"),
                                     std::string("with limit 1000"),
                                     "This is node " + node + "; its origin is available.",
                                     node + "  5  (this node)\n",
                                     other + "  7\n"})
        EXPECT_NE(ending.out.find(words), std::string::npos) << words << "\n" << ending.out;
}

TEST_F(Inspect, PrintsADenial) {
    spend();
    EXPECT_FALSE(LimitClient(*servers_[1]).ask(ask_for(12, 1)).passed);
    EXPECT_NE(run_inspect(*servers_[1]).out.find("Denied recently"), std::string::npos);
    EXPECT_GT(inspected(*servers_[1]).at("strictUntil").as_int64(), 0);
}

TEST_F(Inspect, PrintsAKeyThatANodeDoesNotHold) {
    ASSERT_TRUE(LimitClient(*servers_[0]).ask(ask_for(1'000, 7)).passed);
    ASSERT_TRUE(eventually([&] { return total_of(redis_, "alice") == 7; }));
    const boost::json::value data = inspected(*servers_[1]);
    EXPECT_FALSE(data.at("held").as_bool());
    EXPECT_EQ(data.at("current").at("origin").at("total").as_int64(), 7);
    // The counts by which its first request would be decided.
    EXPECT_EQ(data.at("current").at("peers").as_int64(), 7);
    EXPECT_NE(run_inspect(*servers_[1]).out.find("does not hold the key"), std::string::npos);
    // To look is not to hold.
    EXPECT_FALSE(inspected(*servers_[1]).at("held").as_bool());
}

TEST_F(Inspect, WorksWhileTheOriginIsUnavailable) {
    spend();
    redis_.kill();
    ASSERT_TRUE(
        eventually([&] { return inspected(*servers_[0]).at("originUnavailable").as_bool(); }));
    ASSERT_TRUE(LimitClient(*servers_[0]).ask(ask_for(1'000, 1)).passed);
    const boost::json::value data = inspected(*servers_[0]);
    EXPECT_TRUE(data.at("unsynced").as_bool());
    EXPECT_EQ(data.at("current").at("admitted").as_int64(), 8);
    EXPECT_FALSE(data.at("current").as_object().contains("origin"));
    const Ending ending = run_inspect(*servers_[0]);
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_NE(ending.out.find("its origin is unavailable and lacks counts"), std::string::npos)
        << ending.out;
}

}  // namespace
}  // namespace sluice::regional_test
