// Bytes of a node arrive at Redis long after it sent them, or once more: no count grows by that.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "regional/wire_tap.h"
#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_proxy/resp_frame.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using server_test::Server;

// No window of this ends during a test.
constexpr std::chrono::milliseconds kLong = std::chrono::hours(24 * 30);

std::size_t occurrences(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1))
        ++count;
    return count;
}

TEST(LateCall, OfANodeThatHasStoppedChangesNothing) {
    RedisServer redis;
    WireTap tap(redis.port());
    const Server other(sharing(redis.url()));
    LimitClient elsewhere(other);
    const auto ask_for = [](const std::string& identifier, std::int64_t cost) {
        return Ask{.identifier = identifier, .limit = 1'000, .duration = kLong, .cost = cost};
    };
    // Of keys that it held before, and of new ones, which Redis decides.
    std::map<std::string, std::int64_t> spent;
    {
        Server stopped(sharing(tap.url(), {"--origin-timeout", "300ms"}));
        std::vector<LimitClient> clients;
        for (int i = 0; i < 10; ++i) {
            clients.emplace_back(stopped);
            const std::string identifier = "held" + std::to_string(i);
            ASSERT_TRUE(elsewhere.ask(ask_for(identifier, 400)).passed);
            ASSERT_TRUE(clients.back().ask(ask_for(identifier, 10)).passed);
            spent[identifier] = 410;
        }
        ASSERT_TRUE(eventually([&] { return totals_by_identifier(redis) == spent; }));

        tap.hold();
        std::vector<server_test::Connection> connections;
        for (int i = 0; i < 10; ++i) {
            const std::string identifier = "new" + std::to_string(i);
            connections.push_back(stopped.connect());
            connections.back().send(request_for(ask_for(identifier, 7)));
            spent[identifier] = 7;
        }
        for (auto& connection : connections)
            ASSERT_TRUE(read_limit_result(connection.receive()).passed);
        for (int i = 0; i < 10; ++i) {
            const std::string identifier = "held" + std::to_string(i);
            ASSERT_TRUE(clients[static_cast<std::size_t>(i)].ask(ask_for(identifier, 5)).passed);
            spent[identifier] += 5;
        }
        // By another connection.
        ASSERT_TRUE(eventually([&] { return totals_by_identifier(redis) == spent; }));
        stopped.program().signal(SIGTERM);
        ASSERT_EQ(stopped.program().wait().exit_code, 0);
    }
    ASSERT_EQ(totals_by_identifier(redis), spent);
    const std::string held = tap.held();
    EXPECT_GT(occurrences(held, "EVALSHA"), 0U);
    EXPECT_GT(occurrences(held, "new"), 0U);
    // A call that has Redis decide requests is good for a second longer than the timeout.
    std::this_thread::sleep_for(1'500ms);

    tap.deliver();
    ASSERT_TRUE(eventually([&] { return tap.is_answered(); }));
    EXPECT_EQ(totals_by_identifier(redis), spent);
    const Server fresh(sharing(redis.url()));
    LimitClient reader(fresh);
    for (const auto& [identifier, count] : spent) {
        EXPECT_EQ(elsewhere.ask(ask_for(identifier, 1)).remaining, 1'000 - count - 1) << identifier;
        EXPECT_EQ(reader.ask(ask_for(identifier, 1)).remaining, 1'000 - count - 2) << identifier;
    }
}

// What callers were granted, by identifier and sequence.
using Ledger = std::map<std::pair<std::string, std::int64_t>, std::int64_t>;

class RepeatedCalls : public testing::Test {
  protected:
    static constexpr std::chrono::milliseconds kWindow = 2s;

    // Asks both servers in turn, for costs of which many don't fit.
    void spend_for(std::chrono::milliseconds time) {
        LimitClient clients[] = {LimitClient(servers_[0]), LimitClient(servers_[1])};
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            const std::string identifier = "k" + std::to_string(random_() % 8);
            const std::int64_t now = std::chrono::floor<std::chrono::milliseconds>(
                                         std::chrono::system_clock::now().time_since_epoch())
                                         .count();
            const auto cost = static_cast<std::int64_t>(1 + random_() % 45);
            const LimitResult result = clients[random_() % 2].ask({.identifier = identifier,
                                                                   .limit = 50,
                                                                   .duration = kWindow,
                                                                   .cost = cost,
                                                                   .at = now});
            ASSERT_EQ(result.status, 200) << result.body;
            result.passed ? ++passed_ : ++denied_;
            if (result.passed) granted_[{identifier, now / kWindow.count()}] += cost;
            std::this_thread::sleep_for(2ms);
        }
    }

    // Sends commands on one connection of their own, and waits for the answers.
    void send(const std::vector<std::string>& commands) {
        std::string bytes;
        for (const std::string& command : commands)
            bytes += command;
        server_test::Connection connection(redis_.port());
        connection.send(bytes);
        connection.finish_sending();
        std::string replies = connection.receive_rest();
        std::size_t count = 0;
        while (redis_test::take_frame(replies))
            ++count;
        ASSERT_EQ(count, commands.size());
    }

    void expect_only_what_was_granted() {
        for (const HeldCell& cell : held_cells(redis_)) {
            const KeyParts parts = parts_of(cell.key);
            const auto found = granted_.find({parts.identifier, parts.sequence});
            EXPECT_LE(cell.total, found == granted_.end() ? 0 : found->second) << cell.key;
        }
    }

    RedisServer redis_;
    WireTap tap_{redis_.port()};
    std::mt19937 random_{1};
    Server servers_[2] = {Server(sharing(tap_.url(), {"--test-clock"})),
                          Server(sharing(tap_.url(), {"--test-clock"}))};
    Ledger granted_;
    int passed_ = 0;
    int denied_ = 0;
};

TEST_F(RepeatedCalls, OfExpiredWindowsEnterNothingThatWasNotGranted) {
    ASSERT_NO_FATAL_FAILURE(spend_for(7s));
    EXPECT_GT(passed_, 20);
    EXPECT_GT(denied_, 20);
    std::vector<std::string> calls;
    for (const std::string& command : tap_.commands())
        if (redis_test::command_name(command) == "EVALSHA" &&
            command.find("{5:local") != std::string::npos &&
            command.find(":k") != std::string::npos)
            calls.push_back(command);
    EXPECT_GT(calls.size(), 50U);
    for (Server& server : servers_) {
        server.program().signal(SIGTERM);
        ASSERT_EQ(server.program().wait().exit_code, 0);
    }
    expect_only_what_was_granted();
    ASSERT_TRUE(eventually([&] { return held_cells(redis_).empty(); })) << "they expire";

    for (int round = 0; round < 12; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        if (round == 1) std::ranges::reverse(calls);
        if (round > 1) std::ranges::shuffle(calls, random_);
        ASSERT_NO_FATAL_FAILURE(send(calls));
        expect_only_what_was_granted();
        // From here on the cells begin empty again.
        if (round % 2 == 1) {
            for (const HeldCell& cell : held_cells(redis_))
                redis_.command({"DEL", cell.key});
        }
    }
}

}  // namespace
}  // namespace sluice::regional_test
