// The interface to persistent storage of overrides, and the implementation that stores nothing.
#ifndef SLUICE_OVERRIDES_STORE_H_
#define SLUICE_OVERRIDES_STORE_H_

#include <sluice/result.h>

#include <cstdint>
#include <vector>

#include "overrides/override.h"

namespace sluice::overrides {

// Every error of a store is kStoreFailed, or kStoreUnavailable where the same call may work later.
// The message names the store, what is wrong with it and what to do, and holds no secret.

// The version of a store counts the changes that any process made to it. A store of a single
// process may always return 0.
struct Contents {
    std::vector<Override> overrides;
    std::uint64_t version;  // the overrides are of this version or of a later one
};

struct Stored {
    Override entry;
    std::uint64_t version;  // after the change
};

struct Removed {
    bool found;
    std::uint64_t version;  // after the change; unspecified if nothing was found
};

// A store holds at most one override for each key.
//
// Thread-compatible, but for interrupt(): OverrideSet calls it from one thread at a time. A call
// may block on a disk or a network, for a bounded time. After an error the store holds what it held
// before the call; one that becomes unavailable while it commits may have committed.
class OverrideStore {
  public:
    virtual ~OverrideStore() = default;

    virtual Result<std::uint64_t> version() = 0;
    virtual Result<Contents> load_all() = 0;

    // Adds the override, or replaces the grant of the one with the same key. Returns the override
    // as it is stored, once it is safe from a crash: its id and order are those that it was first
    // stored with, and a shared store chooses the order itself.
    virtual Result<Stored> put(const Override& entry) = 0;

    // Removes the override if there is one.
    virtual Result<Removed> remove(const OverrideKey& key) = 0;

    // Ends the current call, and all later ones, soon. Any thread may call it.
    virtual void interrupt() {}
};

// Stores nothing: OverrideSet itself holds all overrides in memory.
class MemoryStore final : public OverrideStore {
  public:
    Result<std::uint64_t> version() override { return 0; }
    Result<Contents> load_all() override { return Contents{}; }
    Result<Stored> put(const Override& entry) override { return Stored{entry, 0}; }
    Result<Removed> remove(const OverrideKey&) override { return Removed{true, 0}; }
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_STORE_H_
