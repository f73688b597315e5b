// The thread on which a node talks to its region's origin.
#ifndef SLUICE_SERVICE_REGION_THREAD_H_
#define SLUICE_SERVICE_REGION_THREAD_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/check.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "counter/table.h"
#include "regional/origin.h"
#include "regional/region.h"
#include "service/deadline_queue.h"
#include "service/origin_decider.h"
#include "service/pending_decision.h"

namespace sluice {

// Memory for one posted handler at a time. Asio allocates what it posts; a handler of which at most
// one is posted at a time can use this memory instead, so that posting it can't fail. Asio releases
// the memory before it calls the handler.
//
// Thread-compatible: callers post only while it is free.
class TurnMemory {
  public:
    template <class T>
    struct Allocator {
        using value_type = T;

        explicit Allocator(TurnMemory& owner) : memory(&owner) {}
        template <class U>
        Allocator(const Allocator<U>& other)  // NOLINT(google-explicit-constructor)
            : memory(other.memory) {}

        T* allocate(std::size_t count) {
            static_assert(alignof(T) <= alignof(std::max_align_t));
            SLUICE_CHECK(count * sizeof(T) <= sizeof memory->bytes_);
            return reinterpret_cast<T*>(memory->bytes_);
        }
        void deallocate(T*, std::size_t) {}

        friend bool operator==(const Allocator&, const Allocator&) = default;
        TurnMemory* memory;
    };

    Allocator<std::byte> allocator() { return Allocator<std::byte>(*this); }

  private:
    alignas(std::max_align_t) std::byte bytes_[256];
};

// A listing of origin cells that a caller waits for. Answered once, by the first thread that does.
// Thread-safe.
class PendingList {
  public:
    PendingList(std::vector<CellName> cells, Origin::Listed listed, DeadlineThread::Time deadline)
        : cells_(std::move(cells)),
          deadline_(deadline),
          nothing_(cells_.size()),
          listed_(std::move(listed)) {}

    const std::vector<CellName>& cells() const { return cells_; }
    DeadlineThread::Key key() const { return {deadline_, this}; }

    void answer(std::vector<std::optional<CellListing>> listings) {
        if (const Origin::Listed listed = take()) listed(std::move(listings));
    }
    void answer_nothing() {
        if (const Origin::Listed listed = take()) listed(std::move(nothing_));
    }

  private:
    Origin::Listed take() {
        const MutexLock lock(mutex_);
        return std::exchange(listed_, nullptr);
    }

    const std::vector<CellName> cells_;
    const DeadlineThread::Time deadline_;
    // Allocated in advance, so that this answer can't fail; used by the thread that takes listed_.
    std::vector<std::optional<CellListing>> nothing_;
    Mutex mutex_;
    Origin::Listed listed_ SLUICE_GUARDED_BY(mutex_);
};

// RegionThread owns the origin, the region and the thread that they live on. Thread-safe.
class RegionThread {
  public:
    // Waits up to a second for the first answer of the origin; an origin that can't be reached is
    // unavailable. `table` must outlive it. `counted` is called, on its thread, with each entry
    // whose regional count may have grown; it may be empty.
    static Result<std::unique_ptr<RegionThread>> start(Table& table,
                                                       const Options& options,
                                                       std::function<void(Entry&)> counted);

    ~RegionThread();
    RegionThread(const RegionThread&) = delete;
    RegionThread& operator=(const RegionThread&) = delete;

    // True while the origin is unavailable; decide from local counts.
    bool is_unavailable() const;
    // Whether the calling thread is one of its own, which can't wait for itself.
    bool is_own_thread() const;

    // Has the origin decide `pending` and finishes it, within Options::origin_timeout after
    // `since`. Where the region's thread is stuck, another thread decides from local counts, kGrace
    // later. False if it is finished already, by local counts: too many requests are pending, or
    // there is no memory. Throws nothing.
    using Time = PendingDecision::Time;
    bool defer(const std::shared_ptr<PendingDecision>& pending, Time since);
    // Decides from local counts if the region's thread has not decided, and finishes `pending`.
    void expire(PendingDecision& pending);

    // How long after its deadline another thread makes a decision.
    static constexpr std::chrono::milliseconds kGrace{50};
    // Above this many pending requests, further ones are decided from local counts.
    static constexpr std::size_t kMaxPending = 16'384;

