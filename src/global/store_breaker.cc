#include "global/store_breaker.h"

namespace sluice {
namespace {

// Calls are few, a handful in ten seconds, so few failures must do.
constexpr Breaker::Config kConfig{.least_calls = 5,
                                  .failed_percent = 50,
                                  .window = std::chrono::milliseconds{30'000},
                                  .open_for = std::chrono::milliseconds{5'000},
                                  .probe_patience = std::chrono::milliseconds{15'000}};

}  // namespace

StoreBreaker::StoreBreaker() : breaker_(kConfig) {}

bool StoreBreaker::allow(Time now) {
    const MutexLock lock(mutex_);
    return breaker_.allow(now);
}

void StoreBreaker::ended(const Breaker::Call& call, const StoreFailure* failure) {
    const MutexLock lock(mutex_);
    if (failure == nullptr || failure->kind == StoreFailure::Kind::kBusy) {
        breaker_.succeeded(call);
        trouble_.reset();
    } else {
        breaker_.failed(call);
        trouble_ = failure->why;
    }
}

Breaker::State StoreBreaker::state(Time now) const {
    const MutexLock lock(mutex_);
    return breaker_.state(now);
}

std::optional<std::string> StoreBreaker::trouble() const {
    const MutexLock lock(mutex_);
    return trouble_;
}

}  // namespace sluice
