#include "model/history_decoder.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

// How often each thing that a history should contain happens.
class Census {
  public:
    void take(const History& history) {
        NaiveLimiter model;
        for (const Call& call : history) {
            const Answer answer = make_call(model, call);
            ++seen_[answer ? "a valid call" : "an invalid call"];
            if (answer) count(call, *answer);
        }
        for (std::size_t i = 1; i < history.size(); ++i) {
            count_move(history[i].now - history[i - 1].now, history[i].asks.front().duration);
        }
    }

    int of(const std::string& event) const {
        const auto found = seen_.find(event);
        return found == seen_.end() ? 0 : found->second;
    }

  private:
    void count(const Call& call, const BatchDecision& batch) {
        for (std::size_t i = 0; i < call.asks.size(); ++i) {
            const Ask& ask = call.asks[i];
            const Decision& decision = batch.decisions[i];
            ++seen_[decision.passed ? "a pass" : "a denial"];
            if (decision.retry_at) ++seen_["a denial to retry"];
            if (decision.retry_at > decision.reset_at) ++seen_["a retry past the next boundary"];
            if (ask.cost == 0)
                ++seen_[decision.passed ? "a peek that passes" : "a peek that is denied"];
            if (decision.reset_at.time_since_epoch().count() - ask.duration > call.now) {
                ++seen_["a request older than what is held"];
            }
            if (decision.passed && !batch.passed) ++seen_["a pass within a batch that fails"];
        }
        if (call.kind == CallKind::kBatch) {
            ++seen_[batch.passed ? "a batch that passes" : "a batch that fails"];
            if (has_duplicates(call)) ++seen_["a batch with duplicates"];
        }
    }

    void count_move(std::int64_t move, std::int64_t duration) {
        if (move < 0) ++seen_[-move < duration ? "a small step back" : "a large step back"];
        if (move > duration) ++seen_["an idle window"];
        if (move / duration > 50'000) ++seen_["50,000 idle windows"];
    }

    static bool has_duplicates(const Call& call) {
        std::set<std::pair<int, std::int64_t>> keys;
        return !std::all_of(call.asks.begin(), call.asks.end(), [&](const Ask& ask) {
            return keys.emplace(ask.key, ask.duration).second;
        });
    }

    std::map<std::string, int> seen_;
};

TEST(RandomHistory, ContainsEverythingThatItShould) {
    Census census;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        census.take(random_history(seed));
    }
    for (const char* event : {"a valid call",
                              "an invalid call",
                              "a pass",
                              "a denial",
                              "a denial to retry",
                              "a retry past the next boundary",
                              "a peek that passes",
                              "a peek that is denied",
                              "a request older than what is held",
                              "a pass within a batch that fails",
                              "a batch that passes",
                              "a batch that fails",
                              "a batch with duplicates",
                              "a small step back",
                              "a large step back",
                              "an idle window",
                              "50,000 idle windows"}) {
        EXPECT_GE(census.of(event), 30) << event;
        RecordProperty(event, census.of(event));
    }
}

TEST(RandomHistory, IsTheSameForTheSameSeed) {
    EXPECT_EQ(to_text(random_history(7)), to_text(random_history(7)));
    EXPECT_NE(to_text(random_history(7)), to_text(random_history(8)));
}

TEST(DecodeHistory, TakesAnyBytes) {
    EXPECT_TRUE(decode_history({}).empty());
    const std::array<std::uint8_t, kHeaderBytes + kRecordBytes + 1> bytes{};
    const History history = decode_history(bytes);
    ASSERT_EQ(history.size(), 1U);
    EXPECT_EQ(
        to_text(history),
        "    {.now = 1700000000000, .kind = CallKind::kSingle, .asks = {{.key = 0, .limit = 10, "
        ".duration = 1000, .cost = 1}}},\n");
}

TEST(MinimalHistory, KeepsOnlyWhatTheFailureNeeds) {
    const auto fails = [](const History& history) {
        return std::count_if(history.begin(), history.end(), [](const Call& call) {
                   return std::any_of(call.asks.begin(), call.asks.end(), [](const Ask& ask) {
                       return ask.cost == 0;
                   });
               }) >= 2;
    };
    const History small = minimal(random_history(1), fails);
    ASSERT_EQ(small.size(), 2U);
    EXPECT_EQ(small[0].asks.size(), 1U);
    EXPECT_EQ(small[1].asks.size(), 1U);
}

}  // namespace
}  // namespace sluice::model
