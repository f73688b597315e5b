// A decision that waits for the origin.
#ifndef SLUICE_SERVICE_QUESTION_H_
#define SLUICE_SERVICE_QUESTION_H_

#include <sluice/limiter.h>

#include <cstddef>
#include <span>

#include "window/sharing.h"

namespace sluice {

// Decides one or more requests in two steps. Thread-compatible: see PendingQuestion.
class Question {
  public:
    virtual ~Question() = default;

    // A single request is decided by the origin. A batch, which has several, is decided here after
    // their keys were read.
    enum class Kind { kSingle, kBatch };
    virtual Kind kind() const = 0;

    // The requests that the sharing rule leaves to the origin, and the time at which they are
    // decided.
    virtual std::span<const Request> stale() const = 0;
    virtual UnixTime now() const = 0;
    // How many requests it is about. Constant.
    virtual std::size_t size() const = 0;

    // Decides if the sharing rule allows it by now; false, and nothing changed, if not.
    virtual bool decide_as_held() = 0;
    // Decides by the counts held. True if something was spent that the origin has to know before
    // the caller gets the decision.
    virtual bool decide() = 0;
    // The origin has granted the single request.
    virtual void accept_grant(const Grant& grant) = 0;
    // Hands the decision over. Once, after it was made.
    virtual void finish() = 0;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_QUESTION_H_
