// A flood of random keys, ten times what the limiter may hold, doesn't displace keys that are close
// to their limits; a flood of other regions' keys displaces none.
#include <sluice/limiter.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitizer.h"
#include "global/memory_store.h"
#include "service/test_options.h"
#include "stress/ledger.h"
#include "stress/racing_threads.h"
#include "stress/resident_memory.h"

// Memory that is freed should be free: AddressSanitizer would keep up to 256 MB of it.
extern "C" [[gnu::visibility("default")]] const char*
__asan_default_options();                          // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
    return "quarantine_size_mb=1";
}

namespace sluice::stress {
namespace {

// ThreadSanitizer is there to find races, and occupies memory of its own.
#if SLUICE_TSAN
constexpr bool kOnlyRaces = true;
#else
constexpr bool kOnlyRaces = false;
#endif
constexpr std::size_t kTimes = kOnlyRaces ? 2 : 10;

constexpr std::chrono::milliseconds kDuration{3'600'000};
constexpr std::int64_t kStart = 1'700'000'000'000 / 3'600'000 * 3'600'000;
constexpr int kRealKeys = 100;
constexpr std::int64_t kRealLimit = 100;
constexpr std::int64_t kRealSpent = 95;

enum class RealKeys { kAskedMeanwhile, kLeftAlone };

struct Flood {
    const char* name;
    std::size_t max_keys;
    std::size_t times;  // so many times max_keys come
    int threads;
    RealKeys real_keys;
    std::int64_t limit;  // of the flooding keys, each of which spends 1
};

std::ostream& operator<<(std::ostream& out, const Flood& flood) {
    return out << flood.name;
}

Request real_request(const std::string& identifier, std::int64_t cost) {
    return {.name_space = "login",
            .identifier = identifier,
            .limit = kRealLimit,
            .duration = kDuration,
            .cost = cost};
}

std::string real_key(int index) {
    return "customer " + std::to_string(index);
}

std::string random_key(std::mt19937_64& random) {
    return std::to_string(random()) + std::string(random() % 64, 'x');
}

class KeyFlood : public testing::TestWithParam<Flood> {
  protected:
    // Sends `keys` new keys from each thread.
    void flood(std::size_t keys, std::uint64_t seed) {
        race(GetParam().threads, [&](int thread) {
            std::mt19937_64 random(seed + static_cast<std::uint64_t>(thread));
            for (std::size_t i = 0; i < keys; ++i) {
                send_one(random, kStart + static_cast<std::int64_t>(i / 100));
                if (i % 64 == 0)
                    look_after(static_cast<int>(i / 64) % kRealKeys,
                               kStart + static_cast<std::int64_t>(i / 100));
            }
        });
    }

    Limiter limiter_ = Limiter::create({.region = "test", .max_keys = GetParam().max_keys}).value();
    // Raised by all threads, read after they were joined.
    std::atomic<std::uint64_t> most_held_{0};

  private:
    void send_one(std::mt19937_64& random, std::int64_t now) {
        const std::string identifier = random_key(random);
        const Request request{.name_space = "login",
                              .identifier = identifier,
                              .limit = GetParam().limit,
                              .duration = kDuration,
                              .cost = 1};
        EXPECT_TRUE(limiter_.limit(request, at(now)).value().passed);
    }

