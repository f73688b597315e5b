// The expiry of keys in Redis: every key expires, none too early.
#include <sluice/limiter.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;

std::int64_t now_in_milliseconds() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

class Load {
  public:
    Load(std::vector<Limiter>& nodes, std::chrono::milliseconds duration) {
        thread_ = std::thread([this, &nodes, duration] {
            std::mt19937 random(1);
            while (!stop_.load(std::memory_order_relaxed)) {
                const std::string identifier = "k" + std::to_string(random() % 20);
                const Request request{.name_space = "lifetime",
                                      .identifier = identifier,
                                      .limit = random() % 2 == 0 ? 5 : 1'000,
                                      .duration = duration};
                EXPECT_TRUE(nodes[random() % nodes.size()].limit(request).has_value());
                std::this_thread::sleep_for(500us);
            }
        });
    }
    ~Load() {
        stop_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// The TTL that Redis reports may be a few milliseconds old.
constexpr std::int64_t kTick = 20;

// A cell is kept for two seconds longer than it matters.
constexpr std::int64_t kKeptLonger = 2'000;

// A cell may live longer than that by what its write takes, and by what its expiry is spread.
std::int64_t slack_of(std::int64_t duration) {
    return 1'000 + std::min<std::int64_t>(duration / 8, 60'000);
}

class Lifetime : public testing::TestWithParam<std::chrono::milliseconds> {};

TEST_P(Lifetime, OfEachKeyIsSetAtEveryInstant) {
    RedisServer redis;
    auto nodes = make_nodes(3, redis.url());
    int cells = 0;
    {
        const Load load(nodes, GetParam());
        // Over the ends of windows, where they are short.
        const auto time = GetParam() > 2s ? 2s : 3 * GetParam();
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            for (const std::string& key : held_keys(redis)) {
                const std::int64_t left = redis.command({"PTTL", key}).number;
                if (left == -2) continue;  // it is gone since
                ASSERT_GT(left, -1) << key;
                if (!is_cell_key(key)) continue;
                ++cells;
                const KeyParts parts = parts_of(key);
                const std::int64_t matters =
                    (parts.sequence + 2) * parts.duration - now_in_milliseconds();
                EXPECT_LE(
                    left,
                    std::max<std::int64_t>(matters, 0) + kKeptLonger + slack_of(parts.duration))
                    << key;
                EXPECT_GE(left + kTick, matters) << key;
            }
        }
    }
    EXPECT_GT(cells, 100);
    for (Limiter& node : nodes)
        node.close(5s);
    if (GetParam() > 2s) return;
    EXPECT_TRUE(eventually([&] { return held_cells(redis).empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Durations, Lifetime, testing::Values(1s, 2s, 1min, 24h));

TEST(Lifetime, OfAnEmptiedRedisIsSetAgain) {
    RedisServer redis;
    auto nodes = make_nodes(2, redis.url());
    const Load load(nodes, 10min);
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(eventually([&] { return held_cells(redis).size() > 10; }));
        for (const std::string& key : held_keys(redis))
            ASSERT_NE(redis.command({"PTTL", key}).number, -1) << key;
        redis.command({"FLUSHALL"});
    }
}

}  // namespace
}  // namespace sluice::regional_test
