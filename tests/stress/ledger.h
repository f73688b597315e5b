// Sums of admitted costs, against which a limiter's counts are checked after threads have raced.
#ifndef SLUICE_TESTS_STRESS_LEDGER_H_
#define SLUICE_TESTS_STRESS_LEDGER_H_

#include <sluice/limiter.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace sluice::stress {

inline constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 53) - 1;

inline UnixTime at(std::int64_t milliseconds) {
    return UnixTime{std::chrono::milliseconds{milliseconds}};
}

// Ledger sums, for each identifier and sequence, the costs of the requests that passed. All
// requests of a ledger have one duration. A decision shows the sequence in which it was made:
// the one that ends at its reset_at.
//
// Thread-compatible: each thread keeps its own, which are then added up.
class Ledger {
  public:
    explicit Ledger(std::chrono::milliseconds duration) : duration_(duration) {}

    // Both only for what was really spent: a pass, and a pass within a batch that passed.
    void note(const Request& request, const Decision& decision);
    void note(std::span<const Request> requests, const BatchDecision& batch);

    void add(const Ledger& other);

    std::int64_t spent(const std::string& identifier, std::int64_t sequence) const;

    // The largest sum of any identifier and sequence.
    std::int64_t largest() const;

    // Peeks at every cell that `limiter` still holds and describes the first one that differs from
    // the ledger; empty if all agree. `latest` is the highest time that any
    // request was made at.
    std::string first_mismatch(Limiter& limiter, const Request& sample, std::int64_t latest) const;

  private:
    std::string mismatch_at(Limiter& limiter, Request peek, std::int64_t time) const;

    std::chrono::milliseconds duration_;
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> sums_;
};

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_LEDGER_H_
