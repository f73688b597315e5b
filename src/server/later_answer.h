// An answer of a rate limiter that is handed over between threads.
#ifndef SLUICE_SERVER_LATER_ANSWER_H_
#define SLUICE_SERVER_LATER_ANSWER_H_

#include <sluice/unique_function.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "rls/rate_limiter.h"

namespace sluice::server {

// An answer for which the origin may have to be asked. Whether it has to be is known only after the
// rate limiter was given a function to call later, which may have been called by then: both sides
// meet here, in any order.
//
// Thread-safe. Either side is called once.
class LaterAnswer {
  public:
    using Send = UniqueFunction<void(rls::Answer)>;

    // A function for the rate limiter. It keeps `answer` alive.
    static rls::RateLimiter::Later receiver(const std::shared_ptr<LaterAnswer>& answer) {
        return [answer](rls::Answer decided) { answer->receive(std::move(decided)); };
    }

    // Passes the answer to `send`, at once if it is there.
    void send_by(Send send) {
        std::optional<rls::Answer> answer;
        {
            const MutexLock lock(mutex_);
            answer = std::move(answer_);
            if (!answer) send_ = std::move(send);
        }
        if (answer) send(*std::move(answer));
    }

  private:
    void receive(rls::Answer answer) {
        Send send;
        {
            const MutexLock lock(mutex_);
            send = std::move(send_);
            if (!send) answer_ = std::move(answer);
        }
        if (send) send(std::move(answer));
    }

    Mutex mutex_;
    Send send_ SLUICE_GUARDED_BY(mutex_);
    std::optional<rls::Answer> answer_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_LATER_ANSWER_H_
