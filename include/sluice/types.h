// The values that a Limiter takes and returns: requests, decisions, statistics, inspections.
#ifndef SLUICE_TYPES_H_
#define SLUICE_TYPES_H_

#include <sluice/time.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Asks whether `identifier` may spend `cost` of the `limit` that it has per `duration`.
//
// Workspace, namespace, identifier and duration make the key. The limit is not part of it: the same
// counts serve every limit. The three texts have 1 to 512 characters each, and must stay valid
// during the call.
struct Request {
    std::string_view workspace = "default";
    std::string_view name_space;
    std::string_view identifier;
    std::int64_t limit = 0;                // 0 to 2^53 - 1; 0 always denies
    std::chrono::milliseconds duration{};  // 1 second to 366 days
    std::int64_t cost = 1;                 // 0 to 2^53 - 1; 0 checks without spending
};

// A limit that is applied to many identifiers:
//
//     const sluice::Rule logins{.name_space = "login", .limit = 10, .duration = 60s};
//     limiter.limit(logins, "alice");
//     limiter.try_limit(logins.request("alice", 2));
struct Rule {
    std::string name_space;
    std::int64_t limit = 0;
    std::chrono::milliseconds duration{};
    std::string workspace = "default";

    // The request refers to the texts of the rule and to `identifier`.
    Request request(std::string_view identifier, std::int64_t cost = 1) const& {
        return {.workspace = workspace,
                .name_space = name_space,
                .identifier = identifier,
                .limit = limit,
                .duration = duration,
                .cost = cost};
    }
    Request request(std::string_view identifier, std::int64_t cost = 1) const&& = delete;
};

struct Decision {
    bool passed;
    std::int64_t limit;      // as requested
    std::int64_t remaining;  // the largest cost that would pass right now; 0 on a denial
    UnixTime reset_at;       // the end of the current fixed window

    // On a denial: the first millisecond at which the same request would pass if nothing else were
    // spent. None on a pass, and where the cost exceeds the limit, so that it never passes.
    std::optional<UnixTime> retry_at;
};

// The result of a batch. `passed` is true if every request passed; only then was anything spent.
// `decisions` has the result of each request, in the order of the requests.
struct BatchDecision {
    bool passed;
    std::vector<Decision> decisions;
};

// The traffic between a limiter and its origin since the limiter was created.
struct OriginStats {
    bool attached;                  // an origin is configured
    bool unavailable;               // it does not answer, or fails too often
    std::uint32_t nodes;            // that share the limits; 0 while unknown
    std::uint64_t spends;           // requests that the origin decided
    std::uint64_t spend_calls;      // calls for these; one decides all pending requests of a key
    std::uint64_t flushed;          // keys whose counts the origin acknowledged, each time
    std::uint64_t unanswered;       // keys for which a call was not answered
    std::uint64_t fallbacks;        // decisions left to the origin, but made from local counts
    std::uint64_t queue_overflows;  // of these, because too many requests were pending
    std::uint64_t outages;          // how often it became unavailable
    std::uint64_t resubmissions;    // how often all counts were written again
    std::uint64_t key_errors;       // calls that it could not serve because of their key alone
    // The age of the oldest pass that is not written to the origin yet.
    std::chrono::milliseconds oldest_unsynced;
    std::chrono::milliseconds clock_offset;  // of the origin's clock against this node's
};

// The traffic between a limiter and the global store since the limiter was created.
struct GlobalStats {
    bool attached;                   // a global store is configured
    bool unavailable;                // the last call failed
    bool publish_unavailable;        // the last call to publish failed
    bool import_unavailable;         // the last import failed
    bool breaker_open;               // one of the next two
    bool publish_breaker_open;       // publishing failed too often, and pauses
    bool import_breaker_open;        // imports failed too often, and pause
    std::uint64_t rows_published;    // components, each time
    std::uint64_t publishes;         // calls that wrote these
    std::uint64_t publish_failures;  // calls that failed
    std::uint64_t rows_given_up;     // that expired unpublished, or were too many
    std::uint64_t rows_refused;      // by the store, and given up
    std::uint64_t republishes;       // how often all rows were published again, after a reconnect
    std::uint64_t rows_forgotten;    // published, and too many to be published again
    std::uint64_t rows_imported;     // components, each time
    std::uint64_t rows_last_import;
    std::uint64_t import_failures;
    std::uint64_t cells_held;  // of which components are kept, whether their keys are held or not
    std::uint64_t cells_dropped;  // of these, above global_max_cells
    std::uint64_t regions;        // that share the limits
    std::uint64_t rows_cleaned;
    std::chrono::milliseconds publish_lag;  // the age of the oldest unpublished change
    // Since everything due was published, and since an import succeeded; none if neither has.
    std::optional<std::chrono::milliseconds> since_publish;
    std::optional<std::chrono::milliseconds> since_import;
};

