#include "regional/rest.h"

#include <algorithm>
#include <chrono>

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

void Rest::begin(Time now, Time::duration took, const Replay::Round& round, ChangedList& changed) {
    const Time::duration quarter = round.shortest / kRoundsPerWindow;
    const Time::duration apart = std::min<Time::duration>(kMostBetweenRounds, quarter);
    telling_took_ = hearings_ == 0 ? took : std::max(telling_took_, took);
    const Time::duration rest = std::min(kPerRound * telling_took_, apart - took);
    until_ = now + std::max<Time::duration>(kLeast, rest);
    quiet_from_ = now + kMoment;
    is_worth_hearing_ = round.cells >= much_ && (kHearings + 1) * kMostBetweenRounds <= quarter;
    changed.was_active();
}

void Rest::end() {
    until_ = Time::min();
    has_ended_in_time_ = false;
    hearings_ = 0;
}

bool Rest::goes_on(Time now, ChangedList& changed) {
    has_ended_in_time_ = false;
    if (until_ == Time::min()) return false;
    const bool is_undisturbed = changed.is_resting();
    if (is_undisturbed && now < until_) {
        if (now < quiet_from_) return true;
        quiet_from_ = now + kMoment;
        if (changed.was_active()) return true;
    }
    has_ended_in_time_ = is_undisturbed && now >= until_;
    until_ = Time::min();
    return false;
}

Telling::Aim Rest::next_aim() {
    const bool hears = has_ended_in_time_ && is_worth_hearing_ && hearings_ < kHearings;
    hearings_ = hears ? hearings_ + 1 : 0;
    return hears ? Telling::Aim::kHear : Telling::Aim::kTell;
}

}  // namespace sluice
