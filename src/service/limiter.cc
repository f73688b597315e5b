#include <sluice/limiter.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/system/system_error.hpp>

#include "base/clock.h"
#include "base/fork.h"
#include "base/random.h"
#include "counter/table.h"
#include "decide/debit.h"
#include "decide/valid.h"
#include "global/stored_name.h"
#include "service/failure_gate.h"
#include "service/global_threads.h"
#include "service/inspect.h"
#include "service/local_decider.h"
#include "service/pending_decision.h"
#include "service/region_thread.h"
#include "service/test_options.h"
#include "service/valid_options.h"

namespace sluice {
namespace {

// Never throws.
[[gnu::noinline]] Error refused_time(UnixTime now) try {
    return invalid_time(now);
} catch (const std::bad_alloc&) {
    return out_of_memory();
}

constexpr std::chrono::milliseconds kCloseTimeout{1'000};  // of the destructor

}  // namespace

class Limiter::Core {
  public:
    Core(Options options, std::unique_ptr<Table> table)
        : options_(std::move(options)), table_(std::move(table)), decider_(*table_) {}

    std::optional<Error> start_global(std::chrono::milliseconds test_interval) {
        auto global = GlobalThreads::start(*table_, options_, test_interval);
        if (!global) return std::move(global).error();
        global_ = *std::move(global);
        return std::nullopt;
    }

    std::optional<Error> start_region() {
        std::function<void(Entry&)> counted;
        if (global_ != nullptr) counted = [this](Entry& entry) { global_->offer(entry); };
        auto region = RegionThread::start(*table_, options_, std::move(counted));
        if (!region) return std::move(region).error();
        region_ = *std::move(region);
        decider_.join(*region_);
        return std::nullopt;
    }

    // Each of these has two instances; the choice is made before anything else, and costs a jump.
    bool has_origin() const { return decider_.has_origin(); }
    template <bool has_origin>
    [[gnu::noinline, gnu::flatten]] Result<Decision> limit(const Request& request) {
        Result<Decision> decision = Decision{};
        if (!decider_.decide_or_defer<has_origin>(SystemTime{}, request, decision)) [[unlikely]]
            decide_and_wait(request, std::nullopt, decision);
        return decision;
    }
    template <bool has_origin>
    [[gnu::noinline, gnu::flatten]] Result<Decision> limit(const Request& request, UnixTime now) {
        Result<Decision> decision = Decision{};
        if (!is_valid_time(now)) [[unlikely]] {
            decision = refused_time(now);
        } else if (!decider_.decide_or_defer<has_origin>(CallersTime{now}, request, decision))
            [[unlikely]] {
            decide_and_wait(request, now, decision);
        }
        return decision;
    }
    template <bool has_origin>
    [[gnu::noinline, gnu::flatten]] std::optional<Result<Decision>> try_limit(
        const Request& request, UnixTime now) {
        std::optional<Result<Decision>> decision = Decision{};
        if (!is_valid_time(now)) [[unlikely]] {
            decision = refused_time(now);
        } else if (!decider_.decide_or_defer<has_origin>(CallersTime{now}, request, *decision))
            [[unlikely]] {
            decision.reset();
        }
        return decision;
    }

    template <bool has_origin>
    [[gnu::noinline, gnu::flatten]] std::optional<Result<Decision>> try_limit(
        const Request& request) {
        std::optional<Result<Decision>> decision = Decision{};
        if (!decider_.decide_or_defer<has_origin>(SystemTime{}, request, *decision)) [[unlikely]]
            decision.reset();
        return decision;
    }

    std::optional<Result<BatchDecision>> try_limit_many(std::span<const Request> requests,
                                                        std::optional<UnixTime> now) {
        std::optional<Result<BatchDecision>> decision = BatchDecision{};
        std::vector<std::size_t> stale;
        if (!decider_.decide_batch_or_defer(now, requests, stale, *decision)) decision.reset();
        return decision;
    }

    Result<BatchDecision> limit_many(std::span<const Request> requests,
                                     std::optional<UnixTime> now) try {
        Result<BatchDecision> decision = BatchDecision{};
        std::vector<std::size_t> stale;
        if (decider_.decide_batch_or_defer(now, requests, stale, decision)) return decision;
        if (region_->is_own_thread()) {
            decider_.fall_back_batch(requests, now, decision);
        } else {
            wait_for(decision, [&](LaterMany later) {
                return make_pending_batch(*table_, requests, stale, now, std::move(later));
            });
        }
        return decision;
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }

    // After decide_or_defer() was false. The region's own threads can't wait for themselves.
    [[gnu::noinline]] void decide_and_wait(const Request& request,
                                           std::optional<UnixTime> now,
                                           Result<Decision>& decision) try {
        if (region_->is_own_thread()) {
            decider_.fall_back(request, now.value_or(exact_wall_time()), decision);
        } else {
            wait_for(decision, [&](Later later) {
                return make_pending_decision(*table_, request, now, std::move(later));
            });
        }
    } catch (const std::bad_alloc&) {
        decision = out_of_memory();
    }

    Result<Decision> debit(const Request& request, UnixTime now) try {
        if (!is_valid(request)) return invalid_request(request);
        if (!is_valid_time(now)) return invalid_time(now);
        return sluice::debit(*table_, request, now);
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }

    // After try_limit() returned none.
    void defer(const Request& request, std::optional<UnixTime> now, Later later) {
        defer(later,
              [&] { return make_pending_decision(*table_, request, now, std::move(later)); });
    }

    void limit_many_async(std::span<const Request> requests,
                          std::optional<UnixTime> now,
                          LaterMany later) {
        Result<BatchDecision> decision = BatchDecision{};
        std::vector<std::size_t> stale;
        if (decider_.decide_batch_or_defer(now, requests, stale, decision))
            return later(std::move(decision));
        defer(later,
              [&] { return make_pending_batch(*table_, requests, stale, now, std::move(later)); });
    }

    void inspect(const Request& request, UnixTime now, Inspected inspected) {
        Inspection inspection = inspect_entry(*table_, request, now);
        inspection.origin = origin_stats();
        inspection.global = global_stats();
        std::vector<CellName> cells = inspected_cells(request, now);
        // Shared, since origins and stores copy their callbacks.
        const auto shared = std::make_shared<Inspected>(std::move(inspected));
        auto listed = [this, cells, shared](Inspection known) {
            inspect_regions(cells, std::move(known), shared);
        };
        if (region_ == nullptr) return listed(std::move(inspection));
        inspection.node = region_->node();
        region_->list(std::move(cells),
                      [inspection = std::move(inspection), listed = std::move(listed)](
                          const std::vector<std::optional<CellListing>>& listings) mutable {
                          add_listings(listings, inspection);
                          listed(std::move(inspection));
                      });
    }

    // The region first: the counts it flushes last are published. An origin that is unavailable
    // does not use up the time of the global store, which then is the only one to keep the counts.
    // Takes up to a second longer where threads are stuck. False if this object must not be
    // destroyed: they go on to use it, or this is a child process, with its parent's connections.
    [[nodiscard]] bool close(std::chrono::milliseconds timeout) {
        if (made_.is_in_child()) return region_ == nullptr && global_ == nullptr;
        const auto now = std::chrono::steady_clock::now();
        const auto last = now + timeout + kLastTurn;
        if (region_ != nullptr) region_->stop(now + (global_ == nullptr ? timeout : timeout / 2));
        bool has_ended = global_ == nullptr || global_->close(now + timeout, last);
        has_ended &= region_ == nullptr || region_->join(last);
        failure_gate_->close();
        return has_ended;
    }

    // Closes and destroys it, or keeps it until the process ends.
    static void end(std::unique_ptr<Core> core, std::chrono::milliseconds timeout) {
        if (core == nullptr || core->close(timeout)) return;
        Core* const kept = core.release();
        kept->next_kept_ = kept_.load(std::memory_order_relaxed);
        // Relaxed: the list is never read; it shows leak checkers that nothing is lost. Ends:
        // repeats only after another thread's addition.
        while (!kept_.compare_exchange_weak(kept->next_kept_, kept, std::memory_order_relaxed)) {
        }
    }

    GlobalStats global_stats() const {
        return global_ == nullptr ? GlobalStats{} : global_->stats();
    }

    BusStats bus_stats() const { return global_ == nullptr ? BusStats{} : global_->bus_stats(); }

    const Tally& tally() const { return table_->tally(); }