    // Lists what the origin holds of some cells. None for each while it is unavailable.
    void list(std::vector<CellName> cells, Origin::Listed listed);
    // Leaves a note at the origin and reads all of them; none while it is unavailable, or if it
    // does not answer. `read` is not called once the thread is stopping.
    void leave_note(std::string note, Limiter::Notes read);
    // The owner that listings show for this node.
    const std::string& node() const { return node_; }

    // Writes unsynced counts to the origin, until `flushed_by`. Then the thread finishes all
    // pending decisions and ends; from then on the region is unavailable. To be called by one
    // thread, which is not its own, as the next.
    void stop(Time flushed_by);
    // Waits for the thread after stop(). False if it is stuck in a call at `last`: it then goes on
    // to use this object.
    [[nodiscard]] bool join(Time last);

    OriginStats stats() const;
    void count_fallback() { decider_->count_fallback(); }

  private:
    // The most listings that are pending at a time.
    static constexpr std::size_t kMaxLists = 64;

    enum class Stage { kRunning, kFlushing, kStopping };
    using Milliseconds = std::chrono::milliseconds;

    RegionThread(Table& table, const Options& options);
    std::optional<Error> run(const Options& options, std::function<void(Entry&)> counted);

    // Callbacks are not called any more: a thread that was stuck may go on after the limiter is
    // gone.
    bool is_stopping() const { return stage_.load(std::memory_order_relaxed) == Stage::kStopping; }
    bool enqueue(const std::shared_ptr<PendingDecision>& pending);
    bool enqueue(const std::shared_ptr<PendingList>& call);
    void forget(const PendingDecision& pending);
    void forget(PendingList& call);
    static DeadlineThread::Key key_of(const PendingDecision& pending) {
        return {pending.deadline() + kGrace, &pending};
    }

    void report_change(const OriginChange& change);
    void wake();
    void step();
    void begin_queued();
    void begin_list(const std::shared_ptr<PendingList>& call);
    void end();
    void end_failed();
    void set_alarm();

    const ForkMark made_;
    Table& table_;
    const Milliseconds timeout_;
    const std::function<void(const OriginChange&)> on_change_;
    const std::function<void(const std::string&)> on_key_error_;
    const std::function<void(Milliseconds)> on_clock_offset_;
    DeadlineThread deadline_thread_;
    TurnMemory turn_memory_;
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    boost::asio::steady_timer alarm_;
    std::optional<Time> alarm_set_;
    DeadlineQueue deadlines_;
    // The origin is destroyed first, without answering any call.
    std::optional<Region> region_;
    std::optional<OriginDecider> decider_;
    std::unique_ptr<Origin> origin_;
    std::string node_;
    std::promise<void> first_answer_;
    bool has_answered_ = false;
    std::promise<void> flushed_;    // all counts are written, after stop() asked for it
    bool has_begun_flush_ = false;  // stop() asked for it
    bool is_flushed_ = false;
    std::promise<void> ended_;  // set by the thread's last step
    std::future<void> end_;     // the closing thread's
    // Set by a thread that wants a turn, cleared when the turn begins: what was written before is
    // visible in it.
    std::atomic<bool> is_turn_posted_{false};
    // Written by stop(), read by any. Relaxed: the turn that stop() posts sees it; a caller that
    // misses it defers its decision, and gets it all the same.
    std::atomic<Stage> stage_{Stage::kRunning};
    // Another thread had to make a decision, and the region's thread has made no step since.
    // Relaxed: a hint not to wait for it.
    std::atomic<bool> is_stuck_{false};
    // Requests whose decisions are not finished; relaxed, as the next: statistics.
    std::atomic<std::size_t> pending_{0};
    std::atomic<std::uint64_t> overflows_{0};
    Mutex mutex_;
    std::vector<std::shared_ptr<PendingDecision>> queued_ SLUICE_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<PendingList>> lists_ SLUICE_GUARDED_BY(mutex_);
    bool has_ended_ SLUICE_GUARDED_BY(mutex_) = false;  // no thread reads the two any more
    std::thread thread_;
    std::thread::id thread_id_;  // constant after the start
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_REGION_THREAD_H_
