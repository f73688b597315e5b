// A stalled Redis: it accepts connections and answers nothing.
#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
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

std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at))
        ++count, at += word.size();
    return count;
}

double metric(const Server& server, std::string_view name) {
    return server_test::sum_of(server.get("/metrics").body, name);
}

boost::json::value readiness(const Server& server) {
    return server_test::expect_data(server.get("/readyz"));
}

const boost::json::value kReady = server_test::json(R"({"status":"ready","degraded":[]})");
const boost::json::value kDegraded =
    server_test::json(R"({"status":"ready","degraded":["origin"]})");

TEST(Stall, DelaysAtMostOneRequestPerFiveSecondsAndLosesNothing) {
    constexpr auto kLong = 10s;
    RedisServer redis;
    Server server(sharing(redis.url(), {"--origin-timeout", "300ms"}));
    Server other(sharing(redis.url(), {"--origin-timeout", "300ms"}));
    LimitClient client(server);
    LimitClient elsewhere(other);
    std::int64_t warm = 0;
    std::int64_t cold = 0;
    for (int i = 0; i < 20; ++i) {
        warm += client.ask({.identifier = "warm"}).passed ? 1 : 0;
        client.ask({.identifier = "denied", .limit = 5});
    }
    ASSERT_TRUE(eventually([&] { return total_of(redis, "warm") == 20; }));
    ASSERT_TRUE(eventually([&] { return total_of(redis, "denied") == 5; }));
    EXPECT_EQ(readiness(server), kReady);
    const double fallbacks = metric(server, "sluice_origin_fallbacks_total");

    redis.pause();
    int delayed = 0;
    Clock::duration longest{};
    bool was_degraded = false;
    const auto begin = Clock::now();
    for (int i = 0; Clock::now() - begin < kLong; ++i) {
        const std::vector<Ask> asks = {
            {.identifier = "warm"},
            {.identifier = "cold" + std::to_string(i)},
            {.identifier = "denied", .limit = 5},
        };
        for (const Ask& ask : asks) {
            const LimitResult result = client.ask(ask);
            ASSERT_EQ(result.status, 200) << result.body;
            EXPECT_EQ(result.passed, ask.identifier != "denied");
            if (ask.identifier == "warm") ++warm;
            if (ask.identifier.starts_with("cold")) ++cold;
            if (result.took > 200ms) ++delayed;  // less may be the machine
            longest = std::max(longest, result.took);
        }
        if (i % 50 == 0) {
            elsewhere.ask({.identifier = "warm"});
            ++warm;
        }
        if (!was_degraded && i % 20 == 0) {
            was_degraded = readiness(server) == kDegraded &&
                           metric(server, "sluice_origin_unavailable") == 1 &&
                           metric(server, "sluice_origin_fallbacks_total") > fallbacks;
        }
        std::this_thread::sleep_for(5ms);
    }
    // Two periods begin within the time.
    EXPECT_LE(delayed, 2);
    EXPECT_LT(longest, 300ms + 1s);
    EXPECT_TRUE(was_degraded);

    redis.resume();
    EXPECT_TRUE(eventually([&] { return readiness(server) == kReady; }));
    EXPECT_EQ(metric(server, "sluice_origin_unavailable"), 0);
    EXPECT_TRUE(eventually([&] { return total_of(redis, "warm") == warm; }));
    EXPECT_EQ(total_of(redis, "warm"), warm);
    EXPECT_EQ(total_of(redis, "denied"), 5);
    EXPECT_TRUE(eventually([&] {
        std::int64_t sum = 0;
        for (const auto& [identifier, total] : totals_by_identifier(redis))
            if (identifier.starts_with("cold")) sum += total;
        return sum == cold;
    }));
    // Each line says something new: that it went, and why it stays unavailable.
    const std::string log = server.program().output();
    EXPECT_GE(count_of(log, "origin_unavailable"), 1U) << log;
    EXPECT_LE(count_of(log, "origin_unavailable"), 2U) << log;
    EXPECT_EQ(count_of(log, "origin_recovered"), 1U) << log;
    std::cout << delayed << " delayed, the longest for "
              << std::chrono::duration_cast<std::chrono::milliseconds>(longest).count() << " ms; "
              << warm + cold << " passed meanwhile\n";
}

TEST(Stall, ShorterThanTheTimeoutIsNoOutage) {
    RedisServer redis;
    const Server server(sharing(redis.url(), {"--origin-timeout", "10s"}));
    LimitClient client(server);
    redis.pause();
    std::atomic<bool> has_resumed{false};
    std::thread waker([&] {
        std::this_thread::sleep_for(300ms);
        has_resumed = true;
        redis.resume();
    });
    const LimitResult result = client.ask({.identifier = "cold"});
    EXPECT_TRUE(has_resumed) << "it did not wait";
    waker.join();
    EXPECT_TRUE(result.passed);
    EXPECT_EQ(readiness(server), kReady);
    EXPECT_EQ(metric(server, "sluice_origin_fallbacks_total"), 0);
    EXPECT_EQ(metric(server, "sluice_origin_outages_total"), 0);
}

}  // namespace
}  // namespace sluice::regional_test
