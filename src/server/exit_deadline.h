// Ends a process that does not end in time.
#ifndef SLUICE_SERVER_EXIT_DEADLINE_H_
#define SLUICE_SERVER_EXIT_DEADLINE_H_

#include <chrono>

#include "base/mutex.h"
#include "base/turn_thread.h"
#include "log/log.h"

namespace sluice::server {

// A thread that ends the process at a deadline: whatever hangs in a call by then, a resolver or a
// disk, can be left behind, since counts are not written any more. It logs `exit_overdue`; the exit
// status is 0, as after a shutdown in time.
//
// Owned by one thread.
class ExitDeadline {
  public:
    using Time = TurnThread::Time;

    // How long after the time for draining the process may run, beside 600 ms for its last log
    // lines if they are not taken.
    static constexpr std::chrono::milliseconds kGrace{350};

    // Starts the thread, so that a system that refuses one later can't prevent the end. `log` must
    // outlive it.
    explicit ExitDeadline(Log& log);

    // Sets the deadline. The earliest one counts.
    void set(Time deadline);

  private:
    Time turn();

    Log& log_;
    Mutex mutex_;
    Time deadline_ SLUICE_GUARDED_BY(mutex_) = Time::max();
    TurnThread thread_;
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_EXIT_DEADLINE_H_
