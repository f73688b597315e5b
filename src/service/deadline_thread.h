// A thread that runs callbacks whose deadlines have passed.
#ifndef SLUICE_SERVICE_DEADLINE_THREAD_H_
#define SLUICE_SERVICE_DEADLINE_THREAD_H_

#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "base/turn_thread.h"

namespace sluice {

// Watches what another thread should have finished by a deadline. It sleeps while there is nothing
// to watch, and wakes up once per `shortest` otherwise, not once per addition.
//
// Thread-safe, but for start() and stop(), which are for its owner.
class DeadlineThread {
  public:
    using Time = TurnThread::Time;
    // The deadline, and an address that tells entries of the same deadline apart.
    using Key = std::pair<Time, const void*>;

    // No deadline is nearer than `shortest` when it is added.
    explicit DeadlineThread(Time::duration shortest) : shortest_(shortest) {}

    void start();
    // Ends the thread; false if it is stuck in a callback at `deadline`. It then goes on to use
    // this object.
    bool stop(Time deadline) { return thread_.stop(deadline); }
    bool is_this_thread() const { return thread_.is_this_thread(); }

    // `expire` runs on the thread when the deadline has passed, unless the key is removed before.
    // Changes nothing if it throws.
    void add(Key key, std::function<void()> expire);
    // Harmless if the key is not there. The callback may be running.
    void remove(Key key);

    // Runs all callbacks that are there, now and on this thread.
    void expire_all();

  private:
    Time turn();
    std::function<void()> take_due(Time now);

    const Time::duration shortest_;
    Mutex mutex_;
    std::map<Key, std::function<void()>> calls_ SLUICE_GUARDED_BY(mutex_);
    // Whether the thread has another turn within `shortest_`, so that an addition need not wake it.
    bool is_watching_ SLUICE_GUARDED_BY(mutex_) = false;
    bool was_used_ SLUICE_GUARDED_BY(mutex_) = false;  // since the last turn
    TurnThread thread_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_DEADLINE_THREAD_H_
