#include "decide/batch.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "counter/epoch.h"
#include "decide/single.h"
#include "decide/valid.h"

namespace sluice {
namespace {

// Where one request of a batch is decided.
struct Item {
    Instant at;
    Count ahead;  // what earlier requests of the batch ask for at the same entry
    // The result of admitting or checking it.
    bool passed;
    bool needs_flush;
    Count remaining;
};

// The position of an item in the order of admission, which is that of the keys' hashes: two batches
// with the same keys take them in the same order, and can't each hold what the other lacks.
// Requests for one key keep the order of the batch.
struct Turn {
    std::uint64_t hash;
    std::size_t index;

    friend auto operator<=>(const Turn&, const Turn&) = default;
};

bool have_same_key(const Request& a, const Request& b) {
    return std::tie(a.workspace, a.name_space, a.identifier, a.duration) ==
           std::tie(b.workspace, b.name_space, b.identifier, b.duration);
}

enum class BatchOutcome {
    kDecided,
    kAskOrigin,    // the sharing rule leaves some of it to the origin
    kEntryClosed,  // nothing is held; a new batch looks all keys up again
};

class Batch {
  public:
    Batch(Table& table, std::span<const Request> requests, UnixTime now, SharingRule rule);

    // Whether one of its windows ends within `time`.
    bool ends_within(Duration time) const { return time_left_ <= time; }

    // One of these is called, once; `batch` has as many decisions as there are requests. pass()
    // passes all requests, or does nothing and returns false.
    bool pass(BatchDecision& batch);
    BatchOutcome decide(BatchDecision& batch, std::vector<std::size_t>& stale);

  private:
    // Admits one request after the other until one does not pass. True if all did.
    bool admit_all();
    void settle_all();

    // After admit_all() was false.
    void undo_all();
    // Checks the remaining requests as if the earlier costs of the batch had been spent. If nothing
    // was denied, `stale` gets the requests that the sharing rule leaves to the origin.
    BatchOutcome check_remaining(std::vector<std::size_t>& stale);

    // Whether the sharing rule lets a checked request pass, together with the earlier ones.
    bool may_pass(std::size_t index, const Ask& together) const;

    void report(BatchDecision& batch) const;
    void report_denied(BatchDecision& batch) const;

    std::span<const Turn> order() const { return {order_.data(), requests_.size()}; }
    bool is_shared() const { return table_.sharing() != Sharing::kAlone; }
    void find_entry(std::size_t index);
    void put_in_order();
    void join_duplicates();
    AdmitOutcome admit_one(std::size_t index, const Ask& ask, SharingRule rule, Purpose purpose);

    Table& table_;
    const std::span<const Request> requests_;
    const UnixTime now_;
    const SharingRule rule_;
    const NodeCount nodes_;
    Duration time_left_ = kMaxDuration;  // of the window that ends first
    // Until a request makes an entry, which may take the place of one that was guessed.
    bool are_guesses_good_ = true;
    // In the order of the requests, and filled up to their number.
    union KeyPlace {
        KeyPlace() {}  // NOLINT(modernize-use-equals-default): leaves the key for later
        LimitKey key;
    };
    std::array<KeyPlace, kMaxBatch> keys_;
    std::array<Entry*, kMaxBatch> entries_;  // guesses at first
    std::array<Item, kMaxBatch> items_;
    std::array<Turn, kMaxBatch> order_;  // in the order in which entries are taken
    std::size_t admitted_ = 0;           // so many of order_ passed, and hold their cost
    AdmitOutcome stopped_by_ = AdmitOutcome::kPassed;
};

Batch::Batch(Table& table, std::span<const Request> requests, UnixTime now, SharingRule rule)
    : table_(table), requests_(requests), now_(now), rule_(rule), nodes_(table.nodes()) {
    SLUICE_CHECK(requests.size() <= kMaxBatch);
    // Step by step for all requests, so that they wait for memory together.
    std::array<const Bucket*, kMaxBatch> buckets;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const LimitKey& key = *new (&keys_[i].key) LimitKey(table.key(requests[i]));
        order_[i] = {.hash = key.hash(), .index = i};
        buckets[i] = &table.fetch_bucket(key.hash());
    }
    for (std::size_t i = 0; i < requests.size(); ++i)
        entries_[i] = buckets[i]->guess(order_[i].hash);
    for (std::size_t i = 0; i < requests.size(); ++i)
        find_entry(i);
    put_in_order();
    join_duplicates();
}

void Batch::find_entry(std::size_t index) {
    const Request& request = requests_[index];
    const LimitKey& key = keys_[index].key;
    Instant at;
    Entry* const guess = entries_[index];
    const bool is_right = are_guesses_good_ && guess != nullptr && guess->has_key(key) &&
                          guess->locate_in_newest(now_, at);
    if (!is_right) are_guesses_good_ = false;
    Entry& entry = is_right ? *guess : table_.entry_for(key, now_, at, {entries_.data(), index});
    entry.note_use(ask_of(request).limit, now_);
    entries_[index] = &entry;
    items_[index] = {.at = at, .ahead = 0, .passed = false, .needs_flush = false, .remaining = 0};
    time_left_ = std::min(time_left_, entry.duration() - at.elapsed);
}

// Few turns are placed by counting how many come before each: more comparisons than sorting, but
// none that the processor has to guess.
void Batch::put_in_order() {
    constexpr std::size_t kFew = 16;
    const std::size_t count = requests_.size();
    if (count > kFew) return std::sort(order_.data(), order_.data() + count);
    std::array<std::uint64_t, kFew> hashes;
    std::array<std::uint32_t, kFew> before{};
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t hash = order_[i].hash;
        std::uint32_t smaller = 0;
        for (std::size_t j = 0; j < i; ++j) {
            const std::uint32_t is_later = hashes[j] > hash ? 1 : 0;
            before[j] += is_later;
            smaller += is_later ^ 1U;
        }
        hashes[i] = hash;
        before[i] = smaller;
    }
    for (std::size_t i = 0; i < count; ++i)
        order_[before[i]] = {.hash = hashes[i], .index = i};
}

