#include "insight/activity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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

// Of a key without samples.
std::uint64_t error_of(const KeyWindows::Sums& sums) {
    return capped_sum(sums.error, sampling_error(0, sums.interval));
}

// Keys, the heaviest first.
using Ranked = std::vector<const KeySketch::Entry*>;

Ranked rank(const KeyWindows::Sums& sums, const IsVisible& is_visible) {
    Ranked ranked;
    for (const auto& [hash, entry] : sums.by_key) {
        if (is_visible(namespace_of(*entry.text))) ranked.push_back(&entry);
    }
    std::ranges::sort(ranked, [](const KeySketch::Entry* a, const KeySketch::Entry* b) {
        return a->weight != b->weight ? a->weight > b->weight
                                      : a->text->identifier < b->text->identifier;
    });
    return ranked;
}

std::span<const KeySketch::Entry* const> first(const Ranked& ranked, std::size_t most) {
    return std::span(ranked).first(std::min(most, ranked.size()));
}

// What a key that is not among the first `most` may have.
std::uint64_t weight_beyond(const Ranked& ranked, std::size_t most) {
    return most > 0 && most < ranked.size() ? ranked[most - 1]->weight : 0;
}

// The heaviest keys of each workspace, first that of each, then the second one and so on: so that
// no workspace hides the keys of the others.
Ranked heaviest_by_workspace(const Ranked& ranked, std::size_t most) {
    constexpr std::size_t kOfEach = 10;
    std::array<Ranked, kOfEach> by_place;
    std::unordered_map<std::string_view, std::size_t> places;
    for (const KeySketch::Entry* const entry : ranked) {
        const std::size_t place = places[entry->text->workspace]++;
        if (place < kOfEach) by_place[place].push_back(entry);
    }
    Ranked heaviest;
    for (const Ranked& list : by_place)
        heaviest.insert(heaviest.end(), list.begin(), list.end());
    heaviest.resize(std::min(heaviest.size(), most));
    return heaviest;
}

}  // namespace

TopKey Activity::Counts::of(const KeySketch::Entry& entry) const {
    TopKey key{.text = entry.text,
               .denials = 0,
               .denials_error = denials.error,
               .spend = 0,
               .spend_error = error_of(spend)};
    const auto note_last = [&](const KeySketch::Entry& found) {
        if (found.last < key.last) return;
        key.limit = found.limit;
        key.duration = found.duration;
        key.last = found.last;
    };
    note_last(entry);
    if (const auto found = denials.by_key.find(entry.hash); found != denials.by_key.end()) {
        key.denials = found->second.weight;
        key.last_denied = found->second.last;
        note_last(found->second);
    }
    if (const auto found = spend.by_key.find(entry.hash); found != spend.by_key.end()) {
        const KeySketch::Entry& spent = found->second;
        key.spend = spent.weight;
        key.spend_error = capped_sum(spend.error, sampling_error(spent.variance, spend.interval));
        note_last(spent);
    }
    return key;
}

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

Activity::Counts Activity::counts(Window window) const {
    const MutexLock lock(mutex_);
    Counts counts{
        .denials = denials_.sums(window, now_), .spend = spend_.sums(window, now_), .totals = {}};
    counts.totals = traffic_.totals_since(second_of(counts.denials.since));
    return counts;
}

TopKeys Activity::top_keys(const TopQuery& query) const {
    const Counts all = counts(query.window);
    const bool is_by_denials = query.by == Ranking::kDenials;
    TopKeys top;
    for (const NamespaceTotal& each : all.totals.namespaces) {
        if (query.is_visible(each.shown()))
            top.total = capped_sum(top.total, is_by_denials ? each.denied : each.spend);
    }
    const Ranked ranked = rank(is_by_denials ? all.denials : all.spend, query.is_visible);
    std::uint64_t sum = 0;
    for (const KeySketch::Entry* const entry : ranked)
        sum = capped_sum(sum, entry->weight);
    top.total = std::max(top.total, sum);
    top.is_total_minimum = (is_by_denials ? all.totals.other_denied : all.totals.other_spend) > 0;
    for (const KeySketch::Entry* const entry : first(ranked, query.most))
        top.keys.push_back(all.of(*entry));
    return top;
}

WindowReport Activity::report(Window window, std::size_t most, const IsVisible& is_visible) const {
    const Counts all = counts(window);
    const Ranked denials = rank(all.denials, is_visible);
    const Ranked spend = rank(all.spend, is_visible);
    WindowReport report{
        .keys = {},
        .totals = all.totals,
        .unlisted_denials = capped_sum(all.denials.error, weight_beyond(denials, most)),
        .unlisted_spend = capped_sum(error_of(all.spend), weight_beyond(spend, most))};
    const Ranked fair_denials = heaviest_by_workspace(denials, most);
    const Ranked fair_spend = heaviest_by_workspace(spend, most);
    const std::array lists{
        first(denials, most), first(spend, most), std::span(fair_denials), std::span(fair_spend)};
    std::unordered_set<std::uint64_t> listed;
    for (std::size_t i = 0; i < most; ++i) {
        for (const auto& list : lists) {
            if (i < list.size() && listed.insert(list[i]->hash).second)
                report.keys.push_back(all.of(*list[i]));
        }
    }
    return report;
}

TrafficReport Activity::traffic(const Span& span, const IsVisible& is_visible) const {
    const MutexLock lock(mutex_);
    return traffic_.report({.end = second_of(now_), .seconds = span.seconds, .step = span.step},
                           is_visible);
}

}  // namespace sluice::insight
