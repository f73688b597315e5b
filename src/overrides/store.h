// The port to what remembers overrides over a restart.
#ifndef SLUICE_OVERRIDES_STORE_H_
#define SLUICE_OVERRIDES_STORE_H_

#include <sluice/result.h>

#include <optional>
#include <vector>

#include "overrides/override.h"

namespace sluice::overrides {

// Every error that a store reports is kStoreFailed. The message names the store, what is wrong with
// it and what to do.

// A store holds at most one override for each key.
//
// Thread-compatible: OverrideSet calls it from one thread at a time. A call may block on a disk.
// After an error the store holds what it held before the call.
class OverrideStore {
  public:
    virtual ~OverrideStore() = default;

    virtual Result<std::vector<Override>> load_all() = 0;

    // Adds the override, or replaces the grant of the one with the same key. None if it is safe
    // from a crash.
    [[nodiscard]] virtual std::optional<Error> put(const Override& entry) = 0;

    // Removes the override if there is one.
    [[nodiscard]] virtual std::optional<Error> remove(const OverrideKey& key) = 0;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_STORE_H_
