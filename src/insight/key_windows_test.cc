#include "insight/key_windows.h"

#include <gtest/gtest.h>

namespace sluice::insight {
namespace {

using namespace std::chrono_literals;

constexpr UnixTime kStart{1'700'000'000'000ms};

class KeyWindowsTest : public testing::Test {
  protected:
    void add(std::uint64_t hash, std::uint64_t weight, UnixTime now) {
        KeySketch batch(10);
        batch.add(hash, weight).text = make_key_text({"w", "n", std::to_string(hash)});
        windows_.add(batch, 1, now);
    }
    std::uint64_t weight(std::uint64_t hash, Window window, UnixTime now) {
        const KeyWindows::Sums sums = windows_.sums(window, now);
        const auto found = sums.by_key.find(hash);
        return found == sums.by_key.end() ? 0 : found->second.weight;
    }

    KeyWindows windows_;
};

TEST_F(KeyWindowsTest, EachWindowForgetsAfterItsOwnLength) {
    add(1, 5, kStart);
    for (const Window window : {Window::kMinute, Window::kTenMinutes, Window::kHour}) {
        const auto length = length_of(window);
        EXPECT_EQ(weight(1, window, kStart), 5U);
        EXPECT_EQ(weight(1, window, kStart + length), 5U);
        EXPECT_EQ(weight(1, window, kStart + length + length / 12 + 1ms), 0U);
    }
}

TEST_F(KeyWindowsTest, SumsUpItsSlices) {
    for (int second = 0; second < 300; ++second)
        add(1, 2, kStart + second * 1s);
    const UnixTime now = kStart + 299s;
    EXPECT_GE(weight(1, Window::kMinute, now), 2U * 60);
    EXPECT_LE(weight(1, Window::kMinute, now), 2U * 65);
    EXPECT_EQ(weight(1, Window::kHour, now), 2U * 300);
}

TEST_F(KeyWindowsTest, KeepsTheLatestFactsOfAKey) {
    KeySketch batch(10);
    KeySketch::Entry& entry = batch.add(1, 1);
    entry.text = make_key_text({"w", "n", "i"});
    entry.limit = 10;
    windows_.add(batch, 1, kStart);
    batch.add(1, 1).limit = 20;
    windows_.add(batch, 1, kStart + 20s);
    const KeyWindows::Sums sums = windows_.sums(Window::kMinute, kStart + 30s);
    EXPECT_EQ(sums.by_key.at(1).limit, 20);
    EXPECT_EQ(sums.by_key.at(1).last, kStart + 20s);
    EXPECT_EQ(sums.by_key.at(1).text->identifier, "i");
}

TEST_F(KeyWindowsTest, AddsUpTheErrorsOfItsBatches) {
    KeySketch batch(2);
    for (std::uint64_t hash = 1; hash <= 3; ++hash)
        batch.add(hash, 4).text = make_key_text({"w", "n", "i"});
    ASSERT_EQ(batch.error(), 4U);
    windows_.add(batch, 1, kStart);
    windows_.add(batch, 8, kStart + 10s);
    const KeyWindows::Sums sums = windows_.sums(Window::kMinute, kStart + 10s);
    EXPECT_EQ(sums.error, 8U);
    EXPECT_EQ(sums.interval, 8U);
    EXPECT_EQ(windows_.sums(Window::kMinute, kStart + 68s).error, 4U);
}

}  // namespace
}  // namespace sluice::insight
