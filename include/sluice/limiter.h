// The public interface of libsluice: sliding-window rate limits, decided from local memory.
#ifndef SLUICE_LIMITER_H_
#define SLUICE_LIMITER_H_

#include <sluice/export.h>
#include <sluice/result.h>
#include <sluice/time.h>
#include <sluice/types.h>
#include <sluice/unique_function.h>

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

// The argument of on_origin_change.
struct OriginChange {
    bool unavailable;  // until the origin is back, decisions are made from local counts
    std::string why;   // for people; empty when it is back. Holds no secret
};

// The argument of on_global_change.
struct GlobalChange {
    bool unavailable;  // until the store is back, regions don't see each other's new counts
    std::string why;   // for people; empty when it is back. Holds no secret
};

// The argument of on_global_refusal.
struct GlobalRefusal {
    std::string name_space;  // of the row that was refused last; long texts are cut
    std::string identifier;
    std::string why;     // for people; holds no secret
    std::uint64_t rows;  // refused since the last call
};

// The argument of on_bus_change.
struct BusChange {
    bool unavailable;  // until the bus is back, the global store alone carries counts
    std::string why;   // for people; empty when it is back. Holds no secret
};

// TLS settings of the origin. Each is the path of a PEM file, or empty.
struct OriginTls {
    std::string ca = {};    // trusted authorities; empty: those of the system
    std::string cert = {};  // this process's certificate, where the server requires one
    std::string key = {};   // its private key
};

// TLS settings of the bus. Each is the path of a PEM file, or empty.
struct BusTls {
    std::string ca = {};    // trusted authorities; empty: those of the system
    std::string cert = {};  // this process's certificate, where the server requires one
    std::string key = {};   // its private key
};

struct Options {
    // The region that this process counts for, a name of 1 to 48 bytes. Required with a global
    // store; without one, empty means "local".
    std::string region = {};

    // The most keys held at the same time, 1 to 1,000,000,000. A key is one (workspace, namespace,
    // identifier, duration) and takes up to 320 bytes beside its texts. At the cap, a new key
    // displaces one that is idle or little used. Above 16,384, the limiter has a thread that
    // prepares memory for more keys, on any core that the creating thread may use.
    std::size_t max_keys = 1'000'000;

    // The store in which the nodes of the region share their counts; empty: no other node.
    //
    //     memory:NAME                            limiters of this process with the same name
    //     sqlite:PATH                            a file, for one process that keeps its counts
    //     redis://[user:password@]host:port/db   Redis, Valkey, Redis Cluster; rediss:// with TLS
    //     redis+sentinel://host,host/NAME/db     the master that Sentinels know by that name
    //     redis+socket://PATH                    Redis on a Unix socket
    //
    // An origin that can't be reached is no error: decisions are made from local counts, which are
    // written to the origin as soon as it is back.
    std::string origin = {};
    OriginTls origin_tls = {};

    // How long a decision waits for the origin, 10 ms to 10 s.
    std::chrono::milliseconds origin_timeout{300};

    // All callbacks run on threads of the limiter, and must neither block nor throw.
    std::function<void(const OriginChange&)> on_origin_change = {};
    // Called when the origin can't serve a key, because something else is stored under its name.
    // The key is decided from local counts and retried; other keys are not affected. `why` has a
    // digest of the name, and no secret.
    std::function<void(const std::string& why)> on_origin_key_error = {};
    // Called when the origin's clock comes to differ from this node's by more than a second:
    // windows then begin at different times on different nodes.
    std::function<void(std::chrono::milliseconds offset)> on_origin_clock_offset = {};

    // The store in which the regions share their counts; empty: each region has its limits to
    // itself.
    //
    //     mysql://user:password@host:port/database   MySQL or MariaDB, with the schema that
    //                                                `sluice migrate` creates
    //     sqlite:PATH                                a file, for processes of one machine
    //     memory:NAME                                limiters of this process with the same name
    //
    // No decision ever waits for it. A store that can't be reached is no error: each region uses
    // the counts it has imported, and publishes its own as soon as the store is back. Requests must
    // come with about the wall clock's time.
    std::string global = {};
    // A replica of it, which imports read instead. Empty: the store itself.
    std::string global_replica = {};
    // Whether this process deletes expired rows. Several may do so at the same time.
    bool global_cleanup = false;
    // The most cells of which this process keeps the components of other regions, about 100 bytes
    // each. At least 64.
    std::size_t global_max_cells = 500'000;
    // The least number of regions that share the limits. The store counts those that are alive; too
    // high a number costs only rows. 1 to 1,024.
    std::size_t global_min_regions = 2;

