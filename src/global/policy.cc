#include "global/policy.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

constexpr int kJitterPart = 5;  // of an interval: 20 %

PublishTime publish_from(Count part, Count whole, const CellUse& use) {
    const bool matters = use.has_foreign || Wide{use.regional} * whole >= Wide{use.limit} * part;
    return matters && use.regional > use.last_pushed ? PublishTime::kWithTick : PublishTime::kNever;
}

}  // namespace

PublishTime publish_adaptively(const CellUse& use) {
    if (use.regional <= use.last_pushed) return PublishTime::kNever;
    const Count left = use.limit - std::min(use.limit, use.known);
    const Count half_share =
        use.has_foreign ? left / (4 * use.regions) : use.limit / (2 * use.regions);
    if (use.regional - use.last_pushed >= std::max<Count>(half_share, 1)) return PublishTime::kNow;
    const bool is_remainder = use.last_pushed != 0 && use.is_still;
    return use.has_foreign || is_remainder ? PublishTime::kWithTick : PublishTime::kNever;
}

PublishTime publish_from_half(const CellUse& use) {
    return publish_from(1, 2, use);
}

PublishTime publish_from_quarter(const CellUse& use) {
    return publish_from(1, 4, use);
}

PublishTime publish_always(const CellUse& use) {
    return publish_from(0, 1, use);
}

std::span<const NamedPolicy> publish_policies() {
    static constexpr std::array kPolicies = {
        NamedPolicy{"adaptive", publish_adaptively},
        NamedPolicy{"half", publish_from_half},
        NamedPolicy{"quarter", publish_from_quarter},
        NamedPolicy{"always", publish_always},
    };
    return kPolicies;
}

TickSchedule::TickSchedule(Interval interval, Time now, std::uint64_t seed)
    : interval_(interval), random_(seed) {
    target_ = now + Interval{random_below(static_cast<std::uint64_t>(interval.count()))};
    set_next();
}

void TickSchedule::finish(Time now) {
    target_ += interval_;
    if (target_ <= now) target_ += (now - target_) / interval_ * interval_ + interval_;
    set_next();
}

void TickSchedule::set_next() {
    next_ = target_ +
            Interval{random_below(static_cast<std::uint64_t>(interval_.count()) / kJitterPart + 1)};
}

// SplitMix64: any seed will do, 0 among them.
std::uint64_t TickSchedule::random_below(std::uint64_t bound) {
    random_ += 0x9E37'79B9'7F4A'7C15U;
    std::uint64_t mixed = random_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return (mixed ^ (mixed >> 31U)) % bound;
}

}  // namespace sluice
