// A limiter that is obviously right and slow: what the tests hold sluice::Limiter against.
#ifndef SLUICE_TESTS_MODEL_NAIVE_LIMITER_H_
#define SLUICE_TESTS_MODEL_NAIVE_LIMITER_H_

#include <sluice/limiter.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::model {

// The largest count, cost, limit and time: 2^53 - 1.
inline constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 53) - 1;

// NaiveLimiter gives the answers that Limiter promises, from every cell that there ever was. It
// forgets nothing, shares no code with the library and computes in 128 bits. Its rules:
//
//  1. A key remembers the highest sequence of its requests. A request up to one sequence below
//     that is decided at its own time, one that is two below at the beginning of the sequence
//     between. With an older one, the clock has stepped back, and the key starts over without a
//     count: two sequences after the one that it left for the highest, or wherever else the request
//     lies. It counts as left if it was followed by one more than two above, and its lowest seven
//     bits are compared. Until the key starts over, such requests are decided at the beginning of
//     the highest sequence.
//  2. A request of a batch is weighed with the costs of all requests before it that have the same
//     key.
//  3. A debit is spent in any case, up to the largest number.
//  4. A batch that fails spends nothing, and the remainders of its passing requests show that.
//
// Thread-compatible.
class NaiveLimiter {
  public:
    Result<Decision> limit(const Request& request, UnixTime now);
    Result<BatchDecision> limit_many(std::span<const Request> requests, UnixTime now);
    Result<Decision> debit(const Request& request, UnixTime now);

  private:
    struct Key {
        std::string workspace;
        std::string name_space;
        std::string identifier;
        std::int64_t duration;
        auto operator<=>(const Key&) const = default;
    };

    struct Counts {
        std::int64_t highest = -1;                   // sequence; -1: no request yet
        std::int64_t left = 0;                       // sequence
        std::map<std::int64_t, std::int64_t> cells;  // by sequence

        std::int64_t at(std::int64_t sequence) const;
        // The first sequence from `asked` on in which the key starts over.
        std::int64_t starts_over_in(std::int64_t asked) const;
        void move_to(std::int64_t asked);
        // The time at which a request at `now` is decided, after move_to().
        std::int64_t decided_at(std::int64_t now, std::int64_t duration) const;
    };

    // One request, together with what a decision about it needs.
    struct Query {
        Counts* counts;
        std::int64_t now;
        std::int64_t instant;  // the time at which it is decided
        std::int64_t duration;
        std::int64_t limit;
        std::int64_t cost;
        std::int64_t
            demand;  // its cost and those of the earlier requests of the batch with the same key
    };

    enum class Outcome { kSpent, kRefused };

    std::vector<Query> queries_of(std::span<const Request> requests, std::int64_t now);
    static bool fits(const Query& query, std::int64_t demand, std::int64_t instant);
    static std::int64_t room(const Query& query, std::int64_t demand);
    static std::optional<UnixTime> first_fit(const Query& query);
    static Decision decide(const Query& query, Outcome outcome);

    std::map<Key, Counts> keys_;
};

}  // namespace sluice::model

#endif  // SLUICE_TESTS_MODEL_NAIVE_LIMITER_H_
