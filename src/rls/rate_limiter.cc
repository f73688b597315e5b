#include "rls/rate_limiter.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "rls/identifier.h"
#include "window/cell.h"

namespace sluice::rls {
namespace {

using Kind = DecidedDescriptor::Kind;

// The hits of a descriptor: its own, also 0, else those of the request, at least 1. What a client
// calls negative spends nothing: counts only grow.
std::int64_t hits_of(const RateLimitRequest& request, const Descriptor& descriptor) {
    if (descriptor.is_negative_hits) return 0;
    const std::uint64_t hits =
        descriptor.hits_addend.value_or(std::max<std::uint64_t>(request.hits_addend, 1));
    return static_cast<std::int64_t>(std::min<std::uint64_t>(hits, kMaxCount));
}

// Whether an item is decided together with the others that can deny the request.
bool is_in_batch(const DecidedDescriptor& item, Method method, const AnswerOptions& options) {
    return options.counting == Counting::kAllOrNothing && method == Method::kShouldRateLimit &&
           !options.shadow_mode && !options.quota_mode && !item.is_shadowed() &&
           (item.rule == nullptr || !item.rule->quota_mode);
}

// Passes each decision to `counter`, a Recorder or an Activity.
template <class Counter>
void count_decisions(const DecidedRequest& request,
                     const AnswerOptions& options,
                     Counter& counter) {
    using Spent = insight::Recorder::Spent;
    if (request.method == Method::kCheck) return;
    for (const DecidedDescriptor& item : request.used()) {
        if (item.kind != DecidedDescriptor::Kind::kLimited) continue;
        Decision decision = item.decision;
        decision.passed = !item.is_over() || item.is_shadowed();
        counter.count(request.request_of(item, options),
                      decision,
                      item.is_spent ? Spent::kCost : Spent::kNothing);
    }
}

// Fills in the answer to a request that is decided or failed.
void complete(DecidedRequest& request,
              const AnswerOptions& options,
              RuleWriter& writer,
              Answer& answer) {
    answer.error = std::exchange(request.error, std::nullopt);
    if (answer.error) {
        writer.note_error();
    } else {
        request.write(answer.response, options, writer);
    }
}

// An answer of which the origin decides a part. Each decision arrives once, on any thread; the last
// one completes the answer.
class PendingAnswer {
  public:
    PendingAnswer(DecidedRequest request, const ServiceParts& parts, RateLimiter::Later later)
        : request_(std::move(request)), parts_(parts), later_(std::move(later)) {}

    // Asks for everything that is not decided. `batch` are the items that are decided together.
    static void ask(const std::shared_ptr<PendingAnswer>& pending,
                    const std::vector<std::size_t>& batch) {
        DecidedRequest& request = pending->request_;
        Limiter& limiter = pending->parts_.limiter;
        const AnswerOptions& options = *pending->parts_.options;
        for (std::size_t i = 0; i < request.count; ++i) {
            DecidedDescriptor& item = request.items[i];
            if (item.is_decided || std::ranges::find(batch, i) != batch.end()) continue;
            pending->awaited_.fetch_add(1, std::memory_order_relaxed);
            limiter.limit_async(request.request_of(item, options),
                                request.now,
                                [pending, i](const Result<Decision>& decision) {
                                    pending->enter(i, decision);
                                    pending->end_one();
                                });
        }
        if (!batch.empty()) ask_batch(pending, batch);
        pending->end_one();  // this function's own
    }

  private:
    static void ask_batch(const std::shared_ptr<PendingAnswer>& pending,
                          const std::vector<std::size_t>& batch) {
        std::vector<Request> requests;
        for (const std::size_t index : batch)
            requests.push_back(pending->request_.request_of(pending->request_.items[index],
                                                            *pending->parts_.options));
        pending->awaited_.fetch_add(1, std::memory_order_relaxed);
        pending->parts_.limiter.limit_many_async(
            requests,
            pending->request_.now,
            [pending, batch](const Result<BatchDecision>& decided) {
                pending->enter_batch(batch, decided);
                pending->end_one();
            });
    }

