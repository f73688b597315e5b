// `remaining` is the largest cost that passes afterwards: one more is denied.
#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "model/history.h"
#include "model/history_decoder.h"
#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

bool passes(const History& history, const Ask& ask, std::int64_t now) {
    Limiter limiter = fresh_limiter();
    replay(limiter, history);
    return limiter.limit(request_of(ask), UnixTime{std::chrono::milliseconds{now}}).value().passed;
}

// A later request of a batch that passed may have spent more of the same key, which the decision of
// this one does not show.
bool is_last_of_its_key(const Call& call, std::size_t index) {
    const Ask& own = call.asks[index];
    return std::none_of(
        call.asks.begin() + static_cast<std::ptrdiff_t>(index) + 1,
        call.asks.end(),
        [&](const Ask& ask) { return ask.key == own.key && ask.duration == own.duration; });
}

void check_pass(const History& history, Ask ask, std::int64_t remaining) {
    const std::int64_t now = history.back().now;
    ask.cost = remaining;
    ASSERT_TRUE(passes(history, ask, now)) << ask << " after\n" << to_text(history);
    ask.cost = remaining + 1;
    if (ask.cost > kMaxNumber) return;
    ASSERT_FALSE(passes(history, ask, now)) << ask << " after\n" << to_text(history);
}

int check_passes(const History& history) {
    Limiter limiter = fresh_limiter();
    History before;
    int checked = 0;
    for (const Call& call : history) {
        const Answer answer = make_call(limiter, call);
        before.push_back(call);
        for (std::size_t i = 0; answer && i < call.asks.size(); ++i) {
            const Decision& decision = answer->decisions[i];
            if (!decision.passed) {
                EXPECT_EQ(decision.remaining, 0);
            } else if (!answer->passed || is_last_of_its_key(call, i)) {
                check_pass(before, call.asks[i], decision.remaining);
                ++checked;
            }
            if (testing::Test::HasFatalFailure()) return checked;
        }
    }
    return checked;
}

TEST(Remaining, IsTheLargestCostThatPassesInRandomHistories) {
    int checked = 0;
    for (std::uint64_t seed = 0; seed < 100 && !HasFatalFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        checked += check_passes(random_history(seed));
    }
    EXPECT_GE(checked, 1'000);
}

}  // namespace
}  // namespace sluice::model
