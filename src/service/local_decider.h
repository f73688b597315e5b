// Decides requests from local counts, or leaves them to the origin.
#ifndef SLUICE_SERVICE_LOCAL_DECIDER_H_
#define SLUICE_SERVICE_LOCAL_DECIDER_H_

#include <sluice/limiter.h>

#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "decide/valid.h"

namespace sluice {

// LocalDecider decides from the counts of a table. Where the sharing rule leaves a request to the
// origin, the caller defers it, unless the origin is unavailable: then local counts decide, which
// is a fallback. `Link` is the decider's view of the region: is_unavailable() and count_fallback().
// Without a region, local counts are complete.
//
// It writes into a result that the caller provides: one that passes through three returns would be
// copied at each, which costs as much as a lookup.
//
// As thread-safe as its table and its link.
template <class Link>
class LocalDecider {
  public:
    explicit LocalDecider(Table& table) : table_(table) {}
    // To be called before the first decision; `link` must outlive it.
    void join(Link& link) { link_ = &link; }

    bool has_origin() const { return link_ != nullptr; }

    // Decides a request; false if the origin has to. Separate instances with and without a region,
    // and a separate path for short texts, keep the common case free of other code.
    template <bool has_origin, class Time>
    [[gnu::always_inline]] bool decide_or_defer(Time time,
                                                const Request& request,
                                                Result<Decision>& result) try {
        if (KeyShape::is_short(request) && has_valid_numbers(request)) [[likely]] {
            return decide_valid<has_origin>(time, request, result);
        }
        return decide_any<has_origin>(time, request, result);
    } catch (const std::bad_alloc&) {
        result = out_of_memory();
        return true;
    }

    // The same for a batch; if false, `stale` has the requests whose keys have to be read. Without
    // `now`, the system's clock is read.
    bool decide_batch_or_defer(std::optional<UnixTime> now,
                               std::span<const Request> requests,
                               std::vector<std::size_t>& stale,
                               Result<BatchDecision>& result) try {
        const SharingRule rule = link_ == nullptr ? SharingRule::kSkip : SharingRule::kApply;
        if (!is_valid_batch(requests)) {
            result = invalid_batch(requests);
        } else if (now && !is_valid_time(*now)) {
            result = invalid_time(*now);
        } else if (auto decided = decide_batch(table_, requests, now, rule, &stale)) {
            result = *std::move(decided);
        } else if (!link_->is_unavailable()) {
            return false;
        } else {
            fall_back_batch(requests, now, result);
        }
        return true;
    } catch (const std::bad_alloc&) {
        result = out_of_memory();
        return true;
    }

    // Decide from local counts, because the origin can't.
    [[gnu::noinline]] void fall_back(const Request& request,
                                     UnixTime now,
                                     Result<Decision>& result) {
        link_->count_fallback();
        decide_from_local(table_, request, now, *result);
    }
    void fall_back_batch(std::span<const Request> requests,
                         std::optional<UnixTime> now,
                         Result<BatchDecision>& result) {
        link_->count_fallback();
        result = *decide_batch(table_, requests, now, SharingRule::kSkip);
    }

  private:
    template <bool has_origin, class Time>
    [[gnu::always_inline]] bool decide_valid(Time time,
                                             const Request& request,
                                             Result<Decision>& result) {
        const AdmitOutcome outcome = decide<has_origin>(table_, request, time, *result);
        if (!has_origin || outcome != AdmitOutcome::kAskOrigin) [[likely]]
            return true;
        if (!link_->is_unavailable()) return false;
        fall_back(request, time.exact(), result);
        return true;
    }

    template <bool has_origin, class Time>
    [[gnu::noinline]] bool decide_any(Time time, const Request& request, Result<Decision>& result) {
        if (is_valid(request)) return decide_valid<has_origin>(time, request, result);
        result = invalid_request(request);
        return true;
    }

    Table& table_;
    Link* link_ = nullptr;  // null: no region
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_LOCAL_DECIDER_H_
