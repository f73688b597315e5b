// Rest: how long a region waits with its next round where all limits are far.
#ifndef SLUICE_REGIONAL_REST_H_
#define SLUICE_REGIONAL_REST_H_

#include <algorithm>
#include <cstddef>

#include "breaker/breaker.h"
#include "counter/changed.h"
#include "regional/replay.h"

namespace sluice {

// After a round in which all limits were far, there is time to let more come together, until a
// limit is not far any more (ChangedList::hurry), or nothing is spent for a moment. The longer the
// round took, the more there is to gain; but all have to hear of the others again while what they
// heard is fresh. To hear costs the origin a quarter of what it costs to be told, so that two of
// three rounds do no more where there is much to tell, and the windows are long beside it.
//
// Thread-compatible.
class Rest {
  public:
    using Time = Breaker::Time;

    // From so many cells on, there is much to tell.
    static constexpr std::size_t kMuch = 4'096;
    explicit Rest(std::size_t much) : much_(much) {}

    // After `round`, which took so long.
    void begin(Time now, Time::duration took, const Replay::Round& round, ChangedList& changed);
    // Ends it, if there is one; the next round tells.
    void end();

    // Call it at wake_at(), and when a limit is not far any more.
    bool goes_on(Time now, ChangedList& changed);
    Time wake_at() const { return std::min(until_, quiet_from_); }

    // Before each round, right after goes_on().
    Telling::Aim next_aim();

  private:
    const std::size_t much_;
    Time until_ = Time::min();
    Time quiet_from_ = Time::min();  // it ends if nothing was spent until then
    bool is_worth_hearing_ = false;  // rather than telling, when it ends in time
    bool has_ended_in_time_ = false;
    int hearings_ = 0;  // since all was told
    Time::duration telling_took_{};
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REST_H_