// The traffic between a limiter and the bus since the limiter was created. An announcement is the
// count of this region in one window of a key; a message carries up to 512 of them.
struct BusStats {
    bool attached;     // a bus is configured
    bool unavailable;  // there is no connection, or it works in one direction only
    std::uint64_t messages_sent;
    std::uint64_t announcements_sent;
    std::uint64_t announcements_unsent;      // dropped while there was no connection
    std::uint64_t announcements_overflowed;  // dropped, the oldest first: too many waited
    std::uint64_t messages_received;         // from other regions
    std::uint64_t announcements_received;
    std::uint64_t own_region_messages;  // from nodes of this region; they don't count as global
    std::uint64_t malformed_messages;   // dropped: invalid
    std::uint64_t foreign_messages;     // dropped: of another version
    std::uint64_t receive_overflowed;   // messages dropped because they came too fast
    std::uint64_t reconnects;
};

// The state of a limiter, and its work since it was created.
struct Stats {
    std::uint64_t keys_held;
    std::uint64_t keys_created;
    std::uint64_t keys_expired;  // removed after their counts had expired
    // Removed and begun again because the clock had stepped back by more than two windows.
    std::uint64_t keys_started_over;
    std::uint64_t keys_evicted;  // displaced at max_keys, with counts that were still in use
    // Of these, displaced before their counts were written: at twice max_keys, while the origin was
    // unavailable, or during a request, without memory to hold the key again.
    std::uint64_t keys_evicted_unsynced;
    std::uint64_t cas_retries;         // decisions repeated because another thread was faster
    std::uint64_t strict_activations;  // keys that a denial put into strict mode
    OriginStats origin;
    GlobalStats global;
    BusStats bus;
};

// The counts of one window of a key.
struct CellInspection {
    UnixTime begins;
    std::int64_t admitted;  // by this node
    std::int64_t settled;   // of that, without unfinished batches
    std::int64_t peers;     // by the other nodes of the region, as last read
    std::int64_t global;    // by other regions, as last imported

    struct Component {
        std::string owner;
        std::int64_t count;
    };
    struct AtOrigin {
        std::int64_t total;
        std::vector<Component> components;
        std::chrono::milliseconds lifetime;  // until the origin deletes the cell; 0: not held
    };
    std::optional<AtOrigin> origin;  // none without an origin, or if it did not answer

    struct RegionComponent {
        std::string region;
        std::int64_t count;
        std::chrono::milliseconds age;  // since it changed there
        // As this node knows it, since when, and by which way it came.
        std::int64_t known = 0;
        std::chrono::milliseconds known_age{0};
        enum class Source { kNone, kStore, kBus } source = Source::kNone;
    };
    // `count` and `age` are those of the global store. None without a store, or if it did not
    // answer.
    std::optional<std::vector<RegionComponent>> regions;
};

// Explains why requests of a key pass or are denied. Times are by the clock of the requests.
struct Inspection {
    bool held;         // by this node
    std::string node;  // the owner of this node's components at the origin; a dot and a number
                       // follow where a key was displaced and came back
    std::optional<UnixTime> refreshed_at;  // when the peers' counts were last read
    std::optional<UnixTime> strict_until;  // in strict mode: the origin decides each pass
    std::optional<UnixTime> last_used;
    std::int64_t last_limit;  // of the last request
    bool unsynced;            // the origin has not acknowledged all that was spent
    CellInspection current;
    CellInspection previous;
    OriginStats origin;
    GlobalStats global;
};

// A note that a node of the region has left at the origin, and how old it is.
struct NodeNote {
    std::string node;  // its owner name at the origin
    std::chrono::milliseconds age;
    std::string text;
};

// An exception that a thread of the limiter has caught, most likely std::bad_alloc.
struct ThreadFailure {
    std::string_view thread;  // its name, as debuggers show it; valid during the call, like `why`
    std::string_view why;
    // False: the thread goes on, and what it was doing is made up for. True: it can't, since what
    // it shares with other threads may be inconsistent. Without the thread of the origin, decisions
    // are made from local counts; without that of the global store, nothing is published any more.
    bool has_ended;
};

// A region, and the time since this node learnt of a new count of it; of this region, since it
// published.
struct KnownRegion {
    std::string region;
    std::chrono::milliseconds age;
};

}  // namespace sluice

#endif  // SLUICE_TYPES_H_
