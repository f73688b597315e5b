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

bool may_turn(const Decision& decision, UnixTime now) {
    return decision.retry_at && *decision.retry_at <= now + kCoarseClockLag;
}

Error out_of_memory() {
    return {kOutOfMemory, "no memory for a new key"};
}

}  // namespace

// Alone, no decision ever needs a refresh: the counts held are all there are.
class Limiter::Core {
  public:
    Core(Options options, std::unique_ptr<Table> table)
        : options_(std::move(options)), table_(std::move(table)) {}

    void decide_at(const Request& request, UnixTime now, Decision& decision) {
        decide(*table_, request, now, Freshness::kJustRefreshed, decision);
    }
    BatchDecision decide_at(std::span<const Request> requests, UnixTime now) {
        return *decide_batch(*table_, requests, now, Freshness::kJustRefreshed);
    }
    const Tally& tally() const { return table_->tally(); }

  private:
    const Options options_;
    const std::unique_ptr<Table> table_;
};

Result<Limiter> Limiter::create(Options options) {
    if (auto error = invalid_option(options)) return *std::move(error);
    auto table = Table::create({.max_keys = options.max_keys,
                                .sharing = Sharing::kAlone,
                                .seed = system_random()});
    if (!table) return std::move(table).error();
    return Limiter(std::make_unique<Core>(std::move(options), *std::move(table)));
}

Limiter::Limiter(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

Result<Decision> Limiter::limit(const Request& request, UnixTime now) try {
    if (!is_valid(request)) [[unlikely]] return invalid_request(request);
    if (!is_valid_time(now)) [[unlikely]] return invalid_time(now);
    Result<Decision> decision = Decision{};
    core_->decide_at(request, now, *decision);
    return decision;
} catch (const std::bad_alloc&) {
    return out_of_memory();
}

Result<BatchDecision> Limiter::limit_many(std::span<const Request> requests, UnixTime now) try {
    const bool right_size = !requests.empty() && requests.size() <= kMaxBatch;
    if (!right_size || !std::ranges::all_of(requests, is_valid)) return invalid_batch(requests);
    if (!is_valid_time(now)) return invalid_time(now);
    return core_->decide_at(requests, now);
} catch (const std::bad_alloc&) {
    return out_of_memory();
}

// The coarse clock costs a quarter of the exact one, and may lag by a tick. That never matters to a pass: the weight
// of the past moves by a tick, too. It would matter to a caller that slept until `retry_at` and came back on time; so
// a denial that a tick could turn is made on the exact clock.
Result<Decision> Limiter::limit(const Request& request) {
    const UnixTime now = coarse_wall_time();
    auto decision = limit(request, now);
    if (decision && may_turn(*decision, now)) [[unlikely]] return limit(request, exact_wall_time());
    return decision;
}

Result<BatchDecision> Limiter::limit_many(std::span<const Request> requests) {
    const UnixTime now = coarse_wall_time();
    auto decision = limit_many(requests, now);
    if (decision && std::ranges::any_of(decision->decisions,
                                        [now](const Decision& own) { return may_turn(own, now); })) {
        return limit_many(requests, exact_wall_time());
    }
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
