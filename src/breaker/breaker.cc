#include "breaker/breaker.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

Breaker::Breaker(const Config& config) : config_(config) {
    SLUICE_CHECK(config.window.count() >= kSlots);
    SLUICE_CHECK(config.least_calls > 0);
    SLUICE_CHECK(config.failed_percent > 0 && config.failed_percent <= 100);
}

bool Breaker::allow(Time now) {
    latest_ = std::max(latest_, now);
    switch (state(now)) {
        case State::kClosed:
            return true;
        case State::kOpen:
            return false;
        case State::kHalfOpen:
            break;
    }
    if (probe_ && now < *probe_ + config_.probe_timeout) return false;
    probe_ = now;
    return true;
}

void Breaker::trip(Time now) {
    latest_ = std::max(latest_, now);
    opened_ = now;
    probe_.reset();
}

void Breaker::reset() {
    close(latest_);
}

Breaker::State Breaker::state(Time now) const {
    if (!opened_) return State::kClosed;
    return now < *opened_ + config_.open_for ? State::kOpen : State::kHalfOpen;
}

void Breaker::record(const Call& call, Outcome outcome) {
    latest_ = std::max(latest_, call.ended);
    if (!opened_) {
        if (call.began < closed_since_) return;
        count(latest_, outcome);
        if (fails_too_often(latest_)) trip(latest_);
        return;
    }
    // A probe is known by the time at which it was allowed: there is one at a time, and the next is
    // later. Whatever else ends now began before the breaker opened, or was given up.
    if (call.began != probe_) return;
    if (outcome == Outcome::kFailure) return trip(latest_);
    close(latest_);
}

void Breaker::close(Time now) {
    opened_.reset();
    probe_.reset();
    slots_ = {};
    closed_since_ = now;
}

void Breaker::count(Time ended, Outcome outcome) {
    const std::int64_t number = slot_number(ended);
    Slot& slot = slots_[static_cast<std::uint64_t>(number) % kSlots];
    if (slot.number != number) slot = {.number = number};
    ++slot.calls;
    if (outcome == Outcome::kFailure) ++slot.failures;
}

bool Breaker::fails_too_often(Time now) const {
    const std::int64_t oldest = slot_number(now) - kSlots + 1;
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;
    for (const Slot& slot : slots_) {
        if (slot.number < oldest) continue;
        calls += slot.calls;
        failures += slot.failures;
    }
    return calls >= config_.least_calls && failures * 100 >= calls * config_.failed_percent;
}

std::int64_t Breaker::slot_number(Time time) const {
    return time.time_since_epoch() / (Clock::duration(config_.window) / kSlots);
}

}  // namespace sluice
