#include "window/sliding.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr Duration kMinute{60'000};

struct Case {
    Count current;
    Count previous;
    int elapsed_percent;
    Count cost;
    Count limit;
    bool passed;
    Count remaining;
};

TEST(Sliding, DecidesTheTableOfExamples) {
    for (const Case& c : {
             Case{0, 0, 0, 1, 10, true, 9},
             Case{9, 0, 0, 1, 10, true, 0},
             Case{10, 0, 0, 0, 10, true, 0},
             Case{10, 0, 0, 1, 10, false, 0},
             Case{5, 10, 50, 1, 10, false, 0},
             Case{5, 10, 99, 1, 10, true, 3},  // 10 * 1 % is 0.1, and that rounds up
             Case{0, 0, 0, 100, 10, false, 0},
             Case{0, 0, 0, 0, 0, false, 0},
             Case{4, 10, 50, 1, 10, true, 0},
             Case{0, kMaxCount, 0, 0, kMaxCount, true, 0},
             Case{0, kMaxCount, 0, 1, kMaxCount, false, 0},
             Case{kMaxCount, 3 * kMaxCount, 0, kMaxCount, kMaxCount, false, 0},
         }) {
        const Verdict verdict = weigh({.current = c.current, .previous = c.previous},
                                      kMinute * c.elapsed_percent / 100,
                                      kMinute,
                                      {.cost = c.cost, .limit = c.limit});
        EXPECT_EQ(verdict.passed, c.passed) << c.current << " " << c.previous << " " << c.limit;
        EXPECT_EQ(verdict.remaining, c.remaining)
            << c.current << " " << c.previous << " " << c.limit;
    }
}

// effective * duration <= limit * duration, term by term and without any rounding.
bool passes_naively(const Spent& spent, Duration elapsed, Duration duration, const Ask& ask) {
    const auto whole = static_cast<Wide>(duration.count());
    const auto weight = static_cast<Wide>((duration - elapsed).count());
    const Wide effective = (Wide{spent.current} + ask.cost) * whole + Wide{spent.previous} * weight;
    return ask.limit > 0 && effective <= Wide{ask.limit} * whole;
}

class Random {
  public:
    std::uint64_t below(std::uint64_t end) { return engine_() % end; }
    // Small numbers, and numbers near the largest, more often than the rest.
    Count count(Count most) {
        const Count small = below(20);
        switch (below(4)) {
            case 0:
                return below(most + 1);
            case 1:
                return most - std::min(most, small);
            default:
                return std::min(most, small);
        }
    }

  private:
    std::mt19937_64 engine_{20'260'101};
};

TEST(Sliding, AgreesWithTheUnroundedComparison) {
    Random random;
    for (int i = 0; i < 200'000; ++i) {
        const Duration duration{
            1'000 + static_cast<std::int64_t>(random.below(i % 2 == 0 ? 100 : 31'622'399'001))};
        const Duration elapsed{
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(duration.count())))};
        const Spent spent{.current = random.count(3 * kMaxCount),
                          .previous = random.count(3 * kMaxCount)};
        const Ask ask{.cost = random.count(kMaxCount), .limit = random.count(kMaxCount)};
        const Verdict verdict = weigh(spent, elapsed, duration, ask);
        ASSERT_EQ(verdict.passed, passes_naively(spent, elapsed, duration, ask)) << "round " << i;
        if (!verdict.passed) continue;
        const Count largest = ask.cost + verdict.remaining;
        ASSERT_TRUE(
            passes_naively(spent, elapsed, duration, {.cost = largest, .limit = ask.limit}));
        ASSERT_FALSE(
            passes_naively(spent, elapsed, duration, {.cost = largest + 1, .limit = ask.limit}));
    }
}

