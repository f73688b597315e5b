#include "decide/batch.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <tuple>

#include "base/check.h"
#include "counter/epoch.h"
#include "decide/single.h"
#include "decide/valid.h"

namespace sluice {
namespace {

// One request of a batch on its way, at entries_[its index].
struct Item {
    Attempt attempt;
    Count ahead;  // what earlier requests of the batch ask for at the same entry
    Admission admission;

    bool passed() const { return admission.outcome == Outcome::kPassed; }
    const Ask& ask() const { return attempt.ask; }
};

// When an item has its turn. The order is that of the keys' hashes: two batches that want the same keys take them in
// the same order, and can't each hold what the other lacks. Requests for one key keep the order of the batch.
struct Turn {
    std::uint64_t hash;
    std::size_t index;

    friend auto operator<=>(const Turn&, const Turn&) = default;
};

bool have_same_key(const Request& a, const Request& b) {
    return std::tie(a.workspace, a.name_space, a.identifier, a.duration) ==
           std::tie(b.workspace, b.name_space, b.identifier, b.duration);
}

// How one request of the batch fared, as the caller sees it.
Decision decision_for(const Request& request, const Instant& at, const Verdict& verdict) {
    return {.passed = verdict.passed,
            .limit = request.limit,
            .remaining = static_cast<std::int64_t>(verdict.remaining),
            .reset_at = start_of(at.sequence + 1, request.duration),
            .retry_at = std::nullopt};
}

class Batch {
  public:
    Batch(Table& table, std::span<const Request> requests, UnixTime now, Freshness freshness);

    // Admits one item after the other until one does not pass. True if all did.
    bool admit_all();
    BatchDecision settle_all();

    // After admit_all() was false. The rest is weighed as if the earlier costs of the batch had been spent.
    void undo_and_weigh_rest();
    bool any_denied() const;
    BatchDecision report_denial();

  private:
    std::span<Item> items() { return {items_.data(), requests_.size()}; }
    std::span<const Item> items() const { return {items_.data(), requests_.size()}; }
    std::span<const Turn> order() const { return {order_.data(), requests_.size()}; }
    void join_duplicates();
    void admit_item(std::size_t index);

    Table& table_;
    std::span<const Request> requests_;
    // In the order of the requests, and filled up to their number.
    std::array<Entry*, kMaxBatch> entries_;
    std::array<Item, kMaxBatch> items_;
    std::array<Turn, kMaxBatch> order_;  // in the order in which entries are taken
    std::size_t admitted_ = 0;  // so many items of order_ passed, and hold their cost
};

Batch::Batch(Table& table, std::span<const Request> requests, UnixTime now, Freshness freshness)
    : table_(table), requests_(requests) {
    SLUICE_CHECK(requests.size() <= kMaxBatch);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const Request& request = requests[i];
        const LimitKey key = table.key(request);
        const Ask ask = ask_of(request);
        Entry& entry = table.entry_for(key, now, {entries_.data(), i});
        entry.note_use(ask.limit, now);
        entries_[i] = &entry;
        Item& item = items_[i];
        item.attempt = {.at = entry.locate(now), .now = now, .ask = ask, .freshness = freshness};
        item.ahead = 0;
        order_[i] = {.hash = key.hash(), .index = i};
    }
    std::sort(order_.data(), order_.data() + requests.size());
    join_duplicates();
}

// A later request for the same key sees the cost of the earlier one. It goes to the same entry even if the table, at its
// cap, has replaced that entry in between.
void Batch::join_duplicates() {
    for (std::size_t i = 1; i < requests_.size(); ++i) {
        const std::size_t before = order_[i - 1].index;
        const std::size_t index = order_[i].index;
        if (order_[i].hash != order_[i - 1].hash) continue;
        if (!have_same_key(requests_[index], requests_[before])) continue;
        entries_[index] = entries_[before];
        items_[index].ahead = items_[before].ahead + items_[before].ask().cost;
    }
}

void Batch::admit_item(std::size_t index) {
    Item& item = items_[index];
    item.admission = admit(*entries_[index], item.attempt);
    note_retries(table_, item.admission);
}

bool Batch::admit_all() {
    for (const Turn& turn : order()) {
        admit_item(turn.index);
        if (!items_[turn.index].passed()) return false;
        ++admitted_;
    }
    return true;
}

BatchDecision Batch::settle_all() {
    BatchDecision decision{.passed = true, .decisions = {}};
    decision.decisions.reserve(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        const Request& request = requests_[i];
        const Admission& admission = items_[i].admission;
        if (const Count cost = items_[i].ask().cost; cost != 0) {
            table_.settle(*entries_[i], admission.at.sequence, cost, [&] {
                return table_.key(request);
            });
        }
        decision.decisions.push_back(decision_for(
            request, admission.at, {.passed = true, .remaining = admission.remaining}));
    }
    return decision;
}

void Batch::undo_and_weigh_rest() {
    for (const Turn& turn : order().first(admitted_)) {
        const Item& item = items_[turn.index];
        if (item.ask().cost == 0) continue;
        undo(*entries_[turn.index], item.admission.at.sequence, item.ask().cost);
    }
    for (const Turn& turn : order().subspan(admitted_)) {
        Item& item = items_[turn.index];
        const bool denied_already =
            turn == order_[admitted_] && item.admission.outcome == Outcome::kDenied;
        if (denied_already) continue;
        // A count that is too old to admit on is good enough to tell how this request fared.
        item.attempt.ask.cost += item.ahead;
        item.attempt.freshness = Freshness::kJustRefreshed;
        item.attempt.purpose = Purpose::kAsk;
        admit_item(turn.index);
        item.attempt.ask.cost -= item.ahead;
    }
}

bool Batch::any_denied() const {
    return !std::ranges::all_of(items(), &Item::passed);
}

// Nothing was spent, so what remains of a limit is what remained before the batch, and a denied request has to wait
// until it fits together with the earlier ones of the batch.
BatchDecision Batch::report_denial() {
    BatchDecision decision{.passed = false, .decisions = {}};
    decision.decisions.reserve(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        const Item& item = items_[i];
        const Instant at = item.admission.at;
        const Ask together{.cost = item.ask().cost + item.ahead, .limit = item.ask().limit};
        const Count remaining = item.passed() ? item.admission.remaining + together.cost : 0;
        Decision own =
            decision_for(requests_[i], at, {.passed = item.passed(), .remaining = remaining});
        if (!item.passed()) {
            note_denial(table_, *entries_[i], item.attempt.now);
            own.retry_at = retry_at(*entries_[i], at, together);
        }
        decision.decisions.push_back(own);
    }
    return decision;
}

}  // namespace

std::optional<BatchDecision> decide_batch(Table& table,
                                          std::span<const Request> requests,
                                          UnixTime now,
                                          Freshness freshness) {
    const EpochPin pin;
    Batch batch(table, requests, now, freshness);
    if (batch.admit_all()) return batch.settle_all();
    batch.undo_and_weigh_rest();
    if (!batch.any_denied()) return std::nullopt;
    return batch.report_denial();
}

}  // namespace sluice
