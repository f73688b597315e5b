#include "regional/rest.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeast{1'000};
constexpr milliseconds kMostBetweenRounds{4'700};
constexpr int kRoundsPerWindow = 4;
constexpr int kPerRound = 50;  // times as long as the round
constexpr milliseconds kMoment{250};
constexpr int kHearings = 2;  // between two rounds that tell

}  // namespace

void Rest::begin(Time now, Time::duration round, Duration window, ChangedList& changed) {
    const Time::duration apart =
        std::min<Time::duration>(kMostBetweenRounds, window / kRoundsPerWindow);
    const Time::duration most = std::max<Time::duration>(kLeast, apart - round);
    if (hearings_ == 0) telling_took_ = round;
    const Time::duration rest = std::clamp<Time::duration>(kPerRound * telling_took_, kLeast, most);
    until_ = now + rest;
    quiet_from_ = now + kMoment;
    is_worth_hearing_ =
        rest == most && (kHearings + 1) * kMostBetweenRounds <= window / kRoundsPerWindow;
    changed.was_active();
}

bool Rest::goes_on(Time now, ChangedList& changed) {
    if (until_ == Time::min()) return false;
    const bool is_undisturbed = changed.is_resting();
    if (is_undisturbed && now < until_) {
        if (now < quiet_from_) return true;
        quiet_from_ = now + kMoment;
        if (changed.was_active()) return true;
    }
    may_hear_ = is_undisturbed && now >= until_ && is_worth_hearing_ && hearings_ < kHearings;
    until_ = Time::min();
    return false;
}

bool Rest::begin_hearing() {
    hearings_ = may_hear_ ? hearings_ + 1 : 0;
    return std::exchange(may_hear_, false);
}

}  // namespace sluice