// Where the product of a count and a duration leaves 32, and 64, bits.
TEST(Sliding, WeighsTheLongestWindowsExactly) {
    const Duration year = kMaxDuration;
    for (const int bits : {28, 29, 30, 32, 33, 52}) {
        for (const Count previous : {(Count{1} << bits) - 1, Count{1} << bits}) {
            for (const Duration elapsed :
                 {Duration{0}, Duration{1}, year / 3, year - Duration{1}}) {
                const Spent spent{.current = 0, .previous = previous};
                const Ask ask{.cost = 1, .limit = kMaxCount};
                const Verdict verdict = weigh(spent, elapsed, year, ask);
                ASSERT_TRUE(verdict.passed) << previous;
                const Count largest = ask.cost + verdict.remaining;
                EXPECT_TRUE(
                    passes_naively(spent, elapsed, year, {.cost = largest, .limit = ask.limit}));
                EXPECT_FALSE(passes_naively(
                    spent, elapsed, year, {.cost = largest + 1, .limit = ask.limit}));
            }
        }
    }
}

std::optional<UnixTime> first_pass_naively(const Held& held,
                                           Instant at,
                                           Duration duration,
                                           const Ask& ask) {
    if (ask.cost > ask.limit || ask.limit == 0) return std::nullopt;
    const auto cell = [&](Sequence sequence) {
        const Sequence place = sequence - at.sequence + 1;
        return place < 4 ? held[static_cast<std::size_t>(place)] : 0;
    };
    for (UnixTime now = start_of(at.sequence, duration) + at.elapsed;; now += milliseconds{1}) {
        const Instant then = instant_at(now, duration);
        const Spent spent{.current = cell(then.sequence), .previous = cell(then.sequence - 1)};
        if (passes_naively(spent, then.elapsed, duration, ask)) return now;
    }
}

TEST(Sliding, FindsTheFirstPassMillisecondByMillisecond) {
    Random random;
    for (int i = 0; i < 2'000; ++i) {
        const Duration duration{1'000 + static_cast<std::int64_t>(random.below(50))};
        const Instant at{.sequence = 7,
                         .elapsed = Duration{static_cast<std::int64_t>(random.below(1'000))}};
        const Count most = i % 2 == 0 ? 30 : 2 * kMaxCount;
        const Held held{
            random.count(most), random.count(most), random.count(most), random.count(most)};
        const Ask ask{.cost = random.count(12), .limit = i % 2 == 0 ? random.count(15) : kMaxCount};
        ASSERT_EQ(first_pass(held, at, duration, ask), first_pass_naively(held, at, duration, ask))
            << "round " << i;
    }
}

TEST(Sliding, ALimitOfOneDoesNotPassTwiceAroundABoundary) {
    const Ask one{.cost = 1, .limit = 1};
    // One was spent in the last millisecond of the previous cell.
    for (std::int64_t elapsed = 0; elapsed < 1'000; ++elapsed) {
        EXPECT_FALSE(
            weigh({.current = 0, .previous = 1}, Duration{elapsed}, Duration{1'000}, one).passed);
    }
    const Held held{0, 1, 0, 0};
    EXPECT_EQ(first_pass(held, {.sequence = 4, .elapsed = Duration{999}}, Duration{1'000}, one),
              UnixTime{Duration{6'000}});
}

TEST(Sliding, FindsNoPassForWhatNeverFits) {
    const Instant at{.sequence = 1, .elapsed = Duration{0}};
    EXPECT_FALSE(first_pass({}, at, kMinute, {.cost = 11, .limit = 10}).has_value());
    EXPECT_FALSE(first_pass({}, at, kMinute, {.cost = 0, .limit = 0}).has_value());
}

TEST(Sliding, SumsSaturate) {
    EXPECT_EQ(saturating_add(kMaxCount, kMaxCount), kMaxCount);
    EXPECT_EQ(saturating_add(kMaxCount - 1, 1), kMaxCount);
    EXPECT_EQ(saturating_add(2, 3), 5U);
}

}  // namespace
}  // namespace sluice
