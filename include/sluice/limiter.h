// The public interface of libsluice: sliding-window rate limits, decided from local memory.
#ifndef SLUICE_LIMITER_H_
#define SLUICE_LIMITER_H_

#include <sluice/export.h>
#include <sluice/result.h>
#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// What on_origin_change is told.
struct OriginChange {
    bool unavailable;  // decisions are made by what this process holds, until the origin is back
    std::string why;   // for people; empty when it is back. Holds no secret
};

// What on_global_change is told.
struct GlobalChange {
    bool unavailable;  // regions don't hear of each other's counts, until the store is back
    std::string why;   // for people; empty when it is back. Holds no secret
};

// What on_global_refusal is called with.
struct GlobalRefusal {
    std::string name_space;  // of the row that was refused last; long texts are cut
    std::string identifier;
    std::string why;     // for people; holds no secret
    std::uint64_t rows;  // refused since the last call
};

// For an origin that is reached by TLS. Each is the path of a PEM file, or empty.
struct OriginTls {
    std::string ca = {};    // whom to trust; empty: whom the system trusts
    std::string cert = {};  // this process's certificate, where the server wants one
    std::string key = {};   // its private key
};

struct Options {
    // The region that this process counts for. Required; any name of 1 to 48 bytes.
    std::string region;

    // How many keys are held at the same time, 1 to 1,000,000,000. A key is one (workspace,
    // namespace, identifier, duration) and costs up to 320 bytes beside its own. At the cap, a new
    // key displaces one that is idle or little used. Above 16,384, a thread of the limiter's own
    // has the system make memory ready for more keys, on any core that the thread which makes the
    // limiter may use.
    std::size_t max_keys = 1'000'000;

    // Where the nodes of the region share their counts; empty: this process is alone.
    //
    //     memory:NAME                            the limiters of this process that give that name
    //     sqlite:PATH                            a file, for one process that keeps its counts
    //     redis://[user:password@]host:port/db   Redis, Valkey, Redis Cluster; rediss:// with TLS
    //     redis+sentinel://host,host/NAME/db     the master that Sentinels know by that name
    //     redis+socket://PATH                    the same by a socket of this machine
    //
    // An origin that can't be reached is no error: decisions are made by what this process holds,
    // and all that was missed is told as soon as it is back.
    std::string origin = {};
    OriginTls origin_tls = {};

    // How long a decision waits for the origin, 10 ms to 10 s.
    std::chrono::milliseconds origin_timeout{300};

    // Called on a thread of the limiter's own, which must not be kept waiting.
    std::function<void(const OriginChange&)> on_origin_change = {};
    // Called in the same way when the origin's clock comes to differ from this node's by more than
    // a second: windows then begin at different times on different nodes.
    std::function<void(std::chrono::milliseconds offset)> on_origin_clock_offset = {};

    // Where the regions share their counts; empty: each region has its limits to itself.
    //
    //     mysql://user:password@host:port/database   MySQL or MariaDB, with the schema that
    //                                                `sluice migrate` makes
    //     sqlite:PATH                                a file, for processes of one machine
    //     memory:NAME                                the limiters of this process that give that
    //     name
    //
    // No decision ever waits for it. A store that can't be reached is no error: each region goes by
    // what it has heard, and publishes the rest as soon as the store is back. Requests must come
    // with about the wall clock's time.
    std::string global = {};
    // What imports read instead: a replica of it. Empty: the store itself.
    std::string global_replica = {};
    // Whether this process deletes rows that can't matter any more, if no other one does.
    bool global_cleanup = false;

    // Called on a thread of the limiter's own, which must not be kept waiting.
    std::function<void(const GlobalChange&)> on_global_change = {};

    // Called when the store has refused rows that no retry would help, at most once a minute, on a
    // thread of the limiter's own, which must not be kept waiting.
    std::function<void(const GlobalRefusal&)> on_global_refusal = {};

    // For tests only, 0 or 10 ms to 1 hour: publishes and imports so often instead of every 10
    // seconds, and takes the time from requests alone, whatever it is.
    std::chrono::milliseconds test_global_interval{0};
};

// One question: may `identifier` spend `cost` of the `limit` that it has per `duration`?
//
// The first four parts below make the key. The limit is not part of it: the same counts serve every
// limit.
struct Request {
    std::string_view workspace =
        "default";  // this and the next two: 1 to 512 characters of any text
    std::string_view name_space;
    std::string_view identifier;
    std::int64_t limit = 0;                // 0 to 2^53 - 1; 0 always denies
    std::chrono::milliseconds duration{};  // 1 second to 366 days
    std::int64_t cost = 1;                 // 0 to 2^53 - 1; 0 asks without spending
};

