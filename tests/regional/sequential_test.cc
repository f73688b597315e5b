// Requests one after the other, at random nodes, in real time, over ten windows.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kNodes = 5;
constexpr int kWindows = 10;
constexpr std::chrono::milliseconds kWindow = 2s;
constexpr double kLoad = 1.5;  // requests per allowed request
constexpr auto kJoined = 5s;   // until every node has counted its peers

// What a region has passed of one key.
class Spent {
  public:
    void add(UnixTime now) { ++by_window_[now.time_since_epoch() / kWindow]; }

    // Whether one more fits the sliding window.
    bool leaves_room(UnixTime now, std::int64_t limit) const {
        const std::int64_t window = now.time_since_epoch() / kWindow;
        const std::int64_t left = (kWindow - now.time_since_epoch() % kWindow).count();
        return (at(window) + 1) * kWindow.count() + at(window - 1) * left <=
               limit * kWindow.count();
    }

    std::int64_t total() const {
        std::int64_t total = 0;
        for (const auto& [window, count] : by_window_)
            total += count;
        return total;
    }

  private:
    std::int64_t at(std::int64_t window) const {
        const auto found = by_window_.find(window);
        return found == by_window_.end() ? 0 : found->second;
    }

    std::map<std::int64_t, std::int64_t> by_window_;
};

// A limit under a load of kLoad times the limit.
struct Key {
    std::string identifier;
    std::int64_t limit;
    Clock::time_point next{};  // time of the next request
    Spent passed{};
    Spent exact{};  // what one exact limiter would have passed
    int false_denials = 0;

    Clock::duration pause(std::mt19937_64& random) const {
        const double rate =
            kLoad * static_cast<double>(limit) / std::chrono::duration<double>(kWindow).count();
        return std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(std::exponential_distribution(rate)(random)));
    }
};

void ask(Limiter& node, Key& key) {
    const auto now =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    const Request request{.name_space = "sequential",
                          .identifier = key.identifier,
                          .limit = key.limit,
                          .duration = kWindow};
    if (key.exact.leaves_room(now, key.limit)) key.exact.add(now);
    if (node.limit(request, now)->passed) {
        key.passed.add(now);
    } else if (key.passed.leaves_room(now, key.limit)) {
        ++key.false_denials;
    }
}

TEST(SequentialRequests, PassWithinOnePercentOfTheLimitAndNeverLess) {
    const RedisServer redis;
    auto nodes = make_nodes(kNodes, redis.url());
    std::this_thread::sleep_for(kJoined);
    std::array<Key, 4> keys = {{{.identifier = "five", .limit = 5},
                                {.identifier = "twenty", .limit = 20},
                                {.identifier = "hundred", .limit = 100},
                                {.identifier = "thousand", .limit = 1'000}}};
    std::mt19937_64 random(1);
    const Clock::time_point begin = Clock::now();
    for (Key& key : keys)
        key.next = begin + key.pause(random);
    while (true) {
        Key& key = *std::ranges::min_element(keys, {}, &Key::next);
        if (key.next > begin + kWindows * kWindow) break;
        std::this_thread::sleep_until(key.next);
        ask(nodes[random() % kNodes], key);
        key.next += key.pause(random);
    }
    for (const Key& key : keys) {
        const std::int64_t passed = key.passed.total();
        const std::int64_t exact = key.exact.total();
        std::cout << "limit " << key.limit << ": " << passed << " passed, exact are " << exact
                  << "\n";
        EXPECT_EQ(key.false_denials, 0) << "limit " << key.limit;
        EXPECT_LE(std::abs(passed - exact), std::max<std::int64_t>(1, exact / 100))
            << "limit " << key.limit << ": " << passed << " instead of " << exact;
        EXPECT_GT(exact, key.limit * kWindows / 2);
    }
    for (const Limiter& node : nodes)
        EXPECT_EQ(node.stats().origin.fallbacks, 0U);
}

}  // namespace
}  // namespace sluice::regional_test
