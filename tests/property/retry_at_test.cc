// retry_at of a denial, compared with a search millisecond by millisecond.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "model/history.h"
#include "model/history_decoder.h"
#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

UnixTime at(std::int64_t time) {
    return UnixTime{std::chrono::milliseconds{time}};
}

// The first time from `from` on at which `ask` passes after `history`; none within five windows.
// One limiter serves all tries: a denial adds nothing.
std::optional<UnixTime> first_pass(const History& history, const Ask& ask, std::int64_t from) {
    Limiter limiter = fresh_limiter();
    replay(limiter, history);
    for (std::int64_t time = from; time < from + 5 * ask.duration; ++time) {
        if (limiter.limit(request_of(ask), at(time)).value().passed) return at(time);
    }
    return std::nullopt;
}

bool passes(const History& history, const Ask& ask, UnixTime now) {
    Limiter limiter = fresh_limiter();
    replay(limiter, history);
    return limiter.limit(request_of(ask), now).value().passed;
}

// Compares a denial with brute force. `ask` is the request that was denied, its cost being that of
// all requests of the batch up to it that have its key.
void check_denial(const History& before,
                  const Ask& ask,
                  const Decision& decision,
                  std::int64_t now) {
    // A request that is late by two windows is decided in the one between them.
    const std::int64_t window = decision.reset_at.time_since_epoch().count() - ask.duration;
    const bool is_late = now < window && now >= window - ask.duration;
    const auto found =
        ask.cost > kMaxNumber ? std::nullopt : first_pass(before, ask, is_late ? window : now);
    ASSERT_EQ(found, decision.retry_at) << ask << " at " << now << " after\n" << to_text(before);
    if (!found) return;
    ASSERT_TRUE(passes(before, ask, *found)) << ask << " after\n" << to_text(before);
    if (at(now) < *found) {
        ASSERT_FALSE(passes(before, ask, *found - std::chrono::milliseconds{1}));
    }
}

std::int64_t latest(const History& history) {
    return std::ranges::max(history, {}, &Call::now).now;
}

// Whether every millisecond that the search for a retry time may visit is a valid time.
bool can_be_walked(const Ask& ask, std::int64_t now) {
    return ask.duration <= 2'000 && now < kMaxNumber - 10 * ask.duration;
}

// Checks up to `most` denials of a history whose windows are short enough to walk through.
int check_denials(const History& history, int most) {
    Limiter limiter = fresh_limiter();
    History before;
    int checked = 0;
    for (const Call& call : history) {
        const Answer answer = make_call(limiter, call);
        before.push_back(call);
        if (!answer) continue;
        std::map<std::pair<int, std::int64_t>, std::int64_t> demanded;
        for (std::size_t i = 0; i < call.asks.size(); ++i) {
            Ask ask = call.asks[i];
            ask.cost = demanded[{ask.key, ask.duration}] += ask.cost;
            if (answer->decisions[i].passed || checked == most) continue;
            if (!can_be_walked(ask, latest(before))) continue;
            check_denial(before, ask, answer->decisions[i], call.now);
            if (testing::Test::HasFatalFailure()) return checked;
            ++checked;
        }
    }
    return checked;
}

TEST(RetryAt, IsTheFirstMillisecondThatPassesInRandomHistories) {
    int checked = 0;
    for (std::uint64_t seed = 0; seed < 300 && !HasFatalFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        checked += check_denials(random_history(seed), 3);
    }
    EXPECT_GE(checked, 200);
}

// Every cost against every state of the two cells, from the first, a middle and the last
// millisecond.
TEST(RetryAt, IsTheFirstMillisecondThatPassesFromEveryStateOfASmallLimit) {
    constexpr std::int64_t kLimit = 3;
    for (std::int64_t previous = 0; previous <= kLimit; ++previous) {
        for (std::int64_t current = 0; current <= kLimit; ++current) {
            for (const std::int64_t elapsed : {0, 1, 499, 999}) {
                const auto spend = [](std::int64_t now, std::int64_t cost) {
                    return Call{.now = now,
                                .kind = CallKind::kSingle,
                                .asks = {{.limit = 1'000, .cost = cost}}};
                };
                const History before{spend(7'000, previous), spend(8'000, current)};
                for (std::int64_t cost = 0; cost <= kLimit + 1; ++cost) {
                    const Ask ask{.limit = kLimit, .cost = cost};
                    Limiter limiter = fresh_limiter();
                    replay(limiter, before);
                    const auto decision = limiter.limit(request_of(ask), at(8'000 + elapsed));
                    if (decision->passed) continue;
                    check_denial(before, ask, *decision, 8'000 + elapsed);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

// A clock that stepped back finds counts in the window after its own, which are in its way too.
TEST(RetryAt, IncludesCountsOfTheNextWindow) {
    const History before{
        {.now = 8'999, .kind = CallKind::kSingle, .asks = {{.limit = 10, .cost = 5}}},
        {.now = 9'999, .kind = CallKind::kSingle, .asks = {{.limit = 10, .cost = 5}}}};
    Limiter limiter = fresh_limiter();
    replay(limiter, before);
    for (const std::int64_t cost : {6, 7, 10}) {
        const Ask ask{.limit = 10, .cost = cost};
        const auto decision = limiter.limit(request_of(ask), at(8'999));
        ASSERT_FALSE(decision->passed);
        check_denial(before, ask, *decision, 8'999);
    }
}

}  // namespace
}  // namespace sluice::model
