// The circuit breaker around the calls to the global store.
#ifndef SLUICE_GLOBAL_STORE_BREAKER_H_
#define SLUICE_GLOBAL_STORE_BREAKER_H_

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "breaker/breaker.h"
#include "global/store.h"

namespace sluice {

// The purpose of a call. A database user may have the rights for only some of them.
enum class StoreUse { kPublish, kImport, kCleanup, kCount };

// While the breaker is open, a tick fails at once. Publisher and importer have one each: a store
// that can be read but not written is still read.
//
// Thread-safe.
class StoreBreaker {
  public:
    using Time = Breaker::Time;

    // Judges by the calls within `window`, of which there must be at least five.
    explicit StoreBreaker(std::chrono::milliseconds window);

    // Whether a call may begin now. If so, report its outcome by ended().
    bool allow(Time now);
    // A lock held by another client, or a row that does not fit, is not a fault of the store.
    void ended(StoreUse use, const Breaker::Call& call, const StoreFailure* failure);

    Breaker::State state(Time now) const;
    // Whether the last call of this use failed.
    bool is_failing(StoreUse use) const;
    // Why the last call of some use failed; none if none did. A success of one use clears lost
    // connections of all uses, but not refusals of another use.
    std::optional<std::string> last_failure() const;

  private:
    mutable Mutex mutex_;
    Breaker breaker_ SLUICE_GUARDED_BY(mutex_);
    // By use.
    std::array<std::optional<StoreFailure>, static_cast<std::size_t>(StoreUse::kCount)> failures_
        SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_STORE_BREAKER_H_
