#include "stress/ledger.h"

#include <algorithm>
#include <sstream>

namespace sluice::stress {

void Ledger::note(const Request& request, const Decision& decision) {
    const std::int64_t sequence = decision.reset_at.time_since_epoch() / duration_ - 1;
    sums_[{std::string(request.identifier), sequence}] += request.cost;
}

void Ledger::note(std::span<const Request> requests, const BatchDecision& batch) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        note(requests[i], batch.decisions[i]);
    }
}

void Ledger::add(const Ledger& other) {
    for (const auto& [cell, sum] : other.sums_) {
        sums_[cell] += sum;
    }
}

std::int64_t Ledger::spent(const std::string& identifier, std::int64_t sequence) const {
    const auto found = sums_.find({identifier, sequence});
    return found == sums_.end() ? 0 : found->second;
}

std::int64_t Ledger::largest() const {
    const auto by_sum = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto found = std::max_element(sums_.begin(), sums_.end(), by_sum);
    return found == sums_.end() ? 0 : found->second;
}

// At the first millisecond of a window its cell and the previous one count in full, at the last one
// the previous cell hardly counts: together the peeks distinguish the two.
std::string Ledger::first_mismatch(Limiter& limiter,
                                   const Request& sample,
                                   std::int64_t latest) const {
    const std::int64_t window = latest - latest % duration_.count();
    for (const std::int64_t begin : {window - duration_.count(), window}) {
        for (const std::int64_t elapsed :
             {std::int64_t{0}, duration_.count() / 3, duration_.count() - 1}) {
            std::string mismatch = mismatch_at(limiter, sample, begin + elapsed);
            if (!mismatch.empty()) return mismatch;
        }
    }
    return {};
}

std::string Ledger::mismatch_at(Limiter& limiter, Request peek, std::int64_t time) const {
    peek.cost = 0;
    peek.limit = kMaxNumber;
    const std::string identifier(peek.identifier);
    const std::int64_t duration = duration_.count();
    const std::int64_t current = spent(identifier, time / duration);
    const std::int64_t previous = spent(identifier, time / duration - 1);
    const std::int64_t weighted =
        (previous * (duration - time % duration) + duration - 1) / duration;
    const std::int64_t counted = kMaxNumber - limiter.limit(peek, at(time)).value().remaining;
    if (counted == current + weighted) return {};
    std::ostringstream out;
    out << identifier << " at " << time << ": callers were admitted " << current
        << " in this window and " << previous << " in the one before, which makes "
        << current + weighted << ", but the limiter counts " << counted;
    return out.str();
}

}  // namespace sluice::stress
