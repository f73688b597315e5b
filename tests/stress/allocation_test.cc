// A decision about a key that the limiter holds allocates nothing.
#include <sluice/limiter.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "stress/allocation_count.h"
#include "stress/ledger.h"

namespace sluice::stress {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000;

Request request(std::int64_t cost, std::int64_t limit) {
    return {.workspace = "a workspace with a name that no string holds in place",
            .name_space = "a namespace with a name that no string holds in place",
            .identifier = "an identifier with a name that no string holds in place",
            .limit = limit,
            .duration = std::chrono::milliseconds{1'000},
            .cost = cost};
}

template <class Work>
std::int64_t allocations_in(Work work) {
    const std::int64_t before = allocations_of_this_thread();
    work();
    return allocations_of_this_thread() - before;
}

class WarmDecision : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(limiter_.limit(request(1, 100), at(kStart)).value().passed);
    }

    Limiter limiter_ = Limiter::create({.region = "test"}).value();
};

// Not inlined, since a compiler may leave out an allocation of which it sees both ends.
template <class T>
[[gnu::noinline]] std::unique_ptr<T> allocate() {
    return std::make_unique<T>();
}

struct alignas(64) CacheLine {
    char bytes[64];
};

TEST(AllocationCount, SeesEveryKindOfAllocation) {
    EXPECT_EQ(allocations_in(allocate<int>), 1);
    EXPECT_EQ(allocations_in(allocate<CacheLine>), 1);
    EXPECT_EQ(allocations_in(allocate<std::array<char, 1 << 20>>), 1);
    std::int64_t elsewhere = 0;
    std::jthread([&elsewhere] { elsewhere = allocations_in(allocate<int>); }).join();
    EXPECT_EQ(elsewhere, 1);
}

TEST_F(WarmDecision, AllocatesNothingWhenItPasses) {
    bool passed = true;
    EXPECT_EQ(allocations_in([&] {
                  for (int i = 0; i < 50; ++i) {
                      passed = passed && limiter_.limit(request(1, 100), at(kStart))->passed;
                  }
              }),
              0);
    EXPECT_TRUE(passed);
}

TEST_F(WarmDecision, AllocatesNothingWhenItIsADenial) {
    bool passed = false;
    EXPECT_EQ(allocations_in([&] {
                  for (int i = 0; i < 50; ++i) {
                      passed = passed || limiter_.limit(request(100, 100), at(kStart))->passed;
                  }
              }),
              0);
    EXPECT_FALSE(passed);
}

TEST_F(WarmDecision, AllocatesNothingWhenItIsAPeek) {
    EXPECT_EQ(allocations_in([&] {
                  for (int i = 0; i < 50; ++i) {
                      static_cast<void>(limiter_.limit(request(0, 100), at(kStart)));
                  }
              }),
              0);
}

TEST_F(WarmDecision, AllocatesNothingWhenTheClockMoves) {
    EXPECT_EQ(allocations_in([&] {
                  for (const std::int64_t move :
                       {1'000, 2'000, 1'500, 0, 3'000, 8'000, 7'000, 6'000, 100'000, 200'000}) {
                      static_cast<void>(limiter_.limit(request(1, 100), at(kStart + move)));
                  }
              }),
              0);
}

TEST_F(WarmDecision, AllocatesNothingWhenItReadsTheClockItself) {
    static_cast<void>(limiter_.limit(request(1, 100)));
    EXPECT_EQ(allocations_in([&] {
                  for (int i = 0; i < 50; ++i) {
                      static_cast<void>(limiter_.limit(request(1, 100)));
                  }
              }),
              0);
}

// The list of decisions is the caller's, and has to come from somewhere.
TEST_F(WarmDecision, AllocatesOnlyTheResultWhenItIsABatch) {
    const std::array requests{request(1, 100), request(2, 100), request(0, 100)};
    EXPECT_LE(allocations_in([&] { static_cast<void>(limiter_.limit_many(requests, at(kStart))); }),
              1);
    const std::array refused{request(1, 100), request(200, 100)};
    EXPECT_LE(allocations_in([&] { static_cast<void>(limiter_.limit_many(refused, at(kStart))); }),
              1);
}

}  // namespace
}  // namespace sluice::stress
