// Redis is killed under load and comes back empty.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using Clock = std::chrono::steady_clock;

constexpr Clock::duration kTimeout = 300ms;
// What a busy machine may add.
constexpr Clock::duration kSlack = 1s;

// Asks all servers in turn, for keys of its own and of all.
class Client {
  public:
    Client(const Servers& servers, int number)
        : number_(number), random_(static_cast<unsigned>(number)) {
        for (const auto& server : servers)
            connections_.emplace_back(*server);
    }

    void run(const std::atomic<bool>& stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            ask();
            std::this_thread::sleep_for(1ms);
        }
    }

    std::map<std::string, std::int64_t> admitted;
    std::int64_t failed = 0;
    std::int64_t asked = 0;
    Clock::duration longest{};

  private:
    void ask() {
        const bool is_shared = random_() % 2 == 0;
        const bool is_tight = random_() % 4 == 0;
        const std::string identifier = (is_shared ? "all" : "own" + std::to_string(number_)) +
                                       (is_tight ? "tight" : "wide") +
                                       std::to_string(random_() % 5);
        const auto cost = static_cast<std::int64_t>(1 + random_() % 3);
        LimitClient& client = connections_[random_() % connections_.size()];
        const LimitResult result = client.ask(
            {.identifier = identifier, .limit = is_tight ? 40 : 1'000'000, .cost = cost});
        ++asked;
        if (result.status != 200) ++failed;
        if (result.passed) admitted[identifier] += cost;
        longest = std::max(longest, result.took);
    }

    const int number_;
    std::mt19937 random_;
    std::vector<LimitClient> connections_;
};

std::int64_t milliseconds(Clock::duration time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

class Crash : public testing::Test {
  protected:
    Crash() {
        // No further requests come for these: only the counts of the nodes can restore them.
        for (int i = 0; i < 40; ++i) {
            const std::string identifier = "quiet" + std::to_string(i % 20);
            LimitClient client(*servers_[static_cast<std::size_t>(i) % servers_.size()]);
            if (client.ask({.identifier = identifier, .cost = i + 1}).passed)
                quiet_[identifier] += i + 1;
        }
        for (int i = 0; i < 3; ++i)
            clients_.emplace_back(servers_, i);
        for (Client& client : clients_)
            threads_.emplace_back([&] { client.run(stop_); });
    }
    ~Crash() override { stop(); }

    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
    }

    void expect_unaffected_clients() const {
        for (const Client& client : clients_) {
            EXPECT_EQ(client.failed, 0);
            EXPECT_GT(client.asked, 50);
            EXPECT_LT(client.longest, kTimeout + kSlack);
        }
    }

    // Waits until Redis holds this much, beside the counts of all quiet keys.
    bool eventually_holds(std::int64_t much) {
        return eventually([&] {
            std::int64_t sum = 0;
            std::map<std::string, std::int64_t> quiet;
            for (const auto& [identifier, total] : totals_by_identifier(redis_)) {
                if (quiet_.contains(identifier)) {
                    quiet[identifier] = total;
                } else {
                    sum += total;
                }
            }
            return sum >= much && quiet == quiet_;
        });
    }

    std::map<std::string, std::int64_t> admitted() const {
        std::map<std::string, std::int64_t> sum = quiet_;
        for (const Client& client : clients_)
            for (const auto& [identifier, cost] : client.admitted)
                sum[identifier] += cost;
        return sum;
    }

    Clock::duration longest() const {
        Clock::duration longest{};
        for (const Client& client : clients_)
            longest = std::max(longest, client.longest);
        return longest;
    }

    RedisServer redis_;
    Servers servers_ = make_servers(2, redis_.url(), {"--origin-timeout", "300ms"});
    std::map<std::string, std::int64_t> quiet_;  // admitted of the quiet keys
    std::vector<Client> clients_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

TEST_F(Crash, FailsNoRequestAndAllCountsAreRestoredWithinTwoSeconds) {
    ASSERT_TRUE(eventually_holds(500));
    redis_.kill();
    std::this_thread::sleep_for(1s);  // the length of the outage
    redis_.start();
    const auto back = Clock::now();
    std::this_thread::sleep_for(200ms);  // requests while it comes back
    stop();
    const auto expected = admitted();
    EXPECT_TRUE(eventually([&] { return totals_by_identifier(redis_) == expected; }));
    const auto took = Clock::now() - back;
    EXPECT_EQ(totals_by_identifier(redis_), expected);
    EXPECT_LT(took, 2s);
    expect_unaffected_clients();
    RecordProperty("made_good_ms", std::to_string(milliseconds(took)));
    std::cout << "made good after " << milliseconds(took) << " ms; the longest answer took "
              << milliseconds(longest()) << " ms\n";
}

TEST_F(Crash, RepeatedlyLosesNothing) {
    for (int round = 0; round < 4; ++round) {
        ASSERT_TRUE(eventually_holds((round + 1) * 200));
        redis_.restart_empty();
    }
    stop();
    const auto expected = admitted();
    EXPECT_TRUE(eventually([&] { return totals_by_identifier(redis_) == expected; }));
    EXPECT_EQ(totals_by_identifier(redis_), expected);
    expect_unaffected_clients();
}

TEST_F(Crash, AnEmptiedRedisIsFilledAgain) {
    ASSERT_TRUE(eventually_holds(500));
    redis_.command({"FLUSHALL"});
    stop();
    const auto expected = admitted();
    EXPECT_TRUE(eventually([&] { return totals_by_identifier(redis_) == expected; }));
    EXPECT_EQ(totals_by_identifier(redis_), expected);
    expect_unaffected_clients();
}

}  // namespace
}  // namespace sluice::regional_test
