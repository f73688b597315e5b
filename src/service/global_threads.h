// The threads on which a node talks to the store that the regions share.
#ifndef SLUICE_SERVICE_GLOBAL_THREADS_H_
#define SLUICE_SERVICE_GLOBAL_THREADS_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "base/turn_thread.h"
#include "counter/table.h"
#include "global/global_sync.h"
#include "global/store.h"
#include "service/bus_thread.h"

namespace sluice {

// GlobalThreads owns the GlobalSync, two connections to the store, and a thread for each: one
// publishes and deletes expired rows, one imports. Calls to the store block only these threads: no
// request ever waits for this layer. The only node of a region has a third thread, which queues
// changed entries for publishing. With a bus, it owns that as well.
//
// Thread-safe.
class GlobalThreads {
  public:
    // A store that can't be reached is no error. `table` must outlive it. For tests,
    // `test_interval` (unless 0) replaces the interval of publishes and imports; the time then
    // comes from requests alone.
    static Result<std::unique_ptr<GlobalThreads>> start(Table& table,
                                                        const Options& options,
                                                        std::chrono::milliseconds test_interval);

    ~GlobalThreads();
    GlobalThreads(const GlobalThreads&) = delete;
    GlobalThreads& operator=(const GlobalThreads&) = delete;

    // The regional count of `entry` may have grown. The caller holds it, or an EpochPin.
    void offer(Entry& entry) { global_sync_.offer(entry); }

    // Lists what the store holds of some cells; none if it did not answer. `listed` is called on a
    // thread of its own, or before the call returns.
    using Listed = std::function<void(std::optional<std::vector<GlobalListing>>)>;
    void list(std::vector<CellName> cells, Listed listed);

    // The components of a cell that this node knows. The name is a stored one.
    std::vector<ComponentTable::Shown> known(const CellName& stored) const;

    // Publishes pending rows, until `published_by`, and ends the threads. To be called by one
    // thread. False if one is stuck in a call at `last`: it then goes on to use this object.
    using Time = TurnThread::Time;
    [[nodiscard]] bool close(Time published_by, Time last);

    GlobalStats stats() const;
    // See Limiter::regions().
    std::vector<KnownRegion> regions() const;
    BusStats bus_stats() const;

  private:
    struct Listing {
        std::vector<CellName> cells;
        Listed listed;
    };

    GlobalThreads(Table& table, const Options& options, std::chrono::milliseconds test_interval);
    std::optional<Error> run(const Options& options);
    std::function<void(const CellName&, Count)> announcer(const Options& options);
    std::optional<Error> start_bus(const Options& options);
    void start_thread(TurnThread& thread, ThreadOptions options, Time (GlobalThreads::*turn)());

    // Turns of the threads; each returns the time of the next one.
    Time poll_changes();
    Time write();
    Time read();

    // The writer's.
    std::shared_ptr<std::promise<void>> begin_last_tick();
    void end_published();
    Time clean_up();
    void note_refusal();

    // The reader's.
    void probe();
    void list_all();

    bool is_over() const { return has_ended_.load(std::memory_order_relaxed); }
    std::optional<UnixTime> wall() const;
    void report_health();
    void report_health(const std::optional<std::string>& failure);

    const ForkMark made_;
    Table& table_;
    const bool is_test_;
    const bool cleans_up_;
    const std::chrono::milliseconds poll_interval_;
    const std::function<void(const GlobalChange&)> on_change_;
    const std::function<void(const GlobalRefusal&)> on_refusal_;
    const ThreadOptions writing_thread_;  // also of the poller, with another name
    const ThreadOptions reading_thread_;
    GlobalSync global_sync_;
    std::unique_ptr<GlobalStore> writing_;
    std::unique_ptr<GlobalStore> reading_;
    std::atomic<bool> may_begin_{false};  // set once, when all threads are there
    std::atomic<bool> has_ended_{false};  // set once, by close(); relaxed: a hint
    bool have_threads_ended_ = true;      // the closing thread's
    bool has_probed_ = false;             // the reader's
    Time clean_at_ = Time::min();         // the writer's, as the next two
    Time report_at_ = Time::min();
    std::uint64_t rows_reported_ = 0;

    Mutex mutex_;
    std::vector<Listing> listings_ SLUICE_GUARDED_BY(mutex_);
    // While close() waits for the last tick.
    std::shared_ptr<std::promise<void>> published_ SLUICE_GUARDED_BY(mutex_);
    bool has_begun_last_tick_ SLUICE_GUARDED_BY(mutex_) = false;
    bool is_closed_ SLUICE_GUARDED_BY(mutex_) = false;

    Mutex noting_;  // held while a change is reported, so that reports keep their order
    std::optional<std::string> failure_ SLUICE_GUARDED_BY(noting_);
    // Set by close(), before it interrupts the stores (release), without the lock, which a user's
    // callback may hold for long. Read before callbacks are called (acquire).
    std::atomic<bool> is_interrupted_{false};

    // Relaxed: statistics.
    std::atomic<bool> is_unavailable_{false};
    std::atomic<std::uint64_t> rows_cleaned_{0};

    std::unique_ptr<BusThread> bus_;                       // null: no bus
    std::atomic<AnnounceQueue*> announce_queue_{nullptr};  // that of bus_, once it is there

    TurnThread poller_;  // of the only node of a region
    TurnThread writer_;
    TurnThread reader_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_GLOBAL_THREADS_H_
