// A thread that calls a function repeatedly; each call returns the time of the next one.
#ifndef SLUICE_BASE_TURN_THREAD_H_
#define SLUICE_BASE_TURN_THREAD_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fork.h"
#include "base/thread.h"

namespace sluice {

// How long owners that are destroyed wait for a thread that may be stuck in a call.
inline constexpr std::chrono::milliseconds kLastTurn{500};

// Thread-safe, except start() and stop(), which only the owner may call.
class TurnThread {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Turn = std::function<Time()>;

    TurnThread() = default;
    ~TurnThread() { stop(); }
    TurnThread(const TurnThread&) = delete;
    TurnThread& operator=(const TurnThread&) = delete;

    // The first turn comes at once. After one that throws, the next comes 100 ms later, unless
    // the thread is to end. The thread destroys `turn` after the last one, before stop()
    // returns: what it owns is released there, however long that takes.
    void start(ThreadOptions options, Turn turn);
    // Starts the next turn at once, after the current one. Does nothing in a child process, which
    // has its parent's memory but not its thread.
    void wake();
    // Waits for the current turn, the last one. Does nothing if the thread never started, or in a
    // child process.
    void stop() { stop(Time::max()); }
    // The same until `deadline`. Returns false if the turn has not ended by then; the thread is
    // detached and ends after that turn. Another call returns whether it has.
    bool stop(Time deadline);

    bool is_this_thread() const { return std::this_thread::get_id() == id_; }

  private:
    struct State {
        void run(const ThreadOptions& options, Turn turn);

        std::mutex mutex;  // guards the next three
        bool is_awake = false;
        bool is_stopping = false;
        bool has_ended = false;
        std::condition_variable woken;
        std::condition_variable ended;
    };

    // Shared with the thread, which may outlive this.
    std::shared_ptr<State> state_ = std::make_shared<State>();
    ForkMark made_;  // where the thread is
    // Never destroyed, which costs nothing once the thread was joined or detached. In a child
    // process neither is possible: the system may have given the handle to another thread.
    union Handle {
        Handle() : thread() {}
        ~Handle() {}
        std::thread thread;
    } handle_;
    std::thread::id id_;  // constant after the start
};

}  // namespace sluice

#endif  // SLUICE_BASE_TURN_THREAD_H_