// A later request for the same key sees the cost of the earlier one. It goes to the same entry even
// if the table, at its cap, has replaced that entry in between. Different keys may share a hash:
// the nearest earlier request for the key is anywhere among those of the hash.
void Batch::join_duplicates() {
    for (std::size_t i = 1; i < requests_.size(); ++i) {
        const std::size_t index = order_[i].index;
        for (std::size_t j = i; j > 0 && order_[j - 1].hash == order_[i].hash; --j) {
            const std::size_t before = order_[j - 1].index;
            if (!have_same_key(requests_[index], requests_[before])) continue;
            entries_[index] = entries_[before];
            items_[index].at = items_[before].at;
            items_[index].ahead = items_[before].ahead + ask_of(requests_[before]).cost;
            break;
        }
    }
}

// Writes as little as it can: the next compare-and-swap waits until all that was written before it
// has reached the cache.
[[gnu::always_inline]] inline AdmitOutcome Batch::admit_one(std::size_t index,
                                                            const Ask& ask,
                                                            SharingRule rule,
                                                            Purpose purpose) {
    Item& item = items_[index];
    const Admission admission = admit(*entries_[index],
                                      {.at = item.at,
                                       .now = now_,
                                       .ask = ask,
                                       .nodes = nodes_,
                                       .rule = rule,
                                       .purpose = purpose});
    if (admission.retries != 0) [[unlikely]] {
        note_retries(table_, admission);
        item.at = admission.at;
    }
    item.passed = admission.outcome == AdmitOutcome::kPassed;
    item.needs_flush = admission.needs_flush;
    item.remaining = admission.remaining;
    return admission.outcome;
}

bool Batch::admit_all() {
    for (const Turn& turn : order()) {
        const Ask ask = ask_of(requests_[turn.index]);
        if (is_shared()) entries_[turn.index]->begin_holding(ask.cost);
        stopped_by_ = admit_one(turn.index, ask, rule_, Purpose::kSpend);
        if (stopped_by_ != AdmitOutcome::kPassed) {
            if (is_shared()) entries_[turn.index]->end_holding(ask.cost);
            return false;
        }
        ++admitted_;
    }
    return true;
}

void Batch::settle_all() {
    if (!is_shared()) return;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        const Count cost = ask_of(requests_[i]).cost;
        if (cost == 0) continue;
        entries_[i]->end_holding(cost);
        table_.settle(*entries_[i], items_[i].at.sequence, cost, requests_[i]);
        if (items_[i].needs_flush && table_.sharing() == Sharing::kShared)
            table_.changed().urge(*entries_[i]);
    }
}

void Batch::undo_all() {
    for (const Turn& turn : order().first(admitted_)) {
        const Count cost = ask_of(requests_[turn.index]).cost;
        if (cost == 0) continue;
        undo(*entries_[turn.index], items_[turn.index].at.sequence, cost);
        if (is_shared()) entries_[turn.index]->end_holding(cost);
    }
}

