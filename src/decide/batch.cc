#include "decide/batch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

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
    std::span<const std::uint8_t> order() const { return {order_.data(), requests_.size()}; }
    void put_in_order();
    void admit_item(Item& item);

    Table& table_;
    std::span<const Request> requests_;
    std::array<Item, kMaxBatch> items_;  // in the order of the requests
    std::array<std::uint8_t, kMaxBatch> order_;
    std::size_t admitted_ = 0;  // so many items of order_ passed, and hold their cost
};

Batch::Batch(Table& table, std::span<const Request> requests, UnixTime now, Freshness freshness)
    : table_(table), requests_(requests) {
    SLUICE_CHECK(requests.size() <= kMaxBatch);
    Item* item = items_.data();
    for (const Request& request : requests) {
        Entry& entry = table.entry_for(table.key(key_parts(request)), now);
        const Ask ask = ask_of(request);
        entry.note_use(ask.limit, now);
        item->entry = &entry;
        item->attempt = {.at = entry.locate(now), .now = now, .ask = ask, .freshness = freshness};
        item->ahead = 0;
        ++item;
    }
    put_in_order();
}

// The order is that of the entries' addresses: two batches that want the same ones take them in the same order, and
// can't each hold what the other lacks. Requests for one entry keep the order of the batch, so that the later one sees
// the earlier one's cost.
void Batch::put_in_order() {
    for (std::size_t i = 0; i < requests_.size(); ++i) order_[i] = static_cast<std::uint8_t>(i);
    std::sort(order_.data(), order_.data() + requests_.size(), [this](std::uint8_t a, std::uint8_t b) {
        const Entry* const left = items_[a].entry;
        const Entry* const right = items_[b].entry;
        return left != right ? std::less<>{}(left, right) : a < b;
    });
    for (std::size_t i = 1; i < requests_.size(); ++i) {
        const Item& before = items_[order_[i - 1]];
        Item& item = items_[order_[i]];
        if (item.entry == before.entry) item.ahead = before.ahead + before.ask().cost;
    }
}

void Batch::admit_item(Item& item) {
    item.admission = admit(*item.entry, item.attempt);
    note_retries(table_, item.admission);
}

bool Batch::admit_all() {
    for (const std::uint8_t index : order()) {
        Item& item = items_[index];
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
    for (const std::uint8_t index : order().first(admitted_)) {
        const Item& item = items_[index];
        if (item.ask().cost == 0) continue;
        undo(*item.entry, item.admission.at.sequence, item.ask().cost);
    }
    for (const std::uint8_t index : order().subspan(admitted_)) {
        Item& item = items_[index];
        const bool denied_already =
            index == order_[admitted_] && item.admission.outcome == Outcome::kDenied;
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
