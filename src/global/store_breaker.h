// The breaker around the calls of one kind to the store.
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

// What a call is for. A user may have the right to some of them alone.
enum class StoreUse { kPublish, kImport, kCleanup, kCount };

// A store that fails is left alone for a while: a tick that finds the breaker open fails at once.
// Publisher and importer have one each: a store that can be read but not written to is still read.
//
// Thread-safe.
class StoreBreaker {
  public:
    using Time = Breaker::Time;

    // Judges by the calls within `window`, of which there must be at least five.
    explicit StoreBreaker(std::chrono::milliseconds window);

    // May a call begin now? Where it may, its end is to be told.
    bool allow(Time now);
    // Neither a lock that others hold nor a row that does not fit is a fault of the store.
    void ended(StoreUse use, const Breaker::Call& call, const StoreFailure* failure);

    Breaker::State state(Time now) const;
    // Whether the last call of this use failed.
    bool is_failing(StoreUse use) const;
    // Whether the last call of some use failed, or none was allowed since, and why. A call that
    // succeeds shows that the store is there, but not that it would do anything else.
    std::optional<std::string> trouble() const;

  private:
    mutable Mutex mutex_;
    Breaker breaker_ SLUICE_GUARDED_BY(mutex_);
    // By use.
    std::array<std::optional<StoreFailure>, static_cast<std::size_t>(StoreUse::kCount)> troubles_
        SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_STORE_BREAKER_H_
