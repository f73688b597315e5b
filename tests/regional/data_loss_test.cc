// Redis loses its data while nodes of a region know what was spent: what passes beyond the limits
// at a node that has never held the keys, and until when.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using server_test::Server;
using Clock = std::chrono::steady_clock;

constexpr int kKeys = 60;
constexpr std::int64_t kLimit = 10;
// Between the first requests for two keys, so that all of them cover more than a second.
constexpr auto kPace = 20ms;

class DataLoss : public testing::Test {
  protected:
    DataLoss() {
        for (const auto& server : servers_)
            clients_.emplace_back(*server);
    }

    static Ask ask_for(int key, std::int64_t cost = 1) {
        // No window ends during the test.
        return {.identifier = "k" + std::to_string(key),
                .limit = kLimit,
                .duration = std::chrono::hours(24 * 30),
                .cost = cost};
    }

    static std::int64_t pass_until_denied(LimitClient& client, int key) {
        std::int64_t passed = 0;
        while (passed < 10 * kLimit && client.ask(ask_for(key)).passed)
            ++passed;
        return passed;
    }

    // The nodes 0 and 1 spend what is left of all limits, in turn.
    void use_up() {
        for (int key = 0; key < kKeys; ++key) {
            for (int i = 0; i < kLimit; ++i)
                clients_[static_cast<std::size_t>(i % 2)].ask(ask_for(key));
            EXPECT_FALSE(clients_[0].ask(ask_for(key)).passed);
            EXPECT_FALSE(clients_[1].ask(ask_for(key)).passed);
        }
        ASSERT_TRUE(becomes_used_up());
    }

    bool becomes_used_up() {
        return eventually([this] {
            const auto totals = totals_by_identifier(redis_);
            return totals.size() == kKeys && std::ranges::all_of(totals, [](const auto& total) {
                       return total.second >= kLimit;
                   });
        });
    }

    double fallbacks() const {
        double sum = 0;
        for (const auto& server : servers_)
            sum +=
                server_test::sum_of(server->get("/metrics").body, "sluice_origin_fallbacks_total");
        return sum;
    }

    // Empties Redis and asks node 2 for each key until it denies. Returns what passes, by key.
    std::vector<std::int64_t> lose_and_ask() {
        std::vector<std::int64_t> passed;
        std::map<std::int64_t, int> keys_by_time;  // with a pass, in steps of 100 ms
        redis_.command({"FLUSHALL"});
        const auto lost = Clock::now();
        Clock::duration until{};
        for (int key = 0; key < kKeys; ++key) {
            std::this_thread::sleep_until(lost + key * kPace);
            const auto began = Clock::now() - lost;
            passed.push_back(pass_until_denied(clients_[2], key));
            if (passed.back() == 0) continue;
            ++keys_by_time[began / 100ms];
            until = began;
        }
        std::cout << "keys that passed again: "
                  << std::ranges::count_if(passed, [](auto n) { return n > 0; }) << " of " << kKeys
                  << ", the last after " << until / 1ms << " ms; by 100 ms:";
        for (const auto& [time, keys] : keys_by_time)
            std::cout << "  " << time * 100 << " ms: " << keys;
        std::cout << "\n";
        return passed;
    }

    // At most one more limit passes, and nothing once the nodes have written their counts again.
    void expect_bounded_loss() {
        const double fallbacks_before = fallbacks();
        for (const std::int64_t passed : lose_and_ask())
            EXPECT_LE(passed, kLimit);
        ASSERT_TRUE(becomes_used_up());
        // A denial by what is known of others is final.
        EXPECT_EQ(fallbacks(), fallbacks_before);
        for (LimitClient& client : clients_)
            for (int key = 0; key < kKeys; ++key)
                EXPECT_EQ(pass_until_denied(client, key), 0) << "key " << key;
    }

    RedisServer redis_;
    Servers servers_ = make_servers(3, redis_.url(), {"--origin-timeout", "10s"});
    std::vector<LimitClient> clients_;  // of each server
};

TEST_F(DataLoss, OpensOneMoreLimitUntilTheNodesHaveNoticed) {
    ASSERT_NO_FATAL_FAILURE(use_up());
    expect_bounded_loss();
}

TEST_F(DataLoss, KeepsTheCountsOfAStoppedNodeThatOthersHaveRead) {
    {
        Server stopped(sharing(redis_.url()));
        LimitClient client(stopped);
        for (int key = 0; key < kKeys; ++key)
            ASSERT_TRUE(client.ask(ask_for(key, 4)).passed);
        stopped.program().signal(SIGTERM);
        ASSERT_EQ(stopped.program().wait().exit_code, 0);
    }
    ASSERT_NO_FATAL_FAILURE(use_up());
    expect_bounded_loss();
}

}  // namespace
}  // namespace sluice::regional_test
