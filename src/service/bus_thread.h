// The thread that announces counts on the bus, and watches whether the bus works.
#ifndef SLUICE_SERVICE_BUS_THREAD_H_
#define SLUICE_SERVICE_BUS_THREAD_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/fork.h"
#include "base/turn_thread.h"
#include "global/announce_queue.h"
#include "global/bus.h"

namespace sluice {

// BusThread owns the bus and the queue in front of it. What is added to the queue is sent 20 ms
// after the first of it. Nothing waits for the bus: what it can't take is dropped and counted.
//
// Thread-safe.
class BusThread {
  public:
    // Joins the bus that the options name. A server that can't be reached is no error. `receivers`
    // are called on a thread of the bus until close() has returned.
    static Result<std::unique_ptr<BusThread>> start(const Options& options,
                                                    Bus::Receivers receivers);

    // For a bus that is open already.
    BusThread(std::unique_ptr<Bus> bus,
              std::function<void(const BusChange&)> on_change,
              OnThreadFailure on_failure = {});
    ~BusThread();
    BusThread(const BusThread&) = delete;
    BusThread& operator=(const BusThread&) = delete;

    // Takes components to announce, by stored names.
    AnnounceQueue& queue() { return queue_; }

    // Whether the bus does not work, so that the global store alone carries counts.
    bool is_unavailable() const { return is_unavailable_.load(std::memory_order_relaxed); }

    // Ends the thread and leaves the bus, without sending what is queued. To be called by one
    // thread. False if the thread is stuck in a callback at `last`: it then goes on to use this
    // object. Takes up to half a second longer where the bus is stuck.
    using Time = TurnThread::Time;
    [[nodiscard]] bool close(Time last);

    BusStats stats() const;

  private:
    Time turn();
    void note_status();

    const ForkMark made_;
    const std::function<void(const BusChange&)> on_change_;
    const std::unique_ptr<Bus> bus_;
    AnnounceQueue queue_;
    // Written by the thread, read by any. Relaxed: it stands for itself.
    std::atomic<bool> is_unavailable_{false};
    TurnThread thread_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_BUS_THREAD_H_
