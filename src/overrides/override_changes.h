// The thread that waits for the store of overrides, so that no other has to.
#ifndef SLUICE_OVERRIDES_OVERRIDE_CHANGES_H_
#define SLUICE_OVERRIDES_OVERRIDE_CHANGES_H_

#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "overrides/override_set.h"

namespace sluice::overrides {

// OverrideChanges makes the changes that it is given, one after the other in the order in which
// they came, and between them has the set hear what others have changed.
//
// Thread-safe. What it calls, it calls on its own thread, which must not be kept waiting; close()
// makes the calls that are left on the thread of its caller.
class OverrideChanges {
  public:
    struct Options {
        // How often others are heard; zero: never, the set is this node's own.
        std::chrono::milliseconds interval{0};
        std::size_t most_waiting = 1'000;
        // Told why the store fails when it begins to or fails differently, and nothing when it
        // works again.
        std::function<void(const std::optional<Error>& trouble)> on_trouble =
            [](const std::optional<Error>&) {};
    };
    // Hears others once before it returns, if it is to. `set` must outlive this.
    OverrideChanges(OverrideSet& set, Options options);
    ~OverrideChanges() { close(); }
    OverrideChanges(const OverrideChanges&) = delete;
    OverrideChanges& operator=(const OverrideChanges&) = delete;

    // Has OverrideSet::set() called, and `done` with its answer. False: too many wait, and nothing
    // will be done.
    [[nodiscard]] bool set(const OverrideKey& key,
                           const Grant& grant,
                           std::function<void(Result<std::string>)> done);
    // The same for OverrideSet::remove().
    [[nodiscard]] bool remove(const OverrideKey& key, std::function<void(Result<bool>)> done);

    // Whether the store failed when it was last asked: what others change is not heard then.
    bool is_failing() const { return is_failing_.load(std::memory_order_relaxed); }

    // Ends the thread. A call to the store that is underway ends soon; changes that still wait are
    // not made, and told so.
    void close();

  private:
    enum class Act { kChange, kGiveUp };
    using Change = std::function<void(Act)>;

    bool enqueue(Change change);
    void run();
    // The next one to make; none if it is time to hear others, or to end.
    std::optional<Change> take(std::chrono::steady_clock::time_point until);
    void hear_others();
    void note(const std::optional<Error>& outcome);
    std::chrono::milliseconds next_interval() const;
    bool is_closed();

    OverrideSet& set_;
    const Options options_;

    Mutex mutex_;
    std::condition_variable_any has_news_;
    std::deque<Change> waiting_ SLUICE_GUARDED_BY(mutex_);
    bool is_closed_ SLUICE_GUARDED_BY(mutex_) = false;

    std::string trouble_;  // of the thread alone; empty: none
    // Written by the thread, read by anyone. Relaxed: it publishes nothing.
    std::atomic<bool> is_failing_{false};
    std::thread thread_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_OVERRIDE_CHANGES_H_
