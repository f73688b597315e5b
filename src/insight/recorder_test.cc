#include "insight/recorder.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::insight {
namespace {

using Spent = Recorder::Spent;

Request request(std::string_view name_space, std::string_view identifier, std::int64_t cost = 1) {
    return {.name_space = name_space,
            .identifier = identifier,
            .limit = 10,
            .duration = std::chrono::seconds{60},
            .cost = cost};
}

Decision decided(bool passed) {
    return {.passed = passed, .limit = 10, .remaining = 0, .reset_at = {}, .retry_at = {}};
}

class RecorderTest : public testing::Test {
  protected:
    void pass(const Request& what) { recorder_.count(what, decided(true), Spent::kCost); }
    void deny(const Request& what) { recorder_.count(what, decided(false), Spent::kNothing); }
    std::unique_ptr<Batch> take() { return recorder_.exchange(std::make_unique<Batch>()); }

    static const KeySketch::Entry* find(const KeySketch& sketch, std::string_view identifier) {
        const KeySketch::Entry* found = nullptr;
        sketch.for_each([&](const KeySketch::Entry& entry) {
            if (entry.text->identifier == identifier) found = &entry;
        });
        return found;
    }

    Recorder recorder_{KeyHash(7)};
};

TEST_F(RecorderTest, CountsDenialsAndSpendByKey) {
    deny(request("login", "alice"));
    deny(request("login", "alice"));
    pass(request("login", "alice", 5));
    pass(request("mail", "bob", 0));
    recorder_.count(request("mail", "debited", 9), decided(false), Spent::kCost);
    const auto batch = take();
    EXPECT_EQ(find(batch->denials, "alice")->weight, 2U);
    EXPECT_EQ(find(batch->denials, "alice")->limit, 10);
    EXPECT_EQ(find(batch->denials, "debited")->weight, 1U);
    EXPECT_EQ(find(batch->spend, "alice")->weight, 5U);
    EXPECT_EQ(find(batch->spend, "debited")->weight, 9U);
    EXPECT_EQ(find(batch->spend, "bob"), nullptr);
    EXPECT_EQ(batch->total.passed, 2U);
    EXPECT_EQ(batch->total.denied, 3U);
    EXPECT_EQ(batch->total.spend, 14U);
    EXPECT_EQ(batch->namespace_count, 2U);
    EXPECT_TRUE(recorder_.is_empty());
}

TEST_F(RecorderTest, DistinguishesKeysWhoseTextsJoinToTheSame) {
    deny(request("ab", "c"));
    deny(request("a", "bc"));
    Request other = request("ab", "c");
    other.workspace = "other";
    deny(other);
    EXPECT_EQ(take()->denials.size(), 3U);
}

TEST_F(RecorderTest, ListsABoundedNumberOfNamespaces) {
    for (int i = 0; i < 1'000; ++i)
        deny(request("n" + std::to_string(i), "i"));
    const auto batch = take();
    EXPECT_EQ(batch->namespace_count, Batch::kMaxNamespaces);
    EXPECT_EQ(batch->total.denied, 1'000U);
    EXPECT_LE(batch->denials.size(), Batch::kBatchKeys);
}

TEST_F(RecorderTest, IsExactBelowTheRateAtWhichItSamples) {
    for (std::uint64_t i = 1; i < Recorder::kMostExact; ++i)
        pass(request("n", i % 2 == 0 ? "even" : "odd"));
    const auto batch = take();
    EXPECT_EQ(batch->interval, 1U);
    EXPECT_EQ(find(batch->spend, "even")->weight, Recorder::kMostExact / 2 - 1);
    EXPECT_EQ(find(batch->spend, "odd")->variance, 0);
}

TEST_F(RecorderTest, SamplesWithinItsErrorAboveThat) {
    constexpr std::uint64_t kPasses = 2'000'000;
    std::uint64_t often = 0;
    std::uint64_t seldom = 0;
    std::uint64_t large = 0;
    for (std::uint64_t i = 0; i < kPasses; ++i) {
        if (i % 100'000 == 0) {
            pass(request("n", "large", 1'000'000));
            large += 1'000'000;
        } else if (i % 50 == 0) {
            pass(request("n", "seldom", 3));
            seldom += 3;
        } else {
            pass(request("n", "often"));
            ++often;
        }
    }
    const auto batch = take();
    EXPECT_GT(batch->interval, 16U);
    for (const auto& [identifier, truth] :
         {std::pair("often", often), std::pair("seldom", seldom), std::pair("large", large)}) {
        const KeySketch::Entry* const entry = find(batch->spend, identifier);
        ASSERT_NE(entry, nullptr) << identifier;
        const double off = static_cast<double>(entry->weight) - static_cast<double>(truth);
        EXPECT_LE(std::abs(off), 4 * std::sqrt(entry->variance) + 1) << identifier;
    }
    EXPECT_EQ(batch->total.spend, often + seldom + large);
}

TEST_F(RecorderTest, StopsAtTheLargestSum) {
    const auto largest = static_cast<std::int64_t>(kMaxSum);
    // So many that the interval reaches its maximum.
    for (std::uint64_t i = 0; i < 64 * Recorder::kMostExact; ++i)
        pass(request("n", "large", largest));
    const auto batch = take();
    EXPECT_EQ(batch->total.spend, kMaxSum);
    EXPECT_EQ(find(batch->spend, "large")->weight, kMaxSum);
    EXPECT_EQ(batch->interval, Recorder::kMaxInterval);
}

TEST_F(RecorderTest, IsUnbiasedWhereItSamples) {
    // Over many batches the error averages out, also at the shortest interval.
    double entered = 0;
    double variance = 0;
    std::uint64_t truth = 0;
    for (int round = 0; round < 50; ++round) {
        for (std::uint64_t i = 0; i < 2 * Recorder::kMostExact; ++i) {
            const auto cost = static_cast<std::int64_t>(1 + i % 7);
            pass(request("n", "i", cost));
            truth += static_cast<std::uint64_t>(cost);
        }
        const auto batch = take();
        entered += static_cast<double>(find(batch->spend, "i")->weight);
        variance += find(batch->spend, "i")->variance;
    }
    EXPECT_GT(variance, 0);
    EXPECT_LE(std::abs(entered - static_cast<double>(truth)), 4 * std::sqrt(variance));
}

TEST_F(RecorderTest, IsExactAgainOnceTrafficIsLow) {
    for (int i = 0; i < 1'000'000; ++i)
        pass(request("n", "i"));
    EXPECT_GT(take()->interval, 1U);
    for (int second = 0; second < 4; ++second) {
        pass(request("n", "i"));
        static_cast<void>(take());
    }
    pass(request("n", "i"));
    const auto batch = take();
    EXPECT_EQ(batch->interval, 1U);
    EXPECT_EQ(find(batch->spend, "i")->weight, 1U);
}

}  // namespace
}  // namespace sluice::insight