    void look_after(int index, std::int64_t now) {
        std::uint64_t most = most_held_.load(std::memory_order_relaxed);
        const std::uint64_t held = limiter_.stats().keys_held;
        // Ends: every failure means that another thread has raised the number.
        while (most < held &&
               !most_held_.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
        }
        if (GetParam().real_keys == RealKeys::kLeftAlone) return;
        const auto decision =
            limiter_.limit(real_request(real_key(index), kRealLimit - kRealSpent + 1), at(now));
        EXPECT_FALSE(decision.value().passed) << real_key(index) << " was forgotten";
    }
};

TEST_P(KeyFlood, LeavesKeysCloseToTheirLimitsExactlyAsTheyAre) {
    if (kOnlyRaces && GetParam().threads == 1) GTEST_SKIP() << "one thread does not race";
    const std::size_t share = GetParam().max_keys / static_cast<std::size_t>(GetParam().threads);
    for (int i = 0; i < kRealKeys; ++i) {
        ASSERT_TRUE(
            limiter_.limit(real_request(real_key(i), kRealSpent), at(kStart)).value().passed);
    }
    const std::int64_t before = resident_bytes();
    flood(share, 1);
    const std::int64_t filled = resident_bytes();
    flood((GetParam().times - 1) * share, 1'000);
    const std::int64_t flooded = resident_bytes();

    for (int i = 0; i < kRealKeys; ++i) {
        const auto peek = limiter_.limit(real_request(real_key(i), 0), at(kStart)).value();
        EXPECT_EQ(peek.remaining, kRealLimit - kRealSpent) << real_key(i);
    }
    const std::size_t sent =
        kRealKeys + GetParam().times * share * static_cast<std::size_t>(GetParam().threads);
    const Stats stats = limiter_.stats();
    EXPECT_LE(std::max(most_held_.load(), stats.keys_held), GetParam().max_keys);
    EXPECT_EQ(stats.keys_created, sent);
    EXPECT_EQ(stats.keys_evicted, sent - stats.keys_held);
    EXPECT_EQ(stats.keys_expired, 0U) << "all counts still matter";
    // The flood finds its room in what the first filling cost. While one of several threads is off
    // its processor in the midst of a request, the others can't reuse what they remove, which costs
    // a little more.
    const std::int64_t slack = GetParam().threads == 1 ? 8 << 20U : 32 << 20U;
    if (!kOnlyRaces) {
        EXPECT_LE(flooded - filled, (filled - before) / 4 + slack);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Stress,
    KeyFlood,
    testing::Values(
        Flood{"OneThread", 5'000, kTimes, 1, RealKeys::kAskedMeanwhile, 100},
        Flood{"OneThreadWhileTheRealKeysAreIdle", 5'000, kTimes, 1, RealKeys::kLeftAlone, 100},
        Flood{
            "OneThreadWithKeysThatAreUsedUpAtOnce", 5'000, kTimes, 1, RealKeys::kAskedMeanwhile, 1},
        Flood{"FourThreads", 5'000, kTimes, 4, RealKeys::kAskedMeanwhile, 100},
        Flood{"FourThreadsWhileTheRealKeysAreIdle", 5'000, kTimes, 4, RealKeys::kLeftAlone, 100},
        Flood{"FourThreadsOnATableOfManyParts", 70'000, 2, 4, RealKeys::kAskedMeanwhile, 100}),
    [](const auto& flood) { return std::string(flood.param.name); });

// Publishes `cells` cells of keys that no request names here, as another region.
void publish_flood(MemoryWorld& world, int cells) {
    constexpr int kChunk = 500;
    const auto store = world.join("other");
    for (int begin = 0; begin < cells; begin += kChunk) {
        std::vector<RegionCount> rows;
        for (int i = begin; i < begin + kChunk; ++i)
            rows.push_back({.cell = {.workspace = "default",
                                     .name_space = "login",
                                     .identifier = "elsewhere " + std::to_string(i),
                                     .duration = kDuration,
                                     .sequence = kStart / kDuration.count()},
                            .count = 1'000});
        std::ranges::sort(rows, {}, &RegionCount::cell);
        const auto end = store->publish(rows, [](const RegionRow&) {});
        ASSERT_TRUE(std::holds_alternative<PublishEnd>(end));
    }
}

TEST(ImportFlood, DisplacesNoKeyOfAFullTable) {
    constexpr int kCells = kOnlyRaces ? 2'000 : 20'000;
    Options options{.region = "test", .max_keys = kRealKeys};
    options.global = "memory:import_flood";
    const auto world = MemoryWorld::named("import_flood");
    Limiter limiter =
        *create_limiter(std::move(options), {.global_interval = std::chrono::milliseconds{10}});
    for (int i = 0; i < kRealKeys; ++i)
        ASSERT_TRUE(
            limiter.limit(real_request(real_key(i), kRealSpent), at(kStart)).value().passed);

    const auto is_imported = [&] { return limiter.stats().global.cells_held >= kCells; };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    race(3, [&](int thread) {
        if (thread == 0) return publish_flood(*world, kCells);
        for (int i = 0; !is_imported() && std::chrono::steady_clock::now() < deadline; ++i) {
            const std::string key = real_key(i % kRealKeys);
            const Request request = real_request(key, kRealLimit - kRealSpent + 1);
            ASSERT_FALSE(limiter.limit(request, at(kStart)).value().passed) << key;
        }
    });
    ASSERT_TRUE(is_imported());
    const Stats stats = limiter.stats();
    EXPECT_EQ(stats.keys_created, static_cast<std::uint64_t>(kRealKeys));
    EXPECT_EQ(stats.keys_held, static_cast<std::uint64_t>(kRealKeys));
    EXPECT_EQ(stats.keys_evicted, 0U);
    for (int i = 0; i < kRealKeys; ++i) {
        const auto peek = limiter.limit(real_request(real_key(i), 0), at(kStart)).value();
        EXPECT_EQ(peek.remaining, kRealLimit - kRealSpent) << real_key(i);
    }
}

}  // namespace
}  // namespace sluice::stress
