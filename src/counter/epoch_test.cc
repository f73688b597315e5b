#include "counter/epoch.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Whether the memory of an entry of this lifetime could be used again.
bool is_unseen(std::uint64_t born, std::uint64_t unlinked) {
    return !Epoch::Pins().blocking({.born = born, .unlinked = unlinked}).has_value();
}

TEST(Epoch, NothingIsVisibleWithoutAPin) {
    EXPECT_TRUE(is_unseen(Epoch::now(), Epoch::now()));
}

TEST(Epoch, MovesOnWhileAReaderIsPinned) {
    const EpochPin pin;
    const std::uint64_t before = Epoch::now();
    Epoch::advance();
    EXPECT_EQ(Epoch::now(), before + 1);
}

TEST(Epoch, APinKeepsWhatItMaySee) {
    const std::uint64_t before = Epoch::now();
    Epoch::advance();
    const EpochPin pin;
    const std::uint64_t pinned = Epoch::now();
    Epoch::advance();
    EXPECT_TRUE(is_unseen(before, before)) << "it was unlinked before";
    EXPECT_FALSE(is_unseen(before, pinned));
    EXPECT_FALSE(is_unseen(before, pinned + 1));
    EXPECT_FALSE(is_unseen(pinned, pinned + 1));
    EXPECT_TRUE(is_unseen(pinned + 1, pinned + 1)) << "it was made after";
}

TEST(Epoch, AReaderThatGoesOnKeepsWhatItConfirms) {
    const EpochPin pin;
    EXPECT_TRUE(Epoch::confirm());
    Epoch::advance();
    const std::uint64_t next = Epoch::now();
    EXPECT_TRUE(is_unseen(next, next));
    EXPECT_FALSE(Epoch::confirm()) << "the lookup has to be repeated";
    EXPECT_TRUE(Epoch::confirm());
    EXPECT_FALSE(is_unseen(next, next));
}

TEST(Epoch, SeesReadersOfOtherThreads) {
    std::atomic<bool> pinned{false};
    std::atomic<bool> go{false};
    std::thread reader([&] {
        const EpochPin pin;
        pinned.store(true);
        while (!go.load())
            std::this_thread::yield();
    });
    while (!pinned.load())
        std::this_thread::yield();
    const std::uint64_t before = Epoch::now();
    Epoch::advance();
    const Epoch::Pins pins;
    const std::optional<Epoch::Pin> pin = pins.blocking({.born = 1, .unlinked = before});
    ASSERT_TRUE(pin.has_value());
    EXPECT_FALSE(pin->is_over());
    go.store(true);
    reader.join();
    EXPECT_TRUE(pin->is_over());
    EXPECT_TRUE(is_unseen(1, before));
}

TEST(Epoch, SeesEachOfMoreReadersThanAreCopied) {
    constexpr int kThreads = 70;
    std::atomic<int> pinned{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < kThreads; ++i) {
        readers.emplace_back([&] {
            const EpochPin pin;
            pinned.fetch_add(1);
            while (!go.load())
                std::this_thread::yield();
        });
    }
    while (pinned.load() < kThreads)
        std::this_thread::yield();
    const std::uint64_t before = Epoch::now();
    Epoch::advance();
    EXPECT_TRUE(is_unseen(Epoch::now(), Epoch::now())) << "it was made after";
    EXPECT_FALSE(is_unseen(before, before));
    go.store(true);
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_TRUE(is_unseen(before, before));
}

// Whichever of the readers it is: the one that may see the entry is found behind all that may not.
TEST(Epoch, SeesTheOnlyReaderThatMatters) {
    constexpr int kThreads = 70;
    std::atomic<int> pinned{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> readers;
    std::vector<std::uint64_t> epochs;
    for (int i = 0; i < kThreads; ++i) {
        epochs.push_back(Epoch::now());
        readers.emplace_back([&] {
            const EpochPin pin;
            pinned.fetch_add(1);
            while (!go.load())
                std::this_thread::yield();
        });
        while (pinned.load() <= i)
            std::this_thread::yield();
        Epoch::advance();
        Epoch::advance();
    }
    // An entry that was made and unlinked in the epoch of one reader, or in the one after it.
    const std::uint64_t first = epochs.front();
    EXPECT_FALSE(is_unseen(first, first));
    EXPECT_FALSE(is_unseen(epochs.back(), epochs.back()));
    EXPECT_TRUE(is_unseen(epochs.back() + 1, epochs.back() + 1));
    EXPECT_TRUE(is_unseen(first - 1, first - 1));
    go.store(true);
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_TRUE(is_unseen(first, first));
}

TEST(EpochPinDeathTest, ANestedPinEndsTheProcess) {
    EXPECT_DEATH(
        {
            const EpochPin outer;
            const EpochPin inner;
        },
        "CHECK failed");
}

}  // namespace
}  // namespace sluice
