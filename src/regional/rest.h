// Rest: how long a region waits with its next round where all limits are far.
#ifndef SLUICE_REGIONAL_REST_H_
#define SLUICE_REGIONAL_REST_H_

#include <sluice/time.h>

#include <algorithm>

#include "breaker/breaker.h"
#include "counter/changed.h"

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

    // After `round`, the shortest window of which was `window`.
    void begin(Time now, Time::duration round, Duration window, ChangedList& changed);
    void end() { *this = {}; }

    // Call it at wake_at(), and when a limit is not far any more.
    bool goes_on(Time now, ChangedList& changed);
    // Whether the round that follows, which begins now, need only hear.
    bool begin_hearing();
    Time wake_at() const { return std::min(until_, quiet_from_); }

  private:
    Time until_ = Time::min();
    Time quiet_from_ = Time::min();  // it ends if nothing was spent until then
    bool is_worth_hearing_ = false;  // rather than telling, when it ends in time
    bool may_hear_ = false;
    int hearings_ = 0;  // since all was told
    Time::duration telling_took_{};
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REST_H_
