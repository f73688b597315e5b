#include "insight/activity.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::insight {
namespace {

constexpr std::size_t kSpareBatches = 4;

// Four standard deviations, where weights were sampled. Even a key with few samples, or none, may
// have had some weight.
std::uint64_t sampling_error(double variance, std::uint64_t interval) {
    if (interval == 1) return 0;
    const auto least = static_cast<double>(interval);
    const double error = std::ceil(4 * std::sqrt(variance + least * least));
    return static_cast<std::uint64_t>(std::min(error, static_cast<double>(kMaxSum)));
}

std::int64_t second_of(UnixTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace

Activity::Activity(std::uint64_t seed) : hash_(seed), shared_(hash_) {}

void Activity::collect(Recorder& recorder) {
    if (recorder.is_empty()) return;
    std::unique_ptr<Batch> empty;
    {
        const MutexLock lock(incoming_mutex_);
        if (!spare_.empty()) {
            empty = std::move(spare_.back());
            spare_.pop_back();
        }
    }
    if (empty == nullptr) empty = std::make_unique<Batch>();
    std::unique_ptr<Batch> full = recorder.exchange(std::move(empty));
    const MutexLock lock(incoming_mutex_);
    incoming_.push_back(std::move(full));
}

void Activity::count(const Request& request, const Decision& decision, Recorder::Spent spent) {
    const MutexLock lock(incoming_mutex_);
    shared_.count(request, decision, spent);
}

void Activity::end_second(const StateSample& state, UnixTime now) {
    std::vector<std::unique_ptr<Batch>> batches;
    {
        const MutexLock lock(incoming_mutex_);
        batches.swap(incoming_);
        if (!shared_.is_empty()) batches.push_back(shared_.exchange(std::make_unique<Batch>()));
    }
    {
        const MutexLock lock(mutex_);
        now_ = now;
        const std::int64_t second = second_of(now) - 1;
        for (const auto& batch : batches) {
            denials_.add(batch->denials, 1, now - std::chrono::milliseconds{1});
            spend_.add(batch->spend, batch->interval, now - std::chrono::milliseconds{1});
            traffic_.add(*batch, second);
        }
        traffic_.set_state(state, second);
    }
    for (const auto& batch : batches)
        batch->clear();
    const MutexLock lock(incoming_mutex_);
    for (auto& batch : batches) {
        if (spare_.size() < kSpareBatches) spare_.push_back(std::move(batch));
    }
}

TopKeys Activity::top_keys(const TopQuery& query) const {
    KeyWindows::Sums denials;
    KeyWindows::Sums spend;
    std::vector<NamespaceTotal> totals;
    {
        const MutexLock lock(mutex_);
        denials = denials_.sums(query.window, now_);
        spend = spend_.sums(query.window, now_);
        totals = traffic_.totals_since(second_of(denials.since));
    }
    const bool is_by_denials = query.by == Ranking::kDenials;
    TopKeys top;
    for (const NamespaceTotal& each : totals) {
        if (query.is_visible(each.shown()))
            top.total = capped_sum(top.total, is_by_denials ? each.denied : each.spend);
    }
    std::vector<const KeySketch::Entry*> ranked;
    std::uint64_t sum = 0;
    for (const auto& [hash, entry] : (is_by_denials ? denials : spend).by_key) {
        if (!query.is_visible(namespace_of(*entry.text))) continue;
        ranked.push_back(&entry);
        sum = capped_sum(sum, entry.weight);
    }
    // Namespaces without a row are missing in the totals.
    top.total = std::max(top.total, sum);
    const auto is_heavier = [](const KeySketch::Entry* a, const KeySketch::Entry* b) {
        return a->weight != b->weight ? a->weight > b->weight
                                      : a->text->identifier < b->text->identifier;
    };
    const std::size_t most = std::min(query.most, ranked.size());
    const std::uint64_t spend_error =
        capped_sum(spend.error, sampling_error(0, spend.interval));
    top.unlisted = is_by_denials ? denials.error : spend_error;
    std::partial_sort(ranked.begin(),
                      ranked.begin() + static_cast<std::ptrdiff_t>(most),
                      ranked.end(),
                      is_heavier);
    if (most > 0 && most < ranked.size()) top.unlisted = capped_sum(top.unlisted, ranked[most - 1]->weight);
    ranked.resize(most);
    for (const KeySketch::Entry* const entry : ranked) {
        TopKey key{.text = entry->text,
                   .denials = 0,
                   .denials_error = denials.error,
                   .spend = 0,
                   .spend_error = spend_error,
                   .limit = entry->limit,
                   .duration = entry->duration};
        UnixTime last = entry->last;
        if (const auto found = denials.by_key.find(entry->hash); found != denials.by_key.end()) {
            key.denials = found->second.weight;
            key.last_denied = found->second.last;
        }
        if (const auto found = spend.by_key.find(entry->hash); found != spend.by_key.end()) {
            const KeySketch::Entry& spent = found->second;
            key.spend = spent.weight;
            key.spend_error =
                capped_sum(spend.error, sampling_error(spent.variance, spend.interval));
            if (spent.last > last) {
                key.limit = spent.limit;
                key.duration = spent.duration;
            }
        }
        top.keys.push_back(std::move(key));
    }
    return top;
}

WindowReport Activity::report(Window window, std::size_t most) const {
    const IsVisible everything = [](const ShownNamespace&) { return true; };
    TopQuery query{.window = window, .most = most, .is_visible = everything};
    TopKeys denials = top_keys(query);
    query.by = Ranking::kSpend;
    TopKeys spend = top_keys(query);
    WindowReport report{.keys = std::move(denials.keys),
                        .totals = {},
                        .unlisted_denials = denials.unlisted,
                        .unlisted_spend = spend.unlisted};
    for (TopKey& key : spend.keys) {
        // Either list has the text of its own sketch.
        const auto is_same = [&](const TopKey& other) {
            return other.text->identifier == key.text->identifier &&
                   other.text->name_space == key.text->name_space &&
                   other.text->workspace == key.text->workspace;
        };
        if (key.denials > 0 && std::ranges::any_of(report.keys, is_same)) continue;
        report.keys.push_back(std::move(key));
    }
    const MutexLock lock(mutex_);
    report.totals = traffic_.totals_since(second_of(KeyWindows::start_of(window, now_)));
    return report;
}

TrafficReport Activity::traffic(const Span& span, const IsVisible& is_visible) const {
    const MutexLock lock(mutex_);
    return traffic_.report({.end = second_of(now_), .seconds = span.seconds, .step = span.step},
                           is_visible);
}

}  // namespace sluice::insight
