// Histories: sequences of calls that are played against a Limiter and the naive model side by side.
#ifndef SLUICE_TESTS_MODEL_HISTORY_H_
#define SLUICE_TESTS_MODEL_HISTORY_H_

#include <sluice/limiter.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace sluice::model {

// A request whose texts are named by a number: the keys 0 to kKeys - 1 are different and easily
// confused, the key kNoKey is not valid.
struct Ask {
    int key = 0;
    std::int64_t limit = 0;
    std::int64_t duration = 1'000;
    std::int64_t cost = 1;
};

inline constexpr int kKeys = 8;
inline constexpr int kNoKey = kKeys;

Request request_of(const Ask& ask);

enum class CallKind { kSingle, kBatch };

// One call of limit() or limit_many(); the former has exactly one ask.
struct Call {
    std::int64_t now = 0;
    CallKind kind = CallKind::kSingle;
    std::vector<Ask> asks;
};

using History = std::vector<Call>;

// The answer to a call, in one form for both kinds.
using Answer = Result<BatchDecision>;

// A limiter with room for the keys of a history.
Limiter fresh_limiter();

// Works for Limiter and NaiveLimiter.
template <class AnyLimiter>
Answer make_call(AnyLimiter& limiter, const Call& call);

// Makes the calls of `history` in order and forgets the answers.
void replay(Limiter& limiter, const History& history);

// Plays `history` against a fresh Limiter and the naive model. Describes the first call that the
// two answer differently, and how; nothing if they agree to the end.
std::optional<std::string> first_difference(const History& history);

// A history that fails as `history` does and from which no call and no ask can be left out.
History minimal(History history, const std::function<bool(const History&)>& fails);

// These print what a C++ program can contain, so that a failing history can become a test.
std::ostream& operator<<(std::ostream& out, const Ask& ask);
std::ostream& operator<<(std::ostream& out, const Call& call);
std::string to_text(const History& history);

}  // namespace sluice::model

#endif  // SLUICE_TESTS_MODEL_HISTORY_H_
