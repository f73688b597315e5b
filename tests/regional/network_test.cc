// A region whose network cuts, delays, duplicates, replays and swallows: no count is lost, none is
// counted twice.
#include <sluice/limiter.h>

#include <array>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/nodes.h"
#include "support/redis_proxy/proxy.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::FaultCounts;
using redis_test::Faults;
using redis_test::Proxy;
using redis_test::RedisServer;

constexpr int kKeys = 12;
constexpr std::size_t kNodes = 4;
constexpr std::size_t kThreads = 3;
constexpr std::chrono::milliseconds kDuration = 10min;
// The first instant of a window. Requests come in it and in the one before: both cells live.
constexpr UnixTime kBoundary{1'699'999'800'000ms};

// What each cell has admitted, by identifier and sequence.
using Ledger = std::map<std::pair<std::string, std::int64_t>, std::int64_t>;

std::string identifier_of(int key) {
    return "k" + std::to_string(key);
}

// Every third key is tight, so that strict mode and the last few passes are exercised as well.
Request request_for(const std::string& identifier, int key, std::int64_t cost) {
    return {.name_space = "network",
            .identifier = identifier,
            .limit = key % 3 == 0 ? 60 : 1'000'000,
            .duration = kDuration,
            .cost = cost};
}

class Client {
  public:
    Client(std::vector<Limiter>& nodes, std::uint64_t seed) : nodes_(nodes), random_(seed) {}

    void run(const std::atomic<bool>& stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            if (random_() % 4 == 0) {
                ask_two();
            } else {
                ask_one();
            }
            std::this_thread::sleep_for(100us);
        }
    }

    const Ledger& ledger() const { return ledger_; }
    std::uint64_t asked() const { return asked_; }

  private:
    int key() { return static_cast<int>(random_() % kKeys); }
    std::int64_t cost() { return static_cast<std::int64_t>(random_() % 4); }
    Limiter& node() { return nodes_[random_() % nodes_.size()]; }
    UnixTime time() { return kBoundary + std::chrono::milliseconds(random_() % 20'000) - 10s; }

    void count(const std::string& identifier, UnixTime now, std::int64_t cost) {
        ledger_[{identifier, now.time_since_epoch() / kDuration}] += cost;
    }

    void ask_one() {
        const int key = this->key();
        const std::string identifier = identifier_of(key);
        const Request request = request_for(identifier, key, cost());
        const UnixTime now = time();
        const auto decision = node().limit(request, now);
        ASSERT_TRUE(decision.has_value());
        ++asked_;
        if (decision->passed) count(identifier, now, request.cost);
    }

    void ask_two() {
        const int key = this->key();
        const int other = (key + 1) % kKeys;
        const std::array<std::string, 2> identifiers = {identifier_of(key), identifier_of(other)};
        const std::array requests = {request_for(identifiers[0], key, cost()),
                                     request_for(identifiers[1], other, cost())};
        const UnixTime now = time();
        const auto decision = node().limit_many(requests, now);
        ASSERT_TRUE(decision.has_value());
        ++asked_;
        if (!decision->passed) return;
        for (std::size_t i = 0; i < requests.size(); ++i)
            count(identifiers[i], now, requests[i].cost);
    }

    std::vector<Limiter>& nodes_;
    std::mt19937_64 random_;
    Ledger ledger_;
    std::uint64_t asked_ = 0;
};

// By cell: the total, or -1 where its components don't sum up to that.
Ledger held_in(RedisServer& redis) {
    Ledger held;
    for (const HeldCell& cell : held_cells(redis)) {
        const KeyParts parts = parts_of(cell.key);
        held[{parts.identifier, parts.sequence}] = cell.total == cell.sum ? cell.total : -1;
    }
    return held;
}

bool each_happened(const FaultCounts& counts) {
    return counts.cut_before_command > 0 && counts.cut_in_command > 0 &&
           counts.cut_before_reply > 0 && counts.cut_in_reply > 0 && counts.delay_command > 0 &&
           counts.delay_reply > 0 && counts.duplicate_command > 0 && counts.replay_command > 0 &&
           counts.swallow_reply > 0;
}

class Network : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Network, LosesNoCountAndCountsNoneTwice) {
    const std::uint64_t seed = GetParam();
    RedisServer redis;
    Proxy proxy({.server_port = redis.port(), .seed = seed});
    auto nodes = make_nodes(kNodes, "redis://127.0.0.1:" + std::to_string(proxy.port()), 150ms);
    proxy.set({.cut_before_command = 0.004,
               .cut_in_command = 0.004,
               .cut_before_reply = 0.004,
               .cut_in_reply = 0.004,
               .delay_command = 0.02,
               .delay_reply = 0.02,
               .max_delay = 30ms,
               .duplicate_command = 0.05,
               .replay_command = 0.05,
               .swallow_reply = 0.002});

    std::vector<Client> clients;
    for (std::size_t i = 0; i < kThreads; ++i)
        clients.emplace_back(nodes, seed * 100 + i);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (Client& client : clients)
        threads.emplace_back([&] { client.run(stop); });
    const auto least = std::chrono::steady_clock::now() + 2s;
    EXPECT_TRUE(eventually([&] {
        return std::chrono::steady_clock::now() > least && each_happened(proxy.counts());
    })) << "some fault never happened";
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    proxy.stop_faults();

    Ledger admitted;
    std::uint64_t asked = 0;
    for (const Client& client : clients) {
        asked += client.asked();
        for (const auto& [cell, cost] : client.ledger())
            if (cost > 0) admitted[cell] += cost;
    }
    EXPECT_TRUE(eventually([&] { return held_in(redis) == admitted; }, 15s));
    for (Limiter& node : nodes)
        node.close(5s);
    EXPECT_EQ(held_in(redis), admitted);
    EXPECT_GT(asked, 500U);
    EXPECT_GT(admitted.size(), std::size_t{kKeys});
}

INSTANTIATE_TEST_SUITE_P(Seeds, Network, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace sluice::regional_test
