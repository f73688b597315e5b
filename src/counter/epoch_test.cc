#include "counter/epoch.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Epoch, MovesOnWhenNobodyIsPinned) {
    const std::uint64_t before = Epoch::now();
    Epoch::try_advance();
    EXPECT_EQ(Epoch::now(), before + 1);
}

TEST(Epoch, WaitsForAReaderThatIsPinned) {
    const std::uint64_t before = Epoch::now();
    {
        const EpochPin pin;
        for (int i = 0; i < 5; ++i)
            Epoch::try_advance();
        EXPECT_LE(Epoch::now(), before + 1)
            << "what was unlinked under the reader's eyes could be reused";
    }
    Epoch::try_advance();
    Epoch::try_advance();
    EXPECT_GE(Epoch::now(), before + Epoch::kGrace);
}

TEST(Epoch, WaitsForReadersOfOtherThreads) {
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
    for (int i = 0; i < 5; ++i)
        Epoch::try_advance();
    EXPECT_LE(Epoch::now(), before + 1);
    go.store(true);
    reader.join();
    Epoch::try_advance();
    Epoch::try_advance();
    EXPECT_GE(Epoch::now(), before + Epoch::kGrace);
}

}  // namespace
}  // namespace sluice
