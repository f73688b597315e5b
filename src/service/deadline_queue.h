// Pending operations with deadlines: a stepped queue, and a thread that runs expired callbacks.
#ifndef SLUICE_SERVICE_DEADLINE_QUEUE_H_
#define SLUICE_SERVICE_DEADLINE_QUEUE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/turn_thread.h"

namespace sluice {

// A queue of pending operations, ordered by deadline. Each ends once: by end(), by its deadline, or
// by end_all().
//
// A stepped object: it has no thread and no clock. Thread-compatible.
class DeadlineQueue {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // Identifies an operation for the lifetime of the queue.
    using Name = std::pair<Time, std::uint64_t>;

    // Adds an operation; `finish` is called when it ends.
    Name add(Time deadline, std::function<void()> finish);

    // Does nothing if the operation has ended.
    void end(const Name& name);
    void end_due(Time now);
    void end_all();

    // The next deadline; none if the queue is empty.
    std::optional<Time> wake_at() const;

  private:
    std::map<Name, std::function<void()>> pending_;
    std::uint64_t last_ = 0;
};

// A thread that runs callbacks whose deadlines have passed: a fallback for operations that another
// thread should have finished by then. It sleeps while there are none, and otherwise wakes up once
// per `shortest`, not once per addition.
//
// Thread-safe, except for start() and stop(), which are for its owner.
class DeadlineThread {
  public:
    using Time = TurnThread::Time;
    // The deadline, and an address that distinguishes entries with the same deadline.
    using Key = std::pair<Time, const void*>;

    // Requires every deadline to be at least `shortest` away when it is added.
    explicit DeadlineThread(Time::duration shortest) : shortest_(shortest) {}

    void start(OnThreadFailure on_failure);
    // Ends the thread; false if it is stuck in a callback at `deadline`. It then goes on to use
    // this object.
    bool stop(Time deadline) { return thread_.stop(deadline); }
    bool is_this_thread() const { return thread_.is_this_thread(); }

    // `expire` runs on the thread when the deadline has passed, unless the key is removed before.
    // Changes nothing if it throws.
    void add(Key key, std::function<void()> expire);
    // Does nothing if the key is not there. The callback may be running.
    void remove(Key key);

    // Runs all callbacks on the calling thread.
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

#endif  // SLUICE_SERVICE_DEADLINE_QUEUE_H_
