// The public interface of libsluice: sliding-window rate limits, decided from local memory.
#ifndef SLUICE_LIMITER_H_
#define SLUICE_LIMITER_H_

#include <sluice/export.h>
#include <sluice/result.h>
#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct Options {
    // The region that this process counts for. Required; any name of 1 to 48 bytes.
    std::string region;

    // How many keys are held at the same time, 1 to 1,000,000,000. A key is one (workspace,
    // namespace, identifier, duration) and costs up to 320 bytes beside its own. At the cap, a new
    // key displaces one that is idle or little used.
    std::size_t max_keys = 1'000'000;
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
    std::chrono::milliseconds duration{};  // 1 second to 30 days
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

// What the limiter holds and has done since it was created.
struct Stats {
    std::uint64_t keys_held;
    std::uint64_t keys_created;
    std::uint64_t keys_expired;  // removed after their counts had ceased to matter
    std::uint64_t keys_evicted;  // displaced at the cap, with counts that still mattered
    std::uint64_t cas_retries;   // decisions repeated because another thread was faster
};

// Limiter decides from local memory, without a lock, a system call or an allocation for a key it
// holds.
//
// Thread-safe and movable; a moved-from limiter can only be assigned to or destroyed. All calls
// must have returned before a limiter is moved or destroyed.
//
//     auto limiter = sluice::Limiter::create({.region = "eu-west"});
//     auto decision = limiter->limit({.name_space = "login", .identifier = "alice", .limit = 10,
//     .duration = 60s}); if (decision && decision->passed) ...
class SLUICE_EXPORT Limiter {
  public:
    // kRegionRequired: the region is empty. kInvalidOption, kOutOfMemory: as they say.
    static Result<Limiter> create(Options options);

    Limiter(Limiter&&) noexcept;
    Limiter& operator=(Limiter&&) noexcept;
    ~Limiter();

    // Decides one request. A denial spends nothing. kInvalidRequest: a field is out of range;
    // nothing changed. The first form takes the time from the system's clock, the second from the
    // caller.
    Result<Decision> limit(const Request& request);
    Result<Decision> limit(const Request& request, UnixTime now);

    // Decides 1 to 100 requests together: all of them are spent, or none. A request whose key
    // occurs earlier in the batch sees what the earlier one asks for.
    Result<BatchDecision> limit_many(std::span<const Request> requests);
    Result<BatchDecision> limit_many(std::span<const Request> requests, UnixTime now);

    Stats stats() const;

  private:
    class Core;
    explicit Limiter(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace sluice

#endif  // SLUICE_LIMITER_H_