BatchOutcome Batch::check_remaining(std::vector<std::size_t>& stale) {
    if (stopped_by_ == AdmitOutcome::kEntryClosed) return BatchOutcome::kEntryClosed;
    bool denied = stopped_by_ == AdmitOutcome::kDenied;
    for (const Turn& turn : order().subspan(admitted_ + (denied ? 1 : 0))) {
        Ask together = ask_of(requests_[turn.index]);
        together.cost += items_[turn.index].ahead;
        // A count that is too old to admit on is good enough for the report.
        const AdmitOutcome outcome =
            admit_one(turn.index, together, SharingRule::kSkip, Purpose::kCheck);
        if (outcome == AdmitOutcome::kEntryClosed) return BatchOutcome::kEntryClosed;
        if (outcome != AdmitOutcome::kPassed) {
            denied = true;
        } else if (!may_pass(turn.index, together)) {
            stale.push_back(turn.index);
        }
    }
    return denied ? BatchOutcome::kDecided : BatchOutcome::kAskOrigin;
}

bool Batch::may_pass(std::size_t index, const Ask& together) const {
    const auto& [entry, item] = std::tie(*entries_[index], items_[index]);
    const Sequence sequence = item.at.sequence;
    const Spent own{.current = entry.admitted(sequence).of(sequence),
                    .previous = entry.admitted(sequence - 1).of(sequence - 1)};
    return local_verdict(entry,
                         {.at = item.at,
                          .now = now_,
                          .ask = together,
                          .own = own,
                          .remaining = item.remaining,
                          .nodes = nodes_}) != LocalVerdict::kAskOrigin;
}

// Field by field, in place: copying whole decisions would cost more than the rest.
void Batch::report(BatchDecision& batch) const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        Decision& decision = batch.decisions[i];
        decision.passed = items_[i].passed;
        decision.limit = requests_[i].limit;
        decision.remaining = static_cast<std::int64_t>(items_[i].remaining);
        decision.reset_at = start_of(items_[i].at.sequence + 1, requests_[i].duration);
    }
}

// Nothing was spent: the remainder of a limit is the one before the batch, and a denied request may
// be retried when it fits together with the earlier ones of the batch.
void Batch::report_denied(BatchDecision& batch) const {
    report(batch);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        Decision& decision = batch.decisions[i];
        Ask together = ask_of(requests_[i]);
        together.cost += items_[i].ahead;
        if (decision.passed) {
            decision.remaining += static_cast<std::int64_t>(together.cost);
        } else {
            decision.retry_at = retry_at(*entries_[i], items_[i].at, now_, together);
            note_denial(table_, *entries_[i], now_, decision.retry_at);
        }
    }
}

bool Batch::pass(BatchDecision& batch) {
    if (!admit_all()) {
        undo_all();
        return false;
    }
    settle_all();
    batch.passed = true;
    report(batch);
    return true;
}

BatchOutcome Batch::decide(BatchDecision& batch, std::vector<std::size_t>& stale) {
    if (pass(batch)) return BatchOutcome::kDecided;
    const BatchOutcome outcome = check_remaining(stale);
    if (outcome == BatchOutcome::kDecided) report_denied(batch);
    return outcome;
}

}  // namespace

std::optional<BatchDecision> decide_batch(Table& table,
                                          std::span<const Request> requests,
                                          std::optional<UnixTime> callers_time,
                                          SharingRule rule,
                                          std::vector<std::size_t>* stale) {
    // Allocated before anything is spent.
    BatchDecision decision{.passed = false, .decisions = std::vector<Decision>(requests.size())};
    const EpochPin pin;
    if (!callers_time) {
        const UnixTime now = coarse_wall_time();
        Batch batch(table, requests, now, rule);
        if (!batch.ends_within(kCoarseClockLag) && batch.pass(decision)) return decision;
        callers_time = exact_wall_time();
    }
    std::vector<std::size_t> found;
    BatchOutcome outcome;
    do {  // ends: each repetition follows the removal of one of its entries by another thread
        found.clear();
        outcome = Batch(table, requests, *callers_time, rule).decide(decision, found);
    } while (outcome == BatchOutcome::kEntryClosed);
    if (outcome == BatchOutcome::kDecided) return decision;
    if (stale != nullptr) *stale = std::move(found);
    return std::nullopt;
}

}  // namespace sluice
