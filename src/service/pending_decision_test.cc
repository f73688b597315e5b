#include "service/pending_decision.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Counts the calls of its steps.
class CountedDecision final : public PendingDecision {
  public:
    explicit CountedDecision(Finished finished = {}) {
        begin(Time{std::chrono::seconds(1)}, std::move(finished));
    }

    Kind kind() const override { return Kind::kSingle; }
    std::span<const Request> stale() const override { return {}; }
    UnixTime now() const override { return {}; }
    std::size_t size() const override { return 1; }

    bool is_fresh = false;
    int tries = 0;
    int decisions = 0;
    std::atomic<int> deliveries{0};

  private:
    bool decide_by_rule() override {
        ++tries;
        if (is_fresh) ++decisions;
        return is_fresh;
    }
    bool decide_from_counts() override {
        ++decisions;
        return false;
    }
    void decide_by_grant(const Grant&) override { ++decisions; }
    void deliver() override { ++deliveries; }
};

TEST(PendingDecision, IsMadeAndDeliveredOnceByWhicheverThreadIsFirst) {
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> finished{0};
        std::atomic<int> decided{0};
        CountedDecision pending([&](const PendingDecision&) { ++finished; });
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                decided += pending.decide_now().has_value() ? 1 : 0;
                pending.finish();
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        ASSERT_EQ(decided, 1);
        ASSERT_EQ(pending.decisions, 1);
        ASSERT_EQ(pending.deliveries, 1);
        ASSERT_EQ(finished, 1);
    }
}

TEST(PendingDecision, IsNotDeliveredBeforeItIsMade) {
    CountedDecision pending;
    EXPECT_FALSE(pending.try_decide());
    pending.finish();
    EXPECT_EQ(pending.deliveries, 0);
    pending.is_fresh = true;
    EXPECT_TRUE(pending.try_decide());
    pending.finish();
    EXPECT_EQ(pending.deliveries, 1);
}

TEST(PendingDecision, IsNotMadeAgain) {
    CountedDecision pending;
    pending.is_fresh = true;
    EXPECT_TRUE(pending.try_decide());
    EXPECT_TRUE(pending.try_decide());
    EXPECT_EQ(pending.tries, 1);
    EXPECT_FALSE(pending.decide_now().has_value());
    pending.accept_grant({.sequence = 1, .incarnation = 0});
    EXPECT_EQ(pending.decisions, 1);
}

TEST(PendingDecision, IsMadeByAGrant) {
    CountedDecision pending;
    pending.accept_grant({.sequence = 1, .incarnation = 0});
    EXPECT_FALSE(pending.decide_now().has_value());
    pending.finish();
    EXPECT_EQ(pending.deliveries, 1);
}

}  // namespace
}  // namespace sluice
