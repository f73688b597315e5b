// A decision that waits for fresher counts.
#ifndef SLUICE_SERVICE_QUESTION_H_
#define SLUICE_SERVICE_QUESTION_H_

#include <sluice/limiter.h>

#include <cstddef>
#include <span>
#include <vector>

namespace sluice {

// Decides one or more requests in two steps. Thread-compatible: see PendingQuestion.
class Question {
  public:
    virtual ~Question() = default;

    // The requests whose keys have to be read, and the time at which.
    virtual std::span<const Request> stale() const = 0;
    virtual UnixTime now() const = 0;
    // How many requests it is about. Constant.
    virtual std::size_t size() const = 0;

    // Decides if the counts at hand have become good enough since it was asked; false, and nothing
    // changed, if not. Others may have had the same key read meanwhile.
    virtual bool decide_as_held() = 0;
    // Decides by the counts at hand. Returns the requests that passed where the next request
    // elsewhere might not: the origin is told of them before their caller is.
    virtual std::vector<Request> decide() = 0;
    // Hands the decision over. Once, after it was made.
    virtual void finish() = 0;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_QUESTION_H_