struct Decision {
    bool passed;
    std::int64_t limit;      // as requested
    std::int64_t remaining;  // the largest cost that would pass right now; 0 on a denial
    UnixTime reset_at;       // the end of the current fixed window

    // On a denial: the first millisecond at which this same request would pass if nobody else came.
    // None on a pass, and where the request can never pass because its cost exceeds the limit.
    std::optional<UnixTime> retry_at;
};

// The answer to a batch. `passed` is true if every request passed; only then was anything spent.
// Each decision tells how its own request fared, in the order of the requests.
struct BatchDecision {
    bool passed;
    std::vector<Decision> decisions;
};

// What the limiter and its origin have had to do with each other since it was created.
struct OriginStats {
    bool attached;                  // there is one
    bool unavailable;               // it does not answer, or fails too often
    std::uint32_t nodes;            // that share the limits; 0 while that is not known
    std::uint64_t spends;           // requests that the origin decided
    std::uint64_t spend_calls;      // calls for them; one call decides all that wait for a key
    std::uint64_t flushed;          // keys whose counts the origin has acknowledged, each time
    std::uint64_t unanswered;       // keys for which a call was not answered
    std::uint64_t fallbacks;        // decisions that were the origin's, and were made without it
    std::uint64_t queue_overflows;  // of these, because too many waited for the origin already
    std::uint64_t outages;          // how often it became unavailable
    std::uint64_t resubmissions;    // how often all counts were written again
    // How long the oldest pass has waited to be written to the origin.
    std::chrono::milliseconds oldest_unsynced;
    std::chrono::milliseconds clock_offset;  // of the origin's clock against this node's
};

// What the limiter and the global store have had to do with each other since it was created.
struct GlobalStats {
    bool attached;                   // there is one
    bool unavailable;                // the last call failed
    bool publish_unavailable;        // the last call to publish failed
    bool import_unavailable;         // the last import failed
    bool breaker_open;               // one of the next two
    bool publish_breaker_open;       // it failed too often, and is left alone for a while
    bool import_breaker_open;        // the same of imports
    std::uint64_t rows_published;    // components, however often
    std::uint64_t publishes;         // calls that carried these
    std::uint64_t publish_failures;  // calls that failed
    std::uint64_t rows_given_up;     // that ceased to matter unpublished, or were too many
    std::uint64_t rows_refused;      // by the store, and given up
    std::uint64_t republishes;       // how often all rows were published again, after a reconnect
    std::uint64_t rows_forgotten;    // published, and too many to be published again
    std::uint64_t cells_imported;    // merged, however often
    std::uint64_t cells_last_import;
    std::uint64_t import_failures;
    std::uint64_t cells_dropped;  // imported cells of over-long names: too many waited for keys
    std::uint64_t rows_cleaned;
    std::uint64_t keys_created;  // for what other regions have spent; not among Stats::keys_created
    // Not created at max_keys, where every key is one that requests use here.
    std::uint64_t keys_skipped;
    std::chrono::milliseconds publish_lag;  // since when something has waited that should be known
    // Since all was published that had to be, and since an import succeeded; none if neither has.
    std::optional<std::chrono::milliseconds> since_publish;
    std::optional<std::chrono::milliseconds> since_import;
};

// What the limiter holds and has done since it was created.
struct Stats {
    std::uint64_t keys_held;
    std::uint64_t keys_created;
    std::uint64_t keys_expired;  // removed after their counts had ceased to matter
    std::uint64_t keys_evicted;  // displaced at the cap, with counts that still mattered
    // Of these, displaced at twice the cap, while an origin was unavailable, before it was told of
    // them; or displaced while a request spent of them, with no memory to hold them again.
    std::uint64_t keys_evicted_unsynced;
    std::uint64_t cas_retries;         // decisions repeated because another thread was faster
    std::uint64_t strict_activations;  // keys that a denial made ask before they pass
    OriginStats origin;
    GlobalStats global;
};

// All that is known of one window of a key.
struct CellInspection {
    UnixTime begins;
    std::int64_t admitted;  // by this node
    std::int64_t settled;   // of that, what others may be told
    std::int64_t peers;     // by the other nodes of the region, as last heard
    std::int64_t global;    // by other regions, as last heard

    struct Component {
        std::string owner;
        std::int64_t count;
    };
    // What the origin holds.
    struct AtOrigin {
        std::int64_t total;
        std::vector<Component> components;
        std::chrono::milliseconds lifetime;  // when it forgets the cell, from now on; 0: not held
    };
    std::optional<AtOrigin> origin;  // none if there is no origin, or it did not answer

    // What the global store holds of a region.
    struct RegionComponent {
        std::string region;
        std::int64_t count;
        std::chrono::milliseconds age;  // since it changed
    };
    // None if there is no global store, or it did not answer.
    std::optional<std::vector<RegionComponent>> regions;
};

