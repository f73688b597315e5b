// The port to what remembers overrides: over a restart, and for other nodes where it is shared.
#ifndef SLUICE_OVERRIDES_STORE_H_
#define SLUICE_OVERRIDES_STORE_H_

#include <sluice/result.h>

#include <cstdint>
#include <vector>

#include "overrides/override.h"

namespace sluice::overrides {

// Every error that a store reports is kStoreFailed, or kStoreUnavailable where the same call may
// work later. The message names the store, what is wrong with it and what to do, and holds no
// secret.

// A store counts the changes that were made to it, by whomever: its version. One that belongs to a
// single process need not, and answers 0.
struct Contents {
    std::vector<Override> overrides;
    std::uint64_t version;  // they are of this one or of a later one
};

struct Stored {
    Override entry;
    std::uint64_t version;  // that storing it made
};

struct Removed {
    bool found;
    std::uint64_t version;  // that removing it made; any other if there was none
};

// A store holds at most one override for each key.
//
// Thread-compatible, but for interrupt(): OverrideSet calls it from one thread at a time. A call
// may block on a disk or a network, for a bounded time. After an error the store holds what it held
// before the call; one that becomes unavailable while it commits may have done it all the same.
class OverrideStore {
  public:
    virtual ~OverrideStore() = default;

    virtual Result<std::uint64_t> version() = 0;
    virtual Result<Contents> load_all() = 0;

    // Adds the override, or replaces the grant of the one with the same key. Answers what is held
    // then, when it is safe from a crash: the id and the order of an override are those that it was
    // first stored with, and a store that is shared chooses the order itself.
    virtual Result<Stored> put(const Override& entry) = 0;

    // Removes the override if there is one.
    virtual Result<Removed> remove(const OverrideKey& key) = 0;

    // Has the call underway, and all later ones, end soon. Any thread may call it.
    virtual void interrupt() {}
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_STORE_H_
