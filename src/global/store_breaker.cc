#include "global/store_breaker.h"

namespace sluice {
namespace {

// Calls are few, so few failures must do.
Breaker::Config config_with(std::chrono::milliseconds window) {
    return {.least_calls = 5,
            .failed_percent = 50,
            .window = window,
            .open_for = std::chrono::milliseconds{5'000},
            .probe_timeout = std::chrono::milliseconds{15'000}};
}

}  // namespace

StoreBreaker::StoreBreaker(std::chrono::milliseconds window) : breaker_(config_with(window)) {}

bool StoreBreaker::allow(Time now) {
    const MutexLock lock(mutex_);
    return breaker_.allow(now);
}

void StoreBreaker::ended(StoreUse use, const Breaker::Call& call, const StoreFailure* failure) {
    const MutexLock lock(mutex_);
    auto& last = failures_[static_cast<std::size_t>(use)];
    const bool is_at_fault = failure != nullptr && failure->kind != StoreFailure::Kind::kBusy &&
                             failure->kind != StoreFailure::Kind::kRows;
    if (is_at_fault) {
        breaker_.failed(call);
        last = *failure;
        return;
    }
    breaker_.succeeded(call);
    // A store that refuses rows may still refuse all of them.
    if (failure == nullptr || failure->kind == StoreFailure::Kind::kBusy) last.reset();
    for (auto& other : failures_)
        if (other && other->kind == StoreFailure::Kind::kLost) other.reset();
}

Breaker::State StoreBreaker::state(Time now) const {
    const MutexLock lock(mutex_);
    return breaker_.state(now);
}

bool StoreBreaker::is_failing(StoreUse use) const {
    const MutexLock lock(mutex_);
    return failures_[static_cast<std::size_t>(use)].has_value();
}

std::optional<std::string> StoreBreaker::last_failure() const {
    const MutexLock lock(mutex_);
    for (const auto& failure : failures_)
        if (failure) return failure->why;
    return std::nullopt;
}

}  // namespace sluice
