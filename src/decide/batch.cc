#include "decide/batch.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>

#include "base/check.h"
#include "counter/epoch.h"
#include "decide/single.h"
#include "decide/valid.h"

namespace sluice {
namespace {

// One request of a batch on its way.
struct Item {
    Entry* entry;
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
    void admit_item(Item& item);

    Table& table_;
    std::span<const Request> requests_;
    std::array<Item, kMaxBatch> items_;  // in the order of the requests
    std::array<Turn, kMaxBatch> order_;  // in the order in which entries are taken
    std::size_t admitted_ = 0;  // so many items of order_ passed, and hold their cost
};

Batch::Batch(Table& table, std::span<const Request> requests, UnixTime now, Freshness freshness)
    : table_(table), requests_(requests) {
    SLUICE_CHECK(requests.size() <= kMaxBatch);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const Request& request = requests[i];
        const LimitKey key = table.key(key_parts(request));
        const Ask ask = ask_of(request);
        Entry& entry = table.entry_for(key, now);
        entry.note_use(ask.limit, now);
        Item& item = items_[i];
        item.entry = &entry;
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
        if (key_parts(requests_[index]) != key_parts(requests_[before])) continue;
        items_[index].entry = items_[before].entry;
        items_[index].ahead = items_[before].ahead + items_[before].ask().cost;
    }
}

void Batch::admit_item(Item& item) {
    item.admission = admit(*item.entry, item.attempt);
    note_retries(table_, item.admission);
}

bool Batch::admit_all() {
    for (const Turn& turn : order()) {
        Item& item = items_[turn.index];
        admit_item(item);
        if (!item.passed()) return false;
        ++admitted_;
    }
    return true;
}

BatchDecision Batch::settle_all() {
    BatchDecision decision{.passed = true, .decisions = {}};
    decision.decisions.reserve(requests_.size());
    const Request* request = requests_.data();
    for (const Item& item : items()) {
        const Admission& admission = item.admission;
        if (item.ask().cost != 0) {
            table_.settle(*item.entry, admission.at.sequence, item.ask().cost, [&] {
                return table_.key(key_parts(*request));
            });
        }
        decision.decisions.push_back(decision_for(
            *request, admission.at, {.passed = true, .remaining = admission.remaining}));
        ++request;
    }
    return decision;
}

void Batch::undo_and_weigh_rest() {
    for (const Turn& turn : order().first(admitted_)) {
        const Item& item = items_[turn.index];
        if (item.ask().cost == 0) continue;
        undo(*item.entry, item.admission.at.sequence, item.ask().cost);
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
        admit_item(item);
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
    const Request* request = requests_.data();
    for (const Item& item : items()) {
        const Admission& admission = item.admission;
        const Ask together{.cost = item.ask().cost + item.ahead, .limit = item.ask().limit};
        Decision own = decision_for(
            *request,
            admission.at,
            {.passed = item.passed(),
             .remaining = item.passed() ? admission.remaining + together.cost : 0});
        if (!item.passed()) {
            note_denial(table_, *item.entry, item.attempt.now);
            own.retry_at = retry_at(*item.entry, admission.at, together);
        }
        decision.decisions.push_back(own);
        ++request;
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