    OriginStats origin_stats() const {
        return region_ == nullptr ? OriginStats{} : region_->stats();
    }

  private:
    friend class Limiter;

    // Defers the decision that `make(later)` makes, and waits for it.
    template <class T, class Make>
    void wait_for(Result<T>& decision, Make make) {
        const auto since = std::chrono::steady_clock::now();
        // Held by both sides: the other one may still be in set_value() when this one returns.
        const auto decided = std::make_shared<std::promise<Result<T>>>();
        std::future<Result<T>> answer = decided->get_future();
        const std::shared_ptr<PendingDecision> pending =
            make([decided](Result<T> result) { decided->set_value(std::move(result)); });
        if (region_->defer(pending, since) &&
            answer.wait_until(pending->deadline() + RegionThread::kGrace) !=
                std::future_status::ready)
            region_->expire(*pending);
        decision = answer.get();
    }

    // Defers the decision that `make()` makes of `later`, which is called in any case.
    template <class Callback, class Make>
    void defer(Callback& later, Make make) {
        const auto since = std::chrono::steady_clock::now();
        std::shared_ptr<PendingDecision> pending;
        try {
            pending = make();
        } catch (const std::bad_alloc&) {  // `later` was not moved from
            return later(out_of_memory());
        }
        region_->defer(pending, since);
    }

    // Adds the counts of the global store, and calls `inspected`.
    void inspect_regions(std::span<const CellName> cells,
                         Inspection inspection,
                         const std::shared_ptr<Inspected>& inspected) {
        if (global_ == nullptr) return (*inspected)(std::move(inspection));
        std::vector<CellName> stored;
        std::ranges::transform(cells, std::back_inserter(stored), stored_name);
        const KnownComponents known{global_->known(stored[0]), global_->known(stored[1])};
        add_first_counts(known, options_.region, inspection);
        global_->list(std::move(stored),
                      [known, inspection = std::move(inspection), inspected](
                          const std::optional<std::vector<GlobalListing>>& listings) mutable {
                          if (listings) add_regions(*listings, known, inspection);
                          (*inspected)(std::move(inspection));
                      });
    }

