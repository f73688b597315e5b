#include "global/schedule.h"

namespace sluice {
namespace {

constexpr int kJitterPart = 5;  // of an interval: 20 %

}  // namespace

Schedule::Schedule(Interval interval, Time now, std::uint64_t seed)
    : interval_(interval), random_(seed) {
    target_ = now + Interval{random_below(static_cast<std::uint64_t>(interval.count()))};
    set_next();
}

void Schedule::finish(Time now) {
    target_ += interval_;
    if (target_ <= now) target_ += (now - target_) / interval_ * interval_ + interval_;
    set_next();
}

void Schedule::set_next() {
    next_ = target_ +
            Interval{random_below(static_cast<std::uint64_t>(interval_.count()) / kJitterPart + 1)};
}

// SplitMix64: any seed will do, 0 among them.
std::uint64_t Schedule::random_below(std::uint64_t bound) {
    random_ += 0x9E37'79B9'7F4A'7C15U;
    std::uint64_t mixed = random_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return (mixed ^ (mixed >> 31U)) % bound;
}

}  // namespace sluice