    void enter_batch(const std::vector<std::size_t>& batch, const Result<BatchDecision>& decided) {
        const MutexLock lock(mutex_);
        request_.enter_batch(batch, decided, *parts_.options, parts_.limiter);
    }

    void enter(std::size_t index, const Result<Decision>& decision) {
        const MutexLock lock(mutex_);
        request_.enter(request_.items[index], decision, *parts_.options, parts_.limiter);
    }

    // Acquires and releases: the thread that completes the answer sees what the others entered.
    void end_one() {
        if (awaited_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        Answer answer;
        if (parts_.activity != nullptr && !request_.error)
            count_decisions(request_, *parts_.options, *parts_.activity);
        parts_.metrics.write_shared(
            [&](RuleWriter& writer) { complete(request_, *parts_.options, writer, answer); });
        later_(std::move(answer));
    }

    Mutex mutex_;  // held while a decision is entered
    DecidedRequest request_;
    const ServiceParts parts_;
    RateLimiter::Later later_;
    // Decisions that are missing, and one while ask() runs. Written by each thread that enters one.
    std::atomic<std::size_t> awaited_{1};
};

}  // namespace

void RateLimiter::apply_override(std::string_view domain, DecidedDescriptor& item) {
    const overrides::Override* const applied =
        overrides_.get().match({parts_.options->workspace, domain, item.identifier});
    if (applied == nullptr) return;
    item.limit = applied->value.limit;
    item.duration = applied->value.duration;
}

// The series of `labels_`, instead of that of the rule.
RuleSeries* RateLimiter::series_by_value(RuleSeries* rule) {
    RuleSeries* const series = writer_.by_value(labels_, rule, work_.now);
    for (std::string* label : {&labels_.domain, &labels_.key1, &labels_.key2})
        release_large(*label);
    return series;
}

std::optional<Error> RateLimiter::find_limit(const RateLimitRequest& request,
                                             const Descriptor& descriptor,
                                             DecidedDescriptor& item) {
    const ActiveRules& active = rules_.get();
    const auto entries = request.entries_of(descriptor);
    item.clear();
    item.hits = hits_of(request, descriptor);
    if (descriptor.limit && active.rules->has_domain(request.domain)) {
        const auto window = duration_of(descriptor.limit->unit);
        if (!window) {
            return Error{kInvalidRequest,
                         "the limit of a descriptor has the unit " +
                             std::to_string(static_cast<std::uint32_t>(descriptor.limit->unit)) +
                             "; allowed: 1 to 7 (second, minute, hour, day, month, year, week)"};
        }
        labels_.begin(request.domain);
        for (std::size_t depth = 0; depth < entries.size(); ++depth) {
            append_entry(item.identifier, entries[depth]);
            append_level(labels_, depth, entries[depth].key, entries[depth].value);
        }
        finish_identifier(item.identifier);
        if (item.identifier.empty()) return std::nullopt;  // a descriptor without entries
        item.kind = Kind::kLimited;
        item.limit = descriptor.limit->requests_per_unit;
        item.duration = *window;
        item.series = series_by_value(nullptr);
    } else {
        item.rule = active.rules->match(request.domain, entries, item.identifier);
        if (item.rule == nullptr) return std::nullopt;
        item.kind = item.rule->unlimited ? Kind::kUnlimited : Kind::kLimited;
        item.limit = item.rule->requests_per_unit;
        item.duration = item.rule->duration;
        item.series = active.series[item.rule->index].get();
        if (item.rule->has_metrics_by_value) {
            active.rules->write_labels(*item.rule, request.domain, entries, labels_);
            item.series = series_by_value(item.series);
        }
    }
    if (item.kind == Kind::kLimited) apply_override(request.domain, item);
    return std::nullopt;
}

std::optional<Error> RateLimiter::find_limits(const RateLimitRequest& request) {
    if (request.domain.empty())
        return Error{kInvalidRequest, "rate limit domain must not be empty"};
    if (request.descriptors.empty())
        return Error{kInvalidRequest, "rate limit descriptor list must not be empty"};
    if (!rules_.get().rules->is_loaded())
        return Error{kInvalidRequest, "no rate limit configuration loaded"};

    work_.count = request.descriptors.size();
    if (work_.items.size() < work_.count) work_.items.resize(work_.count);
    bool has_replacing = false;
    for (std::size_t i = 0; i < work_.count; ++i) {
        if (auto error = find_limit(request, request.descriptors[i], work_.items[i])) return error;
        const LimitRule* const rule = work_.items[i].rule;
        has_replacing |= rule != nullptr && !rule->replaces.empty();
    }
    if (!has_replacing) return std::nullopt;
    for (DecidedDescriptor& item : work_.used()) {
        if (item.kind != Kind::kLimited || item.rule == nullptr || item.rule->name.empty())
            continue;
        const bool is_replaced = std::ranges::any_of(work_.used(), [&](const auto& other) {
            return other.rule != nullptr &&
                   std::ranges::find(other.rule->replaces, item.rule->name) !=
                       other.rule->replaces.end();
        });
        if (is_replaced) item.kind = Kind::kNoLimit;
    }
    return std::nullopt;
}

// Decides what the limiter can decide at once. False if the origin is needed for an item, or for
// the batch, whose items are left undecided then.
bool RateLimiter::decide_items() {
    const AnswerOptions& options = *parts_.options;
    bool is_complete = true;
    batch_.clear();
    for (std::size_t i = 0; i < work_.count; ++i) {
        DecidedDescriptor& item = work_.items[i];
        if (item.kind != Kind::kLimited) {
            item.is_decided = true;
        } else if (is_in_batch(item, work_.method, options)) {
            batch_.push_back(i);
        } else {
            is_complete &= decide_item(item);
        }
    }
    return decide_batch() && is_complete;
}

bool RateLimiter::decide_item(DecidedDescriptor& item) {
    const AnswerOptions& options = *parts_.options;
    const Request asked = work_.request_of(item, options);
    if (work_.method == Method::kReport) {
        work_.enter(item, parts_.limiter.debit(asked, work_.now), options, parts_.limiter);
        return true;
    }
    const auto decision = parts_.limiter.try_limit(asked, work_.now);
    if (decision) work_.enter(item, *decision, options, parts_.limiter);
    return decision.has_value();
}

bool RateLimiter::decide_batch() {
    if (batch_.empty()) return true;
    const AnswerOptions& options = *parts_.options;
    batch_requests_.clear();
    for (const std::size_t index : batch_)
        batch_requests_.push_back(work_.request_of(work_.items[index], options));
    const auto decided = parts_.limiter.try_limit_many(batch_requests_, work_.now);
    if (!decided) return false;
    work_.enter_batch(batch_, *decided, options, parts_.limiter);
    batch_.clear();
    return true;
}

bool RateLimiter::decide(Method method,
                         const RateLimitRequest& request,
                         UnixTime now,
                         Answer& answer) {
    rules_.refresh();
    overrides_.refresh();
    writer_.refresh();
    work_.method = method;
    work_.now = now;
    work_.domain = request.domain;
    work_.error = find_limits(request);
    work_.metadata.reset();
    if (parts_.options->dynamic_metadata && !work_.error) work_.metadata = metadata_of(request);
    if (!work_.error && !decide_items()) return false;
    if (parts_.recorder != nullptr && !work_.error)
        count_decisions(work_, *parts_.options, *parts_.recorder);
    complete(work_, *parts_.options, writer_, answer);
    return true;
}

void RateLimiter::ask_origin(Later later) {
    work_.rules = rules_.get().shared_from_this();
    for (DecidedDescriptor& item : work_.used())
        if (item.series != nullptr) item.kept_series = item.series->shared_from_this();
    const auto pending =
        std::make_shared<PendingAnswer>(std::exchange(work_, {}), parts_, std::move(later));
    PendingAnswer::ask(pending, batch_);
}

}  // namespace sluice::rls