// Why a request passed or was denied. Times are by the clock of the requests.
struct Inspection {
    bool held;         // by this node
    std::string node;  // how the origin's components name it; it is followed by a dot and a number
                       // where a key was displaced and came back
    std::optional<UnixTime> refreshed_at;  // when the others' counts were last heard of
    std::optional<UnixTime> strict_until;  // after a denial: until then each pass asks first
    std::optional<UnixTime> last_used;
    std::int64_t last_limit;  // that a request named
    bool unsynced;            // the origin has not heard of all that was spent
    CellInspection current;
    CellInspection previous;
    OriginStats origin;
    GlobalStats global;
};

// Limiter decides from local memory, without a lock, a system call or an allocation for a key it
// holds. With an origin, it first asks that where it knows too little: for a key that is new, or
// whose counts are too old for what is left of its limit, or that was denied lately.
//
// Thread-safe and movable; a moved-from limiter can only be assigned to or destroyed. All calls
// must have returned before a limiter is moved or destroyed.
//
// fork(): a child process may go on using a limiter that was created before the fork. It has the
// counts as of the fork and decides from them alone: it has no thread, so it neither asks nor tells
// the origin or the global store (OriginStats::away and GlobalStats::away are true). No call hangs
// there; close() and the destructor return at once, and leave connections to the parent. Costs that
// another thread was spending at the moment of the fork may count in the child. A child that has to
// share its counts creates a limiter of its own. The parent is not affected.
//
//     auto limiter = sluice::Limiter::create({.region = "eu-west"});
//     auto decision = limiter->limit({.name_space = "login", .identifier = "alice", .limit = 10,
//     .duration = 60s}); if (decision && decision->passed) ...
class SLUICE_EXPORT Limiter {
  public:
    // kRegionRequired: the region is empty. kInvalidOption, kOutOfMemory, kOutOfThreads: as they
    // say. kStoreFailed: the system refused what a connection needs, such as a descriptor. Nothing
    // that was started is left running.
    // With an origin, waits up to a second to hear whether it is there.
    static Result<Limiter> create(Options options);

    Limiter(Limiter&&) noexcept;
    Limiter& operator=(Limiter&&) noexcept;
    // Closes it, with a patience of one second; so does an assignment to it. Memory that a stuck
    // thread may still use is left to that thread.
    ~Limiter();

    // Decides one request. A denial spends nothing. kInvalidRequest: a field is out of range;
    // kOutOfMemory: there is no memory for a new key. Nothing changed then. The first form takes
    // the time from the system's clock, the second from the caller.
    // Waits for the origin where it has to, up to Options::origin_timeout after the call,
    // or 50 ms more where the thread that talks to it is stuck. While 16,384 requests wait, others
    // are decided by what this process holds, at once.
    Result<Decision> limit(const Request& request);
    Result<Decision> limit(const Request& request, UnixTime now);

    // Decides 1 to 100 requests together: all of them are spent, or none. A request whose key
    // occurs earlier in the batch sees what the earlier one asks for.
    Result<BatchDecision> limit_many(std::span<const Request> requests);
    Result<BatchDecision> limit_many(std::span<const Request> requests, UnixTime now);

    // The same for event loops: neither ever waits. Calls `later` once with the decision, within
    // the same time: before it returns where that is at hand, else on a thread of the limiter's
    // own, which must not be kept waiting nor thrown at. The request's texts are copied where they
    // are needed longer.
    using Later = std::function<void(Result<Decision>)>;
    using LaterMany = std::function<void(Result<BatchDecision>)>;
    void limit_async(const Request& request, UnixTime now, Later later);
    void limit_many_async(std::span<const Request> requests, UnixTime now, LaterMany later);

    // What of it is at hand. None, and nothing was spent, where the origin has to be asked first.
    std::optional<Result<Decision>> try_limit(const Request& request, UnixTime now);
    std::optional<Result<BatchDecision>> try_limit_many(std::span<const Request> requests,
                                                        UnixTime now);

    // What is known of the key of `request` at `now`; its limit and cost don't matter. Calls
    // `inspected` once, before it returns or on a thread of the limiter's own. kInvalidRequest as
    // above.
    void inspect(const Request& request,
                 UnixTime now,
                 std::function<void(Result<Inspection>)> inspected);

    // Tells the origin what it has not heard yet, then the other regions, for up to `patience`, and
    // lets go of both. Takes up to four seconds longer where a thread is stuck in a call to one of
    // them. What is decided afterwards is decided by what this process holds. Not for
    // two threads at a time, nor from within a callback.
    void close(std::chrono::milliseconds patience);

    Stats stats() const;

  private:
    class Core;
    explicit Limiter(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace sluice

#endif  // SLUICE_LIMITER_H_
