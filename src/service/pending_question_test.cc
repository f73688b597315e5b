#include "service/pending_question.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Counts what is done to it.
class CountedQuestion final : public Question {
  public:
    Kind kind() const override { return Kind::kSingle; }
    std::span<const Request> stale() const override { return {}; }
    UnixTime now() const override { return {}; }
    std::size_t size() const override { return 1; }
    bool decide_as_held() override {
        ++tries;
        if (is_fresh) ++decisions;
        return is_fresh;
    }
    bool decide() override {
        ++decisions;
        return false;
    }
    void accept_grant(const Grant&) override { ++decisions; }
    void finish() override { ++finishes; }

    bool is_fresh = false;
    int tries = 0;
    int decisions = 0;
    std::atomic<int> finishes{0};
};

const PendingQuestion::Time kDeadline{std::chrono::seconds(1)};

TEST(PendingQuestion, IsDecidedAndHandedOverOnceWhoeverComesFirst) {
    for (int round = 0; round < 200; ++round) {
        const auto counted = std::make_shared<CountedQuestion>();
        std::atomic<int> finished{0};
        std::atomic<int> decided{0};
        PendingQuestion question(counted, kDeadline, [&](const PendingQuestion&) { ++finished; });
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                decided += question.decide().has_value() ? 1 : 0;
                question.finish();
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        ASSERT_EQ(decided, 1);
        ASSERT_EQ(counted->decisions, 1);
        ASSERT_EQ(counted->finishes, 1);
        ASSERT_EQ(finished, 1);
    }
}

TEST(PendingQuestion, IsNotHandedOverBeforeItIsDecided) {
    const auto counted = std::make_shared<CountedQuestion>();
    PendingQuestion question(counted, kDeadline);
    EXPECT_FALSE(question.decide_as_held());
    question.finish();
    EXPECT_EQ(counted->finishes, 0);
    counted->is_fresh = true;
    EXPECT_TRUE(question.decide_as_held());
    question.finish();
    EXPECT_EQ(counted->finishes, 1);
}

TEST(PendingQuestion, IsNotDecidedAgain) {
    const auto counted = std::make_shared<CountedQuestion>();
    counted->is_fresh = true;
    PendingQuestion question(counted, kDeadline);
    EXPECT_TRUE(question.decide_as_held());
    EXPECT_TRUE(question.decide_as_held());
    EXPECT_EQ(counted->tries, 1);
    EXPECT_FALSE(question.decide().has_value());
    question.accept_grant({.sequence = 1, .incarnation = 0});
    EXPECT_EQ(counted->decisions, 1);
}

TEST(PendingQuestion, IsDecidedByAGrant) {
    const auto counted = std::make_shared<CountedQuestion>();
    PendingQuestion question(counted, kDeadline);
    question.accept_grant({.sequence = 1, .incarnation = 0});
    EXPECT_FALSE(question.decide().has_value());
    question.finish();
    EXPECT_EQ(counted->finishes, 1);
}

}  // namespace
}  // namespace sluice