    std::function<void(const GlobalChange&)> on_global_change = {};

    // Called when the store has refused rows for good, at most once a minute.
    std::function<void(const GlobalRefusal&)> on_global_refusal = {};

    // The bus on which regions announce their counts to each other, faster than through the global
    // store, which it needs beside it; empty: none.
    //
    //     nats://[user:password@]host:port,host:port   NATS; tls:// with TLS
    //     nats://token@host:port
    //     memory:NAME                                  limiters of this process with the same name
    //
    // No decision ever waits for it. A server that can't be reached is no error: announcements are
    // dropped until it is back, and the global store carries the counts. The client library of NATS
    // ignores SIGPIPE for the whole process.
    std::string bus = {};
    // The path of a NATS credentials file, with a JWT and its key; empty: none.
    std::string bus_credentials = {};
    BusTls bus_tls = {};  // for tls://
    // The workspaces whose announcements are received, along with others of the same 256 shards;
    // empty: all.
    std::vector<std::string> bus_workspaces = {};

    std::function<void(const BusChange&)> on_bus_change = {};

    // Called when a thread of the limiter has caught an exception, on that thread. What it throws
    // itself is ignored.
    std::function<void(const ThreadFailure&)> on_thread_failure = {};
};

struct TestOptions;  // internal

// Limiter decides requests from local memory, without a lock, a system call or an allocation for a
// key that it holds. With an origin, some requests wait for that: those for a key that is new,
// whose counts are too old for what is left of its limit, or that was denied within its last
// duration.
//
//     auto limiter = sluice::Limiter::create({});
//     const sluice::Rule logins{.name_space = "login", .limit = 10, .duration = 60s};
//     auto decision = limiter->limit(logins, "alice");
//     if (decision && decision->passed) serve();
//
// Threads: all methods may be called from any thread at the same time, except for close(), move and
// destruction: all other calls must have returned before a limiter is moved or destroyed. A
// moved-from limiter can only be assigned to or destroyed. A limiter without origin and global
// store has at most one thread, which prepares memory; an origin adds two (an SQLite origin three),
// a global store two or three, a bus two beside those of its client library.
//
// fork(): a child process may go on using a limiter that was created before the fork. It has the
// counts as of the fork, and none of the threads: it decides from local counts alone, and reads and
// writes neither the origin, the global store nor the bus (`unavailable` of OriginStats,
// GlobalStats and BusStats is true). No call hangs there; close() and the destructor return at
// once, and leave connections to the parent. Costs that another thread was spending at the moment
// of the fork may count in the child. A child that has to share its counts creates a limiter of its
// own. The parent is not affected.
class SLUICE_EXPORT Limiter {
  public:
    // Waits up to a second for the first answer of the origin. On an error, nothing that was
    // started is left running: kRegionRequired, kInvalidOption, kOutOfMemory, kOutOfThreads, or
    // kStoreFailed if the system refused what a connection needs, such as a descriptor.
    static Result<Limiter> create(Options options);

    Limiter(Limiter&&) noexcept;
    Limiter& operator=(Limiter&&) noexcept;
    // Closes it, waiting up to one second; so does an assignment to it. Memory that a stuck thread
    // may still use is left to that thread.
    ~Limiter();

    // Decides one request. A denial spends nothing. kInvalidRequest: a field is out of range;
    // kOutOfMemory: there is no memory for a new key. Nothing was spent then. Without `now`, the
    // system's clock is read.
    //
    // A request that the origin has to decide waits for it up to Options::origin_timeout, or 50 ms
    // longer where the thread that talks to it is stuck. While 16,384 requests wait, further ones
    // are decided from local counts at once.
    Result<Decision> limit(const Request& request);
    Result<Decision> limit(const Request& request, RequestTime now);
    Result<Decision> limit(const Rule& rule, std::string_view identifier, std::int64_t cost = 1) {
        return limit(rule.request(identifier, cost));
    }

