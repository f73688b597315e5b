// The thread that changes and reloads overrides, so that no other thread waits for the store.
#ifndef SLUICE_OVERRIDES_OVERRIDE_CHANGES_H_
#define SLUICE_OVERRIDES_OVERRIDE_CHANGES_H_

#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/turn_thread.h"
#include "overrides/override_set.h"

namespace sluice::overrides {

// OverrideChanges makes the queued changes one after the other, in the order of the calls, and
// reloads the set at intervals.
//
// Thread-safe. Callbacks run on its own thread and must not block; close() runs the remaining ones
// on the caller's thread.
class OverrideChanges {
  public:
    struct Options {
        // How often the set is reloaded; zero: never, no other node changes the store.
        std::chrono::milliseconds interval{0};
        std::size_t most_waiting = 1'000;
        // Called with the error when the store begins to fail or fails differently, and with
        // nothing when it works again.
        std::function<void(const std::optional<Error>& failure)> on_health_change =
            [](const std::optional<Error>&) {};
        OnThreadFailure on_thread_failure = {};
    };
    // Reloads once before it returns, if there is an interval. `set` must outlive this.
    OverrideChanges(OverrideSet& set, Options options);
    ~OverrideChanges() { close(); }
    OverrideChanges(const OverrideChanges&) = delete;
    OverrideChanges& operator=(const OverrideChanges&) = delete;

    // Queues a call of OverrideSet::set(); `done` gets its result. False: the queue is full or
    // closed, and nothing will be done.
    [[nodiscard]] bool set(const OverrideKey& key,
                           const LimitAndDuration& value,
                           const std::optional<Author>& author,
                           std::function<void(Result<std::string>)> done);
    // The same for OverrideSet::remove().
    [[nodiscard]] bool remove(const OverrideKey& key,
                              const std::optional<Author>& author,
                              std::function<void(Result<bool>)> done);
    // The same for OverrideSet::changes().
    [[nodiscard]] bool read_changes(const ChangeQuery& query,
                                    std::function<void(Result<std::vector<Change>>)> done);

    // Whether the last call to the store failed: changes of other nodes are not seen then.
    bool is_failing() const { return is_failing_.load(std::memory_order_relaxed); }

    // Ends the thread. The current call to the store ends soon; queued changes fail.
    void close();

  private:
    enum class Act { kChange, kGiveUp };
    using Task = std::function<void(Act)>;

    // Queues change(key), whose result `done` gets.
    template <class T, class MakeChange>
    bool enqueue(const OverrideKey& key, MakeChange change, std::function<void(Result<T>)> done);
    bool enqueue(Task task);
    TurnThread::Time turn();
    Task take();  // the next of the queue; empty if there is none
    template <class T, class Call>
    Result<T> call_store(Call call);
    void reload();
    void note(const std::optional<Error>& outcome);
    bool is_closed();

    OverrideSet& set_;
    const Options options_;

    Mutex mutex_;
    std::deque<Task> queue_ SLUICE_GUARDED_BY(mutex_);
    bool is_closed_ SLUICE_GUARDED_BY(mutex_) = false;

    // Owned by the thread once it has started.
    std::string failure_;  // last error reported; empty: none
    TurnThread::Time next_reload_ = TurnThread::Time::max();
    // Written by the thread, read by anyone. Relaxed: it publishes nothing.
    std::atomic<bool> is_failing_{false};
    TurnThread thread_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_OVERRIDE_CHANGES_H_
