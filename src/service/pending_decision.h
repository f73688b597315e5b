// Decisions that wait for the origin, with copies of their requests and a deadline.
#ifndef SLUICE_SERVICE_PENDING_DECISION_H_
#define SLUICE_SERVICE_PENDING_DECISION_H_

#include <sluice/limiter.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "counter/table.h"
#include "window/sharing.h"

namespace sluice {

// Copies of requests, with their texts. Neither copied nor moved, since the requests point into it.
// Thread-compatible.
class OwnedRequests {
  public:
    explicit OwnedRequests(std::span<const Request> requests)
        : requests_(requests.begin(), requests.end()) {
        std::size_t size = 0;
        for (const Request& request : requests)
            size +=
                request.workspace.size() + request.name_space.size() + request.identifier.size();
        texts_.reserve(size);
        for (Request& request : requests_) {
            keep(request.workspace);
            keep(request.name_space);
            keep(request.identifier);
        }
    }
    OwnedRequests(const OwnedRequests&) = delete;
    OwnedRequests& operator=(const OwnedRequests&) = delete;

    std::span<const Request> all() const { return requests_; }

  private:
    void keep(std::string_view& text) {
        const std::size_t start = texts_.size();
        texts_ += text;  // never reallocates: see the constructor
        text = std::string_view(texts_).substr(start);
    }

    std::vector<Request> requests_;
    std::string texts_;
};

// One or more requests that the sharing rule leaves to the origin. Normally the region's thread
// decides them. At the deadline, the waiting caller or the deadline thread decides them instead,
// from local counts. A lock makes sure that they are decided once and delivered once; no thread
// holds it longer than a decision from memory takes.
//
// Thread-safe, except for stale(), which belongs to the region's thread, and begin().
class PendingDecision {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Finished = std::function<void(const PendingDecision&)>;

    PendingDecision() = default;
    PendingDecision(const PendingDecision&) = delete;
    PendingDecision& operator=(const PendingDecision&) = delete;
    virtual ~PendingDecision() = default;

    // A single request is decided by the origin. A batch is decided here, after its keys were read
    // from the origin.
    enum class Kind { kSingle, kBatch };
    virtual Kind kind() const = 0;
    // The requests that the sharing rule leaves to the origin, and the time of the decision.
    virtual std::span<const Request> stale() const = 0;
    virtual UnixTime now() const = 0;
    // The number of requests. Constant.
    virtual std::size_t size() const = 0;

    // Sets the deadline, and a callback that runs after delivery. To be called before other threads
    // use this object.
    void begin(Time deadline, Finished finished = {}) {
        deadline_ = deadline;
        finished_ = std::move(finished);
    }
    Time deadline() const { return deadline_; }

    // Decides if the sharing rule allows it by now. True if it is decided, by this call or before.
    bool try_decide();

    // Decides from local counts, whatever their age. Returns whether a cost was spent that must be
    // written to the origin before delivery; none, and nothing was spent, if it was decided before.
    std::optional<bool> decide_now();

    // Decides by a grant of the origin. Does nothing if it was decided before: the node then has
    // credit at the origin, which its next request uses.
    void accept_grant(const Grant& grant);

    // Delivers the decision, once. Does nothing while it is undecided.
    void finish();

  private:
    // The four steps above, each called under the lock except for deliver().
    virtual bool decide_by_rule() = 0;
    virtual bool decide_from_counts() = 0;
    virtual void decide_by_grant(const Grant& grant) = 0;
    virtual void deliver() = 0;

    Time deadline_{};
    Finished finished_;
    Mutex mutex_;
    bool is_decided_ SLUICE_GUARDED_BY(mutex_) = false;
    bool is_finished_ SLUICE_GUARDED_BY(mutex_) = false;
};

// Both copy the requests; `table` must outlive them. Without `now`, the system's clock is read. If
// they throw, `later` was not moved from.
std::shared_ptr<PendingDecision> make_pending_decision(Table& table,
                                                       const Request& request,
                                                       std::optional<UnixTime> now,
                                                       Limiter::Later&& later);
// `stale` are the indices of the requests whose keys have to be read.
std::shared_ptr<PendingDecision> make_pending_batch(Table& table,
                                                    std::span<const Request> requests,
                                                    std::span<const std::size_t> stale,
                                                    std::optional<UnixTime> now,
                                                    Limiter::LaterMany&& later);

}  // namespace sluice

#endif  // SLUICE_SERVICE_PENDING_DECISION_H_
