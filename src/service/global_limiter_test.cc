// Limiters of several regions, with a store in memory and threads of their own.
#include <sluice/limiter.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "global/memory_store.h"
#include "service/test_options.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using RegionComponent = CellInspection::RegionComponent;

constexpr UnixTime kNow{seconds{1'600'000'020}};  // the beginning of a minute

class GlobalLimiterTest : public testing::Test {
  protected:
    Limiter make(const std::string& region, const std::string& origin = {}) {
        Options options{.region = region};
        options.origin = origin;
        options.global = "memory:" + name();
        return *create_limiter(std::move(options), {.global_interval = milliseconds{50}});
    }
    std::string name() const {
        return testing::UnitTest::GetInstance()->current_test_info()->name();
    }

    static Request request(std::int64_t cost, std::int64_t limit = 10) {
        return {.name_space = "n",
                .identifier = "alice",
                .limit = limit,
                .duration = seconds{60},
                .cost = cost};
    }
    static bool pass(Limiter& limiter, std::int64_t cost, std::int64_t limit = 10) {
        return limiter.limit(request(cost, limit), kNow)->passed;
    }
    static Inspection inspect(Limiter& limiter, UnixTime now = kNow) {
        const auto inspected = std::make_shared<std::promise<Inspection>>();
        limiter.inspect(request(1), now, [inspected](Result<Inspection> inspection) {
            inspected->set_value(*std::move(inspection));
        });
        return inspected->get_future().get();
    }
    static void await(const std::function<bool()>& is_so) {
        for (int i = 0; i < 1'000 && !is_so(); ++i)
            std::this_thread::sleep_for(milliseconds{10});
        ASSERT_TRUE(is_so());
    }
    static void await_global(Limiter& limiter, std::int64_t count) {
        await([&] { return inspect(limiter).current.global == count; });
    }
};

TEST_F(GlobalLimiterTest, RegionsShareALimit) {
    Limiter a = make("a");
    Limiter b = make("b");
    EXPECT_TRUE(pass(a, 6));
    await_global(b, 6);
    EXPECT_TRUE(pass(b, 1));
    EXPECT_FALSE(pass(b, 4));
    await_global(a, 1);  // however little: b knows of a
}

TEST_F(GlobalLimiterTest, TheNodesOfARegionPublishOneRow) {
    Limiter a1 = make("a", "memory:" + name());
    Limiter a2 = make("a", "memory:" + name());
    Limiter b1 = make("b", "memory:" + name());
    Limiter b2 = make("b", "memory:" + name());
    EXPECT_TRUE(pass(a1, 3));
    EXPECT_TRUE(pass(a2, 3));
    await_global(b1, 6);
    await_global(b2, 6);
    const Inspection seen = inspect(b1);
    ASSERT_TRUE(seen.current.regions);
    ASSERT_EQ(seen.current.regions->size(), 1U);
    EXPECT_EQ(seen.current.regions->front().region, "a");
    EXPECT_EQ(seen.current.regions->front().count, 6);
    EXPECT_TRUE(pass(b1, 2));
    EXPECT_TRUE(pass(b2, 2));
    EXPECT_FALSE(pass(b1, 1));
}

TEST_F(GlobalLimiterTest, CloseWaitsForTheLastPublish) {
    Limiter b = make("b");
    {
        Limiter a = make("a", "memory:" + name());
        EXPECT_TRUE(pass(a, 6));
        a.close(seconds{10});
        EXPECT_EQ(a.stats().global.rows_published, 1U);
    }
    await_global(b, 6);
}

TEST_F(GlobalLimiterTest, ThePreviousWindowOfOtherRegionsCounts) {
    Limiter a = make("a");
    Limiter b = make("b");
    EXPECT_TRUE(pass(a, 10));
    await_global(b, 10);
    const UnixTime later = kNow + seconds{60 + 30};  // half of it still counts
    const Request five = request(5);
    EXPECT_TRUE(b.limit(five, later)->passed);
    EXPECT_FALSE(b.limit(request(1), later)->passed);
}

TEST_F(GlobalLimiterTest, ARestartedRegionReadsItsOwnRow) {
    Limiter witness = make("b");
    {
        Limiter a = make("a", "memory:" + name());
        EXPECT_TRUE(pass(a, 8));
        await_global(witness, 8);
    }
    Limiter reborn = make("a", "memory:" + name());  // its origin has gone with the last node
    await([&] { return inspect(reborn).current.peers == 8; });
    EXPECT_EQ(inspect(reborn).current.global, 0);
    EXPECT_FALSE(pass(reborn, 3));
    EXPECT_TRUE(pass(reborn, 2));
}

TEST_F(GlobalLimiterTest, AKeyThatWasImportedCountsFromItsFirstDecision) {
    Limiter a = make("a");
    Limiter b = make("b");
    EXPECT_TRUE(pass(a, 6));
    await([&] { return b.stats().global.cells_held == 1; });
    EXPECT_EQ(b.stats().keys_held, 0U) << "an import makes no key";
    EXPECT_FALSE(inspect(b).held);
    EXPECT_EQ(inspect(b).current.global, 6);
    EXPECT_FALSE(pass(b, 5));
    EXPECT_TRUE(pass(b, 4));
    EXPECT_EQ(b.stats().keys_created, 1U);
    EXPECT_GE(b.stats().global.rows_imported, 1U);
    EXPECT_TRUE(b.stats().global.since_import);
    EXPECT_FALSE(b.stats().global.unavailable);
}

TEST_F(GlobalLimiterTest, InspectShowsWhatIsKnownOfEachRegion) {
    Limiter a = make("a");
    Limiter b = make("b");
    EXPECT_TRUE(pass(a, 6));
    await_global(b, 6);
    EXPECT_TRUE(pass(b, 1));
    await([&] { return inspect(b).current.regions->size() == 2; });
    const auto regions = *inspect(b).current.regions;
    const auto of_a = std::ranges::find(regions, "a", &RegionComponent::region);
    ASSERT_NE(of_a, regions.end());
    EXPECT_EQ(of_a->count, 6);
    EXPECT_EQ(of_a->known, 6);
    EXPECT_EQ(of_a->source, RegionComponent::Source::kStore);
    EXPECT_LT(of_a->known_age, seconds{60});
    EXPECT_TRUE(inspect(b).previous.regions->empty());
}

// With an hour between imports, only the bus can carry it.
TEST_F(GlobalLimiterTest, ABusCarriesASpentLimitToAnotherRegionWithinASecond) {
    const auto make_on_bus = [&](const std::string& region) {
        Options options{.region = region};
        options.global = options.bus = "memory:" + name();
        return *create_limiter(std::move(options), {.global_interval = std::chrono::hours{1}});
    };
    Limiter a = make_on_bus("a");
    Limiter b = make_on_bus("b");
    await([&] { return b.stats().global.since_import.has_value(); });  // the first one is early
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(pass(a, 1));
    const auto spent_at = std::chrono::steady_clock::now();
    await([&] { return b.limit(request(0), kNow)->remaining == 0; });
    // A second, and four more for a busy machine.
    EXPECT_LT(std::chrono::steady_clock::now() - spent_at, seconds{5});
    EXPECT_FALSE(pass(b, 1));

    const Inspection seen = inspect(b);
    ASSERT_TRUE(seen.current.regions);
    const auto of_a = std::ranges::find(*seen.current.regions, "a", &RegionComponent::region);
    ASSERT_NE(of_a, seen.current.regions->end());
    EXPECT_EQ(of_a->known, 10);
    EXPECT_EQ(of_a->source, RegionComponent::Source::kBus);
    EXPECT_GE(b.stats().bus.announcements_received, 1U);
}

TEST_F(GlobalLimiterTest, AStoreOfNoKnownKindIsAnErrorThatShowsNoSecret) {
    Options options{.region = "a"};
    options.global = "postgres://user:hunter2@host/db";
    const auto limiter = Limiter::create(std::move(options));
    ASSERT_FALSE(limiter);
    EXPECT_EQ(limiter.error().code, kInvalidOption);
    EXPECT_EQ(limiter.error().message.find("hunter2"), std::string::npos);
}

TEST_F(GlobalLimiterTest, ManyThreadsSpendWhileRegionsExchange) {
    Limiter a = make("a", "memory:" + name());
    Limiter b = make("b");
    std::atomic<std::int64_t> passed_a{0};
    std::atomic<std::int64_t> passed_b{0};
    std::vector<std::thread> threads;
    for (auto [limiter, passed] : {std::pair{&a, &passed_a}, std::pair{&b, &passed_b}}) {
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([limiter = limiter, passed = passed] {
                for (int i = 0; i < 5'000; ++i)
                    if (pass(*limiter, 1, 1'000'000)) ++*passed;
            });
        }
    }
    for (std::thread& thread : threads)
        thread.join();
    // Below a quarter of the limit, neither of two regions publishes. With a smaller limit, both
    // do.
    EXPECT_TRUE(pass(a, 1, 30'000));
    EXPECT_TRUE(pass(b, 1, 30'000));
    await_global(b, passed_a + 1);
    await_global(a, passed_b + 1);
    EXPECT_EQ(passed_a, 10'000);
    EXPECT_EQ(passed_b, 10'000);
}

// The only one that still remembers, when this process is gone.
TEST_F(GlobalLimiterTest, PublishesOnCloseWhileTheOriginIsUnavailable) {
    Limiter b = make("b");
    {
        Options options{.region = "a"};
        options.origin = "redis://127.0.0.1:1";
        options.global = "memory:" + name();
        // Longer than the test, and shorter than the remaining window, so that it is published.
        Limiter a = *create_limiter(std::move(options), {.global_interval = seconds{30}});
        EXPECT_TRUE(pass(a, 6));
        a.close(seconds{2});
    }
    await_global(b, 6);
}

TEST_F(GlobalLimiterTest, NodesDeleteExpiredRowsOnlyAndTogether) {
    const auto world = MemoryWorld::named(name());
    const Sequence living = instant_at(exact_wall_time(), Duration{60'000}).sequence + 1;
    std::vector<RegionCount> rows;
    for (const Sequence sequence : {Sequence{1}, living})
        for (int i = 1'000; i < 2'500; ++i)
            rows.push_back({.cell = {.workspace = "w",
                                     .name_space = "n",
                                     .identifier = std::to_string(i),
                                     .duration = Duration{60'000},
                                     .sequence = sequence},
                            .count = 6});
    std::ranges::sort(rows, {}, &RegionCount::cell);
    const auto published = world->join("c")->publish(rows, [](const RegionRow&) {});
    ASSERT_TRUE(std::holds_alternative<PublishEnd>(published));

    const auto make_cleaner = [&](const std::string& region) {
        Options options{.region = region};
        options.global = "memory:" + name();
        options.global_cleanup = true;
        return *Limiter::create(std::move(options));
    };
    const auto cleaned = [](const Limiter& limiter) { return limiter.stats().global.rows_cleaned; };
    Limiter first = make_cleaner("a");
    await([&] { return cleaned(first) > 0; });
    Limiter second = make_cleaner("b");
    await([&] { return cleaned(first) + cleaned(second) == 1'500; });
    EXPECT_EQ(world->held().size(), 1'500U);
}

// If on_global_change never returns, its thread is left behind.
TEST_F(GlobalLimiterTest, CloseReturnsWhileACallbackIsStuck) {
    // Shared: the thread outlives the test.
    const auto entered = std::make_shared<std::promise<void>>();
    const auto never = std::make_shared<std::promise<void>>();
    Options options{.region = "eu"};
    options.global = "mysql://root:hush@127.0.0.1:1/limits";
    options.on_global_change = [entered, never](const GlobalChange&) {
        entered->set_value();
        never->get_future().wait();
    };
    auto ended = std::async(std::launch::async, [&] {
        Limiter limiter = *Limiter::create(std::move(options));
        entered->get_future().wait();
        limiter.close(milliseconds{10});
    });
    if (ended.wait_for(seconds{30}) != std::future_status::ready) {
        ADD_FAILURE() << "it hangs";
        std::abort();
    }
}

}  // namespace
}  // namespace sluice
