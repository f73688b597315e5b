// Threads that decide while overrides change.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "overrides/override_set.h"
#include "overrides/store.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;

constexpr OverrideKey kKey{.workspace = "w", .name_space = "n", .identifier = "vip_*"};
constexpr OverrideKey kAsked{.workspace = "w", .name_space = "n", .identifier = "vip_7"};

TEST(Reader, SeesAChangeAtItsNextRefreshAndNotBefore) {
    const auto set = OverrideSet::open(std::make_unique<MemoryStore>()).value();
    auto reader = set->reader();
    (void)set->set(kKey, {.limit = 5, .duration = 1s}).value();
    EXPECT_EQ(reader.get().match(kAsked), nullptr);
    reader.refresh();
    const Override* found = reader.get().match(kAsked);
    ASSERT_NE(found, nullptr);
    (void)set->set(kKey, {.limit = 6, .duration = 1s}).value();
    (void)set->remove(kKey).value();
    EXPECT_EQ(found->value.limit, 5) << "what was found stays valid until the next refresh";
    reader.refresh();
    EXPECT_EQ(reader.get().match(kAsked), nullptr);
}

// Each change raises the limit, so what a reader sees must never fall, and what was answered before
// must be seen.
TEST(Reader, SeesEachChangeThatWasAnsweredBefore) {
    const auto set = OverrideSet::open(std::make_unique<MemoryStore>()).value();
    constexpr std::int64_t kChanges = 2'000;
    std::atomic<std::int64_t> answered{0};
    std::atomic<int> wrong{0};
    const auto read = [&] {
        auto reader = set->reader();
        std::int64_t seen = 0;
        while (seen < kChanges) {
            const std::int64_t least = answered.load(std::memory_order_acquire);
            reader.refresh();
            const Override* found = reader.get().match(kAsked);
            seen = found == nullptr ? 0 : found->value.limit;
            if (seen < least) wrong.fetch_add(1, std::memory_order_relaxed);
        }
    };
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back(read);
    }
    for (std::int64_t limit = 1; limit <= kChanges; ++limit) {
        const std::string other = "other_" + std::to_string(limit % 50);
        ASSERT_TRUE(set->set({"w", "n", other}, {.limit = limit, .duration = 1s}));
        ASSERT_TRUE(set->set(kKey, {.limit = limit, .duration = 1s}));
        answered.store(limit, std::memory_order_release);
        if (limit % 3 == 0) (void)set->remove({"w", "n", other}).value();
    }
    for (std::thread& reader : readers) {
        reader.join();
    }
    EXPECT_EQ(wrong.load(), 0);
}

TEST(Reader, WritersInManyThreadsLoseNothing) {
    const auto set = OverrideSet::open(std::make_unique<MemoryStore>()).value();
    const auto write = [&](int writer) {
        for (int i = 0; i < 100; ++i) {
            const std::string identifier = std::to_string(writer) + "_" + std::to_string(i);
            (void)set->set({"w", "n", identifier}, {.limit = i, .duration = 1s}).value();
            (void)set->get({"w", "n", identifier}).value();
        }
    };
    std::vector<std::thread> writers;
    for (int i = 0; i < 3; ++i) {
        writers.emplace_back(write, i);
    }
    for (std::thread& writer : writers) {
        writer.join();
    }
    EXPECT_EQ(set->size(), 300U);
    EXPECT_EQ(set->list({"w", "n"}, {.cursor = {}, .limit = 1'000})->overrides.size(), 300U);
}

}  // namespace
}  // namespace sluice::overrides