    // Spends the cost of a request whatever its limit, and reports by `passed` whether it fits. For
    // costs that are known only afterwards: check with a cost of 0, then debit what was used. The
    // count saturates at 2^53 - 1. If it did not fit, Decision::retry_at is when the same request
    // would pass after this one. Never waits: with an origin, the cost is entered here and written
    // there next, and `passed` is by local counts. Errors as above.
    Result<Decision> debit(const Request& request);
    Result<Decision> debit(const Request& request, RequestTime now);
    Result<Decision> debit(const Rule& rule, std::string_view identifier, std::int64_t cost) {
        return debit(rule.request(identifier, cost));
    }

    // Decides 1 to 100 requests together: all of them are spent, or none. A request whose key
    // occurs earlier in the batch is decided as if the earlier one had been spent.
    Result<BatchDecision> limit_many(std::span<const Request> requests);
    Result<BatchDecision> limit_many(std::span<const Request> requests, RequestTime now);

    // The same for event loops; these never wait. `later` is called once with the decision, within
    // the time above: before the call returns, on a thread of the limiter, or in close(). It must
    // not be empty, block or throw. Texts of requests are copied where they are needed longer.
    using Later = UniqueFunction<void(Result<Decision>)>;
    using LaterMany = UniqueFunction<void(Result<BatchDecision>)>;
    void limit_async(const Request& request, Later later);
    void limit_async(const Request& request, RequestTime now, Later later);
    void limit_many_async(std::span<const Request> requests, LaterMany later);
    void limit_many_async(std::span<const Request> requests, RequestTime now, LaterMany later);

    // Decide only if that needs no origin. None, and nothing was spent, otherwise.
    std::optional<Result<Decision>> try_limit(const Request& request);
    std::optional<Result<Decision>> try_limit(const Request& request, RequestTime now);
    std::optional<Result<BatchDecision>> try_limit_many(std::span<const Request> requests);
    std::optional<Result<BatchDecision>> try_limit_many(std::span<const Request> requests,
                                                        RequestTime now);

    // Reports everything known about the key of `request`; its limit and cost don't matter.
    // `inspected` is called once, before the call returns or on a thread of the limiter.
    // kInvalidRequest as above.
    using Inspected = UniqueFunction<void(Result<Inspection>)>;
    void inspect(const Request& request, Inspected inspected);
    void inspect(const Request& request, RequestTime now, Inspected inspected);

    // The owner of this node's components at the origin; empty without an origin.
    std::string node() const;

    // The regions of which this node has counts, this one first. Empty without a global store.
    std::vector<KnownRegion> regions() const;

    // Leaves a note of up to 1 MiB at the origin in place of this node's last one, and reads those
    // of all nodes of the region; without `notes` none are read, which is cheaper. The origin drops
    // a note after five seconds: leave one every second or two, and read once a minute at least,
    // which removes the notes of nodes that are gone. `notes` gets none if there is no origin or it
    // doesn't answer in time, and is called once, before the call returns or on a thread of the
    // limiter; not at all once the limiter is closed. It must neither block nor throw.
    using Notes = UniqueFunction<void(std::optional<std::vector<NodeNote>>)>;
    void leave_note(std::string note, Notes notes);

    // Writes pending counts to the origin, then to the global store, for up to `timeout`, and
    // disconnects from both. Takes up to a second longer where threads are stuck in calls. An
    // origin that refuses writes is not waited for.
    // Later requests are decided from local counts; those that are decided while it runs, or later,
    // may not be written to the origin any more. Not for two threads at a time, nor from within a
    // callback.
    void close(std::chrono::milliseconds timeout);

    Stats stats() const;

  private:
    friend Result<Limiter> create_limiter(Options options, const TestOptions& test);

    class Core;
    explicit Limiter(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace sluice

#endif  // SLUICE_LIMITER_H_
