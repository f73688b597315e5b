#include "insight/recorder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace sluice::insight {
namespace {

std::uint64_t hash_of(const KeyHash& hash, std::size_t part, std::string_view text) {
    if (text.empty() || text.size() > kShortBytes) return hash(part, text);
    return hash(part, ShortText::of(text), hash.salt_of(text.size()));
}

void note_request(KeySketch::Entry& entry, const Request& request) {
    if (entry.text == nullptr)
        entry.text = make_key_text({request.workspace, request.name_space, request.identifier});
    entry.limit = request.limit;
    entry.duration = request.duration;
}

}  // namespace

void Batch::clear() {
    total = {};
    if (namespace_count > 0) std::ranges::fill(namespaces, NamespaceCounts{});
    namespace_count = 0;
    denials.clear();
    spend.clear();
    interval = 1;
}

// Ends: half of the slots stay empty.
NamespaceCounts* Batch::counts_of(std::uint64_t hash, const Request& request) {
    const std::size_t mask = namespaces.size() - 1;
    std::size_t at = hash & mask;
    for (; namespaces[at].hash != 0; at = (at + 1) & mask) {
        if (namespaces[at].hash == hash) return &namespaces[at];
    }
    if (namespace_count == kMaxNamespaces) return nullptr;
    ++namespace_count;
    namespaces[at].hash = hash;
    namespaces[at].workspace = request.workspace;
    namespaces[at].name_space = shown_text(request.name_space);
    namespaces[at].is_cut = namespaces[at].name_space != request.name_space;
    return &namespaces[at];
}

std::uint64_t Recorder::namespace_hash(const Request& request) const {
    const std::uint64_t hash =
        hash_of(hash_, 0, request.workspace) ^ hash_of(hash_, 1, request.name_space);
    return hash | 1U;  // 0 marks a free slot
}

std::uint64_t Recorder::key_hash(const Request& request) const {
    return (namespace_hash(request) ^ hash_of(hash_, 2, request.identifier)) | 1U;
}

void Recorder::count_traffic(const Request& request, const Decision& decision, Spent spent) {
    const auto cost = spent == Spent::kCost ? static_cast<std::uint64_t>(request.cost) : 0;
    const auto add = [&](NamespaceCounts& counts) {
        ++(decision.passed ? counts.passed : counts.denied);
        counts.spend = capped_sum(counts.spend, cost);
    };
    add(batch_->total);
    if (NamespaceCounts* const counts = batch_->counts_of(namespace_hash(request), request))
        add(*counts);
}

void Recorder::enter_denial(const Request& request) {
    note_request(batch_->denials.add(key_hash(request), 1), request);
}

// `cost` is at least the interval, or a sample is due in it.
void Recorder::enter_spend(const Request& request, std::uint64_t cost) {
    std::uint64_t weight = 0;
    double variance = 0;
    if (cost >= interval_) {
        weight = cost;
    } else {
        const auto interval = static_cast<double>(interval_);
        for (; gap_ < 0; gap_ += random_gap()) {
            weight = capped_sum(weight, interval_);
            variance += interval * interval;
        }
    }
    KeySketch::Entry& entry = batch_->spend.add(key_hash(request), weight);
    entry.variance += variance;
    note_request(entry, request);
    if (++entered_ < kMostExact || interval_ == kMaxInterval) return;
    interval_ *= 2;
    batch_->interval = std::max(batch_->interval, interval_);
    entered_ = kMostExact / 2;
    gap_ = random_gap() - 1;
}

// The units of cost up to and including the next one that is sampled, where each is with a
// probability of 1 / interval_: geometrically distributed.
std::int64_t Recorder::random_gap() {
    random_ ^= random_ << 13U;
    random_ ^= random_ >> 7U;
    random_ ^= random_ << 17U;
    const double uniform = (static_cast<double>(random_ >> 11U) + 1) * 0x1p-53;  // (0, 1]
    const double units = std::log(uniform) / std::log1p(-1 / static_cast<double>(interval_));
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(units)), 1);
}

std::unique_ptr<Batch> Recorder::exchange(std::unique_ptr<Batch> empty) {
    // Less than an eighth of what may be entered: the interval is too long.
    if (entered_ < kMostExact / 8 && interval_ > 1) {
        const std::uint64_t factor =
            std::bit_floor(kMostExact / 4 / std::max<std::uint64_t>(entered_, 1));
        interval_ = std::max<std::uint64_t>(interval_ / factor, 1);
        gap_ = interval_ == 1 ? 0 : random_gap() - 1;
    }
    entered_ = 0;
    empty->interval = interval_;
    batch_.swap(empty);
    return empty;
}

}  // namespace sluice::insight
