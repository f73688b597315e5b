// How a request is decided by what is held, and when it has to wait.
#ifndef SLUICE_SERVICE_LOCAL_DECIDER_H_
#define SLUICE_SERVICE_LOCAL_DECIDER_H_

#include <sluice/limiter.h>

#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "decide/valid.h"
#include "service/questions.h"

namespace sluice {

inline Error out_of_memory() {
    return {kOutOfMemory, "out of memory"};  // short enough not to allocate
}

// LocalDecider decides by what a table holds. Where the sharing rule leaves a request to the
// origin, the caller has to ask it, unless it is unavailable: then the counts held decide. `Link`
// is what a decision needs to know of the region: is_unavailable() and count_fallback(). Without a
// region the counts held are all there are.
//
// It decides into a result that the caller has made: one that passes through three returns would be
// copied at each, which costs as much as a lookup.
//
// As thread-safe as its table and its link.
template <class Link>
class LocalDecider {
  public:
    explicit LocalDecider(Table& table) : table_(table) {}
    // Before anything is decided; `link` must outlive it.
    void join(Link& link) { link_ = &link; }

    bool has_region() const { return link_ != nullptr; }

    // False if the origin has to decide. There is code of its own
    // for those with a region and without, and for requests with short texts, in which nothing else
    // is on the way.
    template <bool has_region, class Time>
    [[gnu::always_inline]] bool decide_at(Time time,
                                          const Request& request,
                                          Result<Decision>& result) try {
        if (KeyShape::is_short(request) && has_valid_numbers(request)) [[likely]] {
            return decide_valid<has_region>(time, request, result);
        }
        return decide_any_at<has_region>(time, request, result);
    } catch (const std::bad_alloc&) {
        result = out_of_memory();
        return true;
    }

    // The same for a batch; `stale` tells of which requests.
    bool decide_at(CallersClock clock,
                   std::span<const Request> requests,
                   std::vector<std::size_t>& stale,
                   Result<BatchDecision>& result) try {
        const Freshness freshness =
            link_ == nullptr ? Freshness::kJustRefreshed : Freshness::kAsHeld;
        if (!is_valid_batch(requests)) {
            result = invalid_batch(requests);
        } else if (clock && !is_valid_time(*clock)) {
            result = invalid_time(*clock);
        } else if (auto decided = decide_batch(table_, requests, clock, freshness, &stale)) {
            result = *std::move(decided);
        } else if (!link_->is_unavailable()) {
            return false;
        } else {
            decide_from_local(requests, clock, result);
        }
        return true;
    } catch (const std::bad_alloc&) {
        result = out_of_memory();
        return true;
    }

    // The origin should decide, and is unavailable.
    [[gnu::noinline]] void decide_from_local(const Request& request,
                                             UnixTime now,
                                             Result<Decision>& result) {
        link_->count_fallback();
        sluice::decide_from_local(table_, request, now, *result);
    }
    void decide_from_local(std::span<const Request> requests,
                           CallersClock clock,
                           Result<BatchDecision>& result) {
        link_->count_fallback();
        result = *decide_batch(table_, requests, clock, Freshness::kJustRefreshed);
    }

  private:
    template <bool has_region, class Time>
    [[gnu::always_inline]] bool decide_valid(Time time,
                                             const Request& request,
                                             Result<Decision>& result) {
        const Outcome outcome = decide<has_region>(table_, request, time, *result);
        if (!has_region || outcome != Outcome::kAskOrigin) [[likely]]
            return true;
        if (!link_->is_unavailable()) return false;
        decide_from_local(request, time.exact(), result);
        return true;
    }

    template <bool has_region, class Time>
    [[gnu::noinline]] bool decide_any_at(Time time,
                                         const Request& request,
                                         Result<Decision>& result) {
        if (is_valid(request)) return decide_valid<has_region>(time, request, result);
        result = invalid_request(request);
        return true;
    }

    Table& table_;
    Link* link_ = nullptr;  // null: alone
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_LOCAL_DECIDER_H_