    static inline std::atomic<Core*> kept_{nullptr};
    Core* next_kept_ = nullptr;
    const ForkMark made_;
    Options options_;  // constant after the next
    const std::shared_ptr<FailureGate> failure_gate_ = put_gate(options_);
    const std::unique_ptr<Table> table_;
    LocalDecider<RegionThread> decider_;
    std::unique_ptr<GlobalThreads> global_;  // null: no global store
    std::unique_ptr<RegionThread> region_;   // null: no origin; uses the former
};

Result<Limiter> Limiter::create(Options options) {
    return create_limiter(std::move(options), {});
}

Result<Limiter> create_limiter(Options options, const TestOptions& test) try {
    if (auto error = invalid_option(options, test)) return *std::move(error);
    if (options.region.empty()) options.region = "local";
    const bool has_origin = !options.origin.empty();
    const bool has_global = !options.global.empty();
    const Sharing sharing = has_origin   ? Sharing::kShared
                            : has_global ? Sharing::kSole
                                         : Sharing::kAlone;
    auto table =
        Table::create({.max_keys = options.max_keys, .sharing = sharing, .seed = system_random()});
    if (!table) return std::move(table).error();
    // Its destructor ends what was started if a later part can't be.
    Limiter limiter(std::make_unique<Limiter::Core>(std::move(options), *std::move(table)));
    if (has_global) {
        if (auto error = limiter.core_->start_global(test.global_interval))
            return *std::move(error);
    }
    if (has_origin) {
        if (auto error = limiter.core_->start_region()) return *std::move(error);
    }
    return limiter;
} catch (const std::bad_alloc&) {
    return out_of_memory();
} catch (const std::system_error& refused) {
    return Error{kOutOfThreads, std::string("the system refused a thread: ") + refused.what()};
} catch (const boost::system::system_error& refused) {  // no descriptors, for example
    return Error{kStoreFailed,
                 std::string("the system refused what a connection needs: ") + refused.what()};
}

Limiter::Limiter(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Limiter::Limiter(Limiter&&) noexcept = default;

Limiter& Limiter::operator=(Limiter&& other) noexcept {
    if (this == &other) return *this;
    Core::end(std::move(core_), kCloseTimeout);
    core_ = std::move(other.core_);
    return *this;
}

Limiter::~Limiter() {
    Core::end(std::move(core_), kCloseTimeout);
}

Result<Decision> Limiter::limit(const Request& request, RequestTime now) {
    return core_->has_origin() ? core_->limit<true>(request, now.at)
                               : core_->limit<false>(request, now.at);
}

Result<Decision> Limiter::limit(const Request& request) {
    return core_->has_origin() ? core_->limit<true>(request) : core_->limit<false>(request);
}

std::optional<Result<Decision>> Limiter::try_limit(const Request& request, RequestTime now) {
    return core_->has_origin() ? core_->try_limit<true>(request, now.at)
                               : core_->try_limit<false>(request, now.at);
}

std::optional<Result<Decision>> Limiter::try_limit(const Request& request) {
    return core_->has_origin() ? core_->try_limit<true>(request) : core_->try_limit<false>(request);
}

Result<Decision> Limiter::debit(const Request& request, RequestTime now) {
    return core_->debit(request, now.at);
}

Result<Decision> Limiter::debit(const Request& request) {
    return core_->debit(request, exact_wall_time());
}

void Limiter::limit_async(const Request& request, RequestTime now, Later later) {
    if (auto decision = try_limit(request, now)) return later(*std::move(decision));
    core_->defer(request, now.at, std::move(later));
}

void Limiter::limit_async(const Request& request, Later later) {
    if (auto decision = try_limit(request)) return later(*std::move(decision));
    core_->defer(request, std::nullopt, std::move(later));
}

Result<BatchDecision> Limiter::limit_many(std::span<const Request> requests, RequestTime now) {
    return core_->limit_many(requests, now.at);
}

Result<BatchDecision> Limiter::limit_many(std::span<const Request> requests) {
    return core_->limit_many(requests, std::nullopt);
}

std::optional<Result<BatchDecision>> Limiter::try_limit_many(std::span<const Request> requests,
                                                             RequestTime now) {
    return core_->try_limit_many(requests, now.at);
}

std::optional<Result<BatchDecision>> Limiter::try_limit_many(std::span<const Request> requests) {
    return core_->try_limit_many(requests, std::nullopt);
}

void Limiter::limit_many_async(std::span<const Request> requests,
                               RequestTime now,
                               LaterMany later) {
    core_->limit_many_async(requests, now.at, std::move(later));
}

void Limiter::limit_many_async(std::span<const Request> requests, LaterMany later) {
    core_->limit_many_async(requests, std::nullopt, std::move(later));
}

void Limiter::inspect(const Request& request, RequestTime now, Inspected inspected) {
    if (!is_valid(request)) return inspected(invalid_request(request));
    if (!is_valid_time(now.at)) return inspected(invalid_time(now.at));
    core_->inspect(request, now.at, std::move(inspected));
}

void Limiter::inspect(const Request& request, Inspected inspected) {
    inspect(request, exact_wall_time(), std::move(inspected));
}

std::string Limiter::node() const {
    return core_->region_ == nullptr ? std::string() : core_->region_->node();
}

std::vector<KnownRegion> Limiter::regions() const {
    return core_->global_ == nullptr ? std::vector<KnownRegion>() : core_->global_->regions();
}

void Limiter::leave_note(std::string note, Notes notes) {
    if (core_->region_ != nullptr)
        return core_->region_->leave_note(std::move(note), std::move(notes));
    if (notes) notes(std::nullopt);
}

void Limiter::close(std::chrono::milliseconds timeout) {
    // A thread that is stuck is given another chance when the limiter is destroyed.
    static_cast<void>(core_->close(timeout));
}

Stats Limiter::stats() const {
    const Tally& tally = core_->tally();
    const auto read = [](const Tally::Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {.keys_held = tally.held(),
            .keys_created = read(tally.created),
            .keys_expired = read(tally.expired),
            .keys_started_over = read(tally.started_over),
            .keys_evicted = read(tally.evicted),
            .keys_evicted_unsynced = read(tally.evicted_unsynced),
            .cas_retries = read(tally.cas_retries),
            .strict_activations = read(tally.strict_activations),
            .origin = core_->origin_stats(),
            .global = core_->global_stats(),
            .bus = core_->bus_stats()};
}

}  // namespace sluice
