// The interface to the message bus over which regions announce their counts to each other.
#ifndef SLUICE_GLOBAL_BUS_H_
#define SLUICE_GLOBAL_BUS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "global/store.h"

namespace sluice {

// Components that one region announces. Absolute and grow-only: a message may be lost, repeated,
// delayed or reordered, and a receiver merges by max.
struct BusMessage {
    std::string region;
    std::vector<RegionCount> counts;
};

struct BusStatus {
    bool is_connected;
    // The last error in the library's own words, with the server; empty while connected, and before
    // the first attempt has ended. Holds no secret.
    std::string problem;
};

// The traffic of one member since it joined.
struct BusCounts {
    std::uint64_t messages_sent;
    std::uint64_t announcements_sent;  // counts in these
    std::uint64_t messages_received;   // that were passed on, or held no counts
    std::uint64_t announcements_received;
    std::uint64_t malformed;                 // messages dropped because they were invalid
    std::uint64_t foreign_version;           // messages dropped because of their version
    std::uint64_t own_region;                // messages of the own region, not passed to Receive
    std::uint64_t announcements_unsent;      // dropped while there was no connection
    std::uint64_t announcements_overflowed;  // dropped, the oldest first, because too many waited
    std::uint64_t receive_overflowed;        // messages dropped because receiving was too slow
    std::uint64_t reconnects;
};

// One member's connection to the bus. Fire and forget: nothing is acknowledged or repeated.
//
// Thread-safe.
class Bus {
  public:
    // Called on the bus's own thread, one call at a time. Must neither block nor call the bus, and
    // must be valid until close() has returned.
    using Receive = std::function<void(const BusMessage&)>;

    // What to do with received messages.
    struct Receivers {
        Receive other_region;
        // For messages of peers, the nodes of the same region. They must never enter the global
        // count. Empty: such messages are dropped.
        Receive own_region = {};
    };

    virtual ~Bus() = default;

    // Announces components of the member's own region. Never blocks. False: there is no connection,
    // and they were dropped and counted.
    virtual bool send(std::span<const RegionCount> counts) = 0;

    virtual BusStatus status() const = 0;
    virtual BusCounts counts() const = 0;

    // Disconnects. No receiver is called after it has returned. To be called by one thread, and not
    // by a receiver.
    virtual void close() = 0;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_BUS_H_
