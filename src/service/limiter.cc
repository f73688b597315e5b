#include <sluice/limiter.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "counter/table.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "decide/valid.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxRegionBytes = 48;
constexpr std::size_t kMaxMaxKeys = 1'000'000'000;

std::optional<Error> invalid_option(const Options& options) {
    if (options.region.empty()) {
        return Error{kRegionRequired, "region is empty; allowed: a name of 1 to 48 bytes"};
    }
    if (options.region.size() > kMaxRegionBytes) {
        return Error{kInvalidOption,
                     "region is " + std::to_string(options.region.size()) +
                         " bytes long; allowed: 1 to " + std::to_string(kMaxRegionBytes)};
    }
    if (options.max_keys == 0 || options.max_keys > kMaxMaxKeys) {
        return Error{kInvalidOption,
                     "max_keys is " + std::to_string(options.max_keys) + "; allowed: 1 to " +
                         std::to_string(kMaxMaxKeys)};
    }
    return std::nullopt;
}

Error out_of_memory() {
    return {kOutOfMemory, "out of memory"};  // short enough not to allocate
}

}  // namespace

// Decides into a result that the caller has made: one that passes through three returns would be
// copied at each, which costs as much as a lookup.
//
// Alone, no decision ever needs a refresh: the counts held are all there are.
class Limiter::Core {
  public:
    Core(Options options, std::unique_ptr<Table> table)
        : options_(std::move(options)), table_(std::move(table)) {}

    // Requests with short texts have code of their own, in which nothing else is on the way.
    template <class Time>
    [[gnu::always_inline]] void decide_at(Time time,
                                          const Request& request,
                                          Result<Decision>& result) try {
        if (KeyShape::is_short(request) && has_valid_numbers(request)) [[likely]] {
            decide(*table_, request, time, Freshness::kJustRefreshed, *result);
        } else {
            decide_any_at(time, request, result);
        }
    } catch (const std::bad_alloc&) {
        result = out_of_memory();
    }

    void decide_at(std::optional<UnixTime> callers_time,
                   std::span<const Request> requests,
                   Result<BatchDecision>& result) try {
        if (!is_valid_batch(requests)) {
            result = invalid_batch(requests);
        } else if (callers_time && !is_valid_time(*callers_time)) {
            result = invalid_time(*callers_time);
        } else {
            result = *decide_batch(*table_, requests, callers_time, Freshness::kJustRefreshed);
        }
    } catch (const std::bad_alloc&) {
        result = out_of_memory();
    }

    const Tally& tally() const { return table_->tally(); }

  private:
    template <class Time>
    [[gnu::noinline]] void decide_any_at(Time time,
                                         const Request& request,
                                         Result<Decision>& result) {
        if (is_valid(request)) {
            decide(*table_, request, time, Freshness::kJustRefreshed, *result);
        } else {
            result = invalid_request(request);
        }
    }

    const Options options_;
    const std::unique_ptr<Table> table_;
};

Result<Limiter> Limiter::create(Options options) {
    if (auto error = invalid_option(options)) return *std::move(error);
    auto table = Table::create(
        {.max_keys = options.max_keys, .sharing = Sharing::kAlone, .seed = system_random()});
    if (!table) return std::move(table).error();
    return Limiter(std::make_unique<Core>(std::move(options), *std::move(table)));
}

Limiter::Limiter(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

Result<Decision> Limiter::limit(const Request& request, UnixTime now) {
    Result<Decision> decision = Decision{};
    if (is_valid_time(now)) [[likely]] {
        core_->decide_at(CallersTime{now}, request, decision);
    } else {
        decision = invalid_time(now);
    }
    return decision;
}

Result<BatchDecision> Limiter::limit_many(std::span<const Request> requests, UnixTime now) {
    Result<BatchDecision> decision = BatchDecision{};
    core_->decide_at(now, requests, decision);
    return decision;
}

Result<Decision> Limiter::limit(const Request& request) {
    Result<Decision> decision = Decision{};
    core_->decide_at(SystemTime{}, request, decision);
    return decision;
}

Result<BatchDecision> Limiter::limit_many(std::span<const Request> requests) {
    Result<BatchDecision> decision = BatchDecision{};
    core_->decide_at(std::nullopt, requests, decision);
    return decision;
}

Stats Limiter::stats() const {
    const Tally& tally = core_->tally();
    const auto read = [](const Tally::Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {.keys_held = tally.held(),
            .keys_created = read(tally.created),
            .keys_expired = read(tally.expired),
            .keys_evicted = read(tally.evicted),
            .cas_retries = read(tally.cas_retries)};
}

}  // namespace sluice
