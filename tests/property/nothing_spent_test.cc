// Denials, peeks and invalid requests change nothing: with and without them, all other requests
// have the same decisions.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "model/history.h"
#include "model/history_decoder.h"

namespace sluice::model {
namespace {

constexpr std::uint64_t kSeeds = 600;

struct AnsweredCall {
    Call call;
    Answer answer;
};

std::vector<AnsweredCall> play(const History& history) {
    Limiter limiter = fresh_limiter();
    std::vector<AnsweredCall> answered;
    for (const Call& call : history) {
        answered.push_back({call, make_call(limiter, call)});
    }
    return answered;
}

bool spent(const AnsweredCall& answered) {
    return answered.answer && answered.answer->passed &&
           std::ranges::any_of(answered.call.asks, [](const Ask& ask) { return ask.cost > 0; });
}

// Only the calls that spent something are compared, by their remaining counts.
std::vector<std::int64_t> remainders_of_spending(const std::vector<AnsweredCall>& played) {
    std::vector<std::int64_t> remainders;
    for (const AnsweredCall& answered : played) {
        if (!spent(answered)) continue;
        for (const Decision& decision : answered.answer->decisions) {
            remainders.push_back(decision.remaining);
        }
    }
    return remainders;
}

// Plays random histories as they are and once more with `change` done to each call that spent
// nothing.
template <class Change>
void expect_no_trace(Change change) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto played = play(random_history(seed));
        History changed;
        for (const AnsweredCall& answered : played) {
            changed.push_back(answered.call);
            if (!spent(answered)) change(changed, answered);
        }
        ASSERT_EQ(remainders_of_spending(play(changed)), remainders_of_spending(played))
            << "seed " << seed << ", changed to\n"
            << to_text(changed);
    }
}

TEST(NothingSpent, AnInvalidRequestMayAsWellNotHaveBeenMade) {
    expect_no_trace([](History& history, const AnsweredCall& answered) {
        if (!answered.answer) history.pop_back();
    });
}

// A peek moves the key's time on just as the denial does; it must not do anything else.
TEST(NothingSpent, ADenialMayAsWellHaveBeenAPeek) {
    expect_no_trace([](History& history, const AnsweredCall& answered) {
        if (!answered.answer) return;
        for (Ask& ask : history.back().asks) {
            ask.cost = 0;
        }
    });
}

TEST(NothingSpent, APeekMayAsWellHaveBeenADenial) {
    expect_no_trace([](History& history, const AnsweredCall& answered) {
        if (!answered.answer) return;
        for (Ask& ask : history.back().asks) {
            ask.limit = 0;
        }
    });
}

TEST(NothingSpent, RepeatingADenialChangesNothing) {
    expect_no_trace([](History& history, const AnsweredCall& answered) {
        if (answered.answer) history.insert(history.end(), 3, answered.call);
    });
}

}  // namespace
}  // namespace sluice::model
