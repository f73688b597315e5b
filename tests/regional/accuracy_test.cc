// Many nodes admit what one limiter would: over ten windows, within one percent or one request.
#include <sluice/limiter.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using std::chrono::milliseconds;

constexpr int kWindows = 10;

enum class Arrivals { kEven, kRandom };

struct Load {
    std::size_t nodes;
    double load;  // requests, as a multiple of the limit
    std::int64_t limit;
    std::chrono::seconds duration;
    Arrivals arrivals = Arrivals::kRandom;
    std::int64_t cost = 1;

    friend std::ostream& operator<<(std::ostream& out, const Load& shown) {
        return out << shown.nodes << " nodes, load " << shown.load << ", limit " << shown.limit
                   << " per " << shown.duration.count() << " s, cost " << shown.cost << ", "
                   << (shown.arrivals == Arrivals::kEven ? "even" : "random") << " arrivals";
    }
};

// The times of the requests, in order.
std::vector<UnixTime> times_of(const Load& load, std::mt19937_64& random) {
    const milliseconds whole = kWindows * milliseconds(load.duration);
    const auto count = static_cast<std::int64_t>(static_cast<double>(load.limit / load.cost) *
                                                 load.load * kWindows);
    const UnixTime begin{1000 * milliseconds(load.duration)};
    std::vector<UnixTime> times;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto part =
            load.arrivals == Arrivals::kEven
                ? i * whole.count() / count
                : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(whole.count()));
        times.push_back(begin + milliseconds(part));
    }
    std::ranges::sort(times);
    return times;
}

// What may differ from `exact` passes.
std::int64_t allowed_error(std::int64_t exact) {
    return std::max<std::int64_t>(1, exact / 100);
}

class Accuracy : public testing::TestWithParam<Load> {
  protected:
    static void SetUpTestSuite() { redis = new RedisServer; }
    static void TearDownTestSuite() {
        delete redis;
        redis = nullptr;
    }

    static inline RedisServer* redis = nullptr;
};

TEST_P(Accuracy, OfManyNodesIsThatOfOneLimiter) {
    const Load load = GetParam();
    std::mt19937_64 random(load.nodes * 1000 + static_cast<std::uint64_t>(load.limit));
    auto nodes = make_nodes(load.nodes, "redis+socket://" + redis->socket_path());
    auto alone = Limiter::create({.region = "alone", .max_keys = 100});
    ASSERT_TRUE(alone.has_value());
    const std::string identifier = testing::PrintToString(load);
    const Request request{.name_space = "accuracy",
                          .identifier = identifier,
                          .limit = load.limit,
                          .duration = load.duration,
                          .cost = load.cost};
    std::int64_t passed = 0;
    std::int64_t exact = 0;
    for (const UnixTime now : times_of(load, random)) {
        passed += nodes[random() % nodes.size()].limit(request, now)->passed ? 1 : 0;
        exact += alone->limit(request, now)->passed ? 1 : 0;
    }
    EXPECT_LE(std::abs(passed - exact), allowed_error(exact)) << passed << " instead of " << exact;
    for (const Limiter& node : nodes)
        EXPECT_EQ(node.stats().origin.fallbacks, 0U);
}

INSTANTIATE_TEST_SUITE_P(Loads,
                         Accuracy,
                         testing::Values(Load{1, 0.9, 10, 10s},
                                         Load{1, 2.0, 1'000, 300s},
                                         Load{3, 0.9, 100, 60s},
                                         Load{3, 1.5, 10, 10s},
                                         Load{3, 2.0, 100, 10s, Arrivals::kEven},
                                         Load{3, 1.5, 1'000, 60s},
                                         Load{5, 0.9, 10, 300s, Arrivals::kEven},
                                         Load{5, 1.5, 100, 60s, Arrivals::kEven},
                                         Load{5, 2.0, 10, 60s},
                                         Load{5, 0.9, 1'000, 10s},
                                         Load{5, 2.0, 10'000, 60s, Arrivals::kRandom, 20},
                                         Load{9, 0.9, 10'000, 60s},
                                         Load{9, 1.5, 10, 300s},
                                         Load{9, 2.0, 100, 300s},
                                         Load{9, 1.5, 10'000, 300s, Arrivals::kEven, 10},
                                         Load{9, 2.0, 10, 10s, Arrivals::kEven},
                                         Load{9, 0.9, 100, 10s}));

TEST(AccuracyOverHttp, OfThreeServersIsThatOfOneLimiter) {
    const Load load{3, 1.5, 50, 60s};
    RedisServer redis;
    const Servers servers =
        make_servers(load.nodes, redis.url(), {"--test-clock", "--origin-timeout", "5s"});
    std::vector<LimitClient> clients;
    for (const auto& server : servers)
        clients.emplace_back(*server);
    auto alone = Limiter::create({.region = "alone", .max_keys = 100});
    ASSERT_TRUE(alone.has_value());
    std::mt19937_64 random(1);
    std::int64_t passed = 0;
    std::int64_t exact = 0;
    for (const UnixTime now : times_of(load, random)) {
        const LimitResult result =
            clients[random() % clients.size()].ask({.identifier = "alice",
                                                    .limit = load.limit,
                                                    .duration = load.duration,
                                                    .at = now.time_since_epoch().count()});
        ASSERT_EQ(result.status, 200) << result.body;
        passed += result.passed ? 1 : 0;
        const Request request{.name_space = "test",
                              .identifier = "alice",
                              .limit = load.limit,
                              .duration = load.duration};
        exact += alone->limit(request, now)->passed ? 1 : 0;
    }
    EXPECT_LE(std::abs(passed - exact), allowed_error(exact)) << passed << " instead of " << exact;
}

}  // namespace
}  // namespace sluice::regional_test
