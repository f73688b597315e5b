#include "sim/audit.h"

#include <algorithm>
#include <utility>

#include "counter/epoch.h"
#include "decide/trust.h"
#include "sim/naive.h"

namespace sluice::sim {
namespace {

// The oldest count that may admit a request: one that was fresh at the beginning of a window serves
// as long again.
constexpr std::int64_t kOldest = 2 * kFreshness.count();

// What the store has acknowledged is published again on one tick in twelve at most, or after the
// connection was lost. Twelve ticks take at least 118 seconds; calls may overtake each other.
constexpr std::int64_t kLeastBetweenRepeats = 100'000;

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

}  // namespace

Audit::Audit(Config config, Truth& truth, Verdict& verdict, Table& table, const Load& load)
    : config_(std::move(config)), truth_(truth), verdict_(verdict), table_(table), load_(load) {}

void Audit::fail(const std::string& what) const {
    verdict_.fail(config_.name + ": " + what);
}

std::string Audit::cell_text(KeyIndex key, Sequence sequence) const {
    return "k" + number(key) + " in window " + std::to_string(sequence);
}

Audit::Slot& Audit::slot_of(KeyIndex key) {
    if (key >= places_.size()) places_.resize(std::max<std::size_t>(key + 1, truth_.keys()));
    if (places_[key] == 0) {
        slots_.emplace_back().key = key;
        places_[key] = static_cast<std::uint32_t>(slots_.size());
    }
    return slots_[places_[key] - 1];
}

Audit::Cell& Audit::cell_of(Slot& slot, Sequence sequence) {
    Cell& cell = slot.cells[static_cast<std::size_t>(sequence) % kTrueCells];
    if (cell.sequence < sequence) cell = {.sequence = sequence};
    return cell;
}

Audit::Sent& Audit::sent_of(Slot& slot, Sequence sequence) {
    Sent& sent = slot.sent[static_cast<std::size_t>(sequence) % kTrueCells];
    if (sent.sequence < sequence) sent = {.sequence = sequence};
    return sent;
}

// Holds what the table has of a cell against what may be true, and returns all that it knows to be
// spent.
Count Audit::look_at_cell(Seen& seen, Sequence sequence) {
    Cell& cell = cell_of(*seen.slot, sequence);
    if (cell.sequence != sequence) return seen.entry->spent(sequence);
    const Count own = seen.entry->admitted(sequence).of(sequence);
    const Count others = seen.entry->others(sequence);
    const Count global = seen.entry->global(sequence);
    const KeyIndex key = seen.slot->key;
    const Count region = truth_.of_region(key, sequence, config_.region);
    if (others < cell.others || global < cell.global)
        fail("a count of others shrank at " + cell_text(key, sequence) + ": " +
             number(cell.others) + " to " + number(others) + ", " + number(cell.global) + " to " +
             number(global));
    if (others > region - cell.told)
        fail("holds " + number(others) + " as spent by its region's other nodes at " +
             cell_text(key, sequence) + ", who spent " + number(region - cell.told));
    const Count foreign = truth_.total(key, sequence) - region;
    if (global > foreign)
        fail("holds " + number(global) + " as spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(foreign));
    cell.others = others;
    cell.global = global;
    return own + others + global;
}

// Where the decision says that it was made, and what the table holds there.
std::optional<Audit::Seen> Audit::look(const Decided& made, const Decision& decision) {
    const std::int64_t duration = load_.duration.count();
    Seen seen{};
    seen.sequence = decision.reset_at.time_since_epoch().count() / duration - 1;
    const Instant asked = instant_at(made.now, load_.duration);
    seen.elapsed_ms = asked.sequence == seen.sequence ? asked.elapsed.count() : 0;
    seen.entry = table_.find(table_.key(truth_.request(made.key, 0)));
    Slot& slot = slot_of(made.key);
    seen.slot = &slot;
    if (seen.entry == nullptr) {
        fail("decided k" + number(made.key) + " and holds no entry for it");
        return std::nullopt;
    }
    if (slot.incarnation != seen.entry->incarnation()) {
        slot.incarnation = seen.entry->incarnation();
        for (const Cell& cell : slot.cells)
            if (cell.told != 0) slot.displaced = std::max(slot.displaced, cell.sequence);
        slot.cells = {};
        slot.sent = {};
        slot.strict_until = UnixTime::min();
    }
    if (seen.sequence < asked.sequence || seen.sequence > seen.entry->high() ||
        seen.sequence + 1 < slot.newest) {
        fail("decided at " + cell_text(made.key, seen.sequence) + " at a time in window " +
             std::to_string(asked.sequence) + ", after one in " + std::to_string(slot.newest));
        return std::nullopt;
    }
    slot.newest = std::max(slot.newest, seen.sequence);
    seen.current = look_at_cell(seen, seen.sequence);
    seen.previous = look_at_cell(seen, seen.sequence - 1);
    return seen;
}

// A pass at once, while there is an origin to ask: the node has heard of the others lately, and was
// not denied within a duration.
void Audit::check_freshness(const Decided& made, const Slot& slot) {
    if (made.by != By::kHeld) return;
    if (made.now < slot.strict_until && !config_.has_steps)
        return fail("passed k" + number(made.key) +
                    " without asking, less than a duration after a denial");
    if (slot.heard_ms < 0 || made.true_ms - slot.heard_ms > kOldest + config_.clock_slack_ms)
        fail("passed k" + number(made.key) + " without asking, " +
             (slot.heard_ms < 0 ? std::string("though it never heard of the others")
                                : number(static_cast<std::uint64_t>(made.true_ms - slot.heard_ms)) +
                                      " ms after it last heard of the others"));
}

// What everybody knows together denies the same: nobody is denied for what was not spent.
void Audit::check_denial(const Decided& made, const Seen& seen, Count ahead) {
    const std::int64_t duration = load_.duration.count();
    const NaiveQuestion by_truth{.current = truth_.total(made.key, seen.sequence) + ahead,
                                 .previous = truth_.total(made.key, seen.sequence - 1),
                                 .elapsed_ms = seen.elapsed_ms,
                                 .duration_ms = duration,
                                 .cost = made.cost,
                                 .limit = load_.limit};
    if (naive_pass(by_truth) && !config_.has_steps)
        fail("denied k" + number(made.key) + ", which all that was granted would let pass");
    const Sequence sequence = made.asked_ms / duration;
    const NaiveQuestion by_right_time{.current = truth_.total(made.key, sequence) + ahead,
                                      .previous = truth_.total(made.key, sequence - 1),
                                      .elapsed_ms = made.asked_ms % duration,
                                      .duration_ms = duration,
                                      .cost = made.cost,
                                      .limit = load_.limit};
    ++(naive_pass(by_right_time) ? totals_.false_denials : totals_.true_denials);
}

void Audit::grant(const Decided& made, Seen& seen) {
    Cell& cell = cell_of(*seen.slot, seen.sequence);
    if (cell.sequence == seen.sequence) cell.told += made.cost;
    truth_.admit(made.key, seen.sequence, config_.region, made.cost, made.true_ms);
    ++totals_.passed;
}

void Audit::decided(const Decided& made, const Decision& decision) {
    ++totals_.decisions;
    totals_.asked += made.by == By::kFresh ? 1U : 0U;
    totals_.fallbacks += made.by == By::kFallback ? 1U : 0U;
    const EpochPin pin;
    auto seen = look(made, decision);
    if (!seen) return;
    const Sequence sequence = seen->sequence;
    const Count granted = decision.passed ? made.cost : 0;
    truth_.want(made.key, sequence, made.cost);
    const NaiveQuestion question{.current = seen->current - granted,
                                 .previous = seen->previous,
                                 .elapsed_ms = seen->elapsed_ms,
                                 .duration_ms = load_.duration.count(),
                                 .cost = made.cost,
                                 .limit = load_.limit};
    if (naive_pass(question) != decision.passed)
        return fail(std::string(decision.passed ? "passed" : "denied") + " cost " +
                    number(made.cost) + " at " + cell_text(made.key, sequence) + ", " +
                    std::to_string(seen->elapsed_ms) + " ms in, knowing of " +
                    number(question.current) + " spent and " + number(question.previous) +
                    " before, with a limit of " + number(load_.limit));
    if (decision.passed) {
        check_freshness(made, *seen->slot);
        grant(made, *seen);
    } else {
        check_denial(made, *seen, 0);
        if (made.cost <= load_.limit)
            seen->slot->strict_until =
                std::max(seen->slot->strict_until, made.now + load_.duration);
    }
    const Count own = seen->entry->admitted(sequence).of(sequence);
    if (const Cell& cell = cell_of(*seen->slot, sequence);
        cell.sequence == sequence && own != cell.told)
        fail("granted " + number(cell.told) + " at " + cell_text(made.key, sequence) +
             " and holds " + number(own));
}

void Audit::decided(std::span<const Decided> made, const BatchDecision& batch) {
    const EpochPin pin;
    bool all = true;
    for (std::size_t i = 0; i < made.size(); ++i) {
        ++totals_.decisions;
        totals_.asked += made[i].by == By::kFresh ? 1U : 0U;
        totals_.fallbacks += made[i].by == By::kFallback ? 1U : 0U;
        const auto seen = look(made[i], batch.decisions[i]);
        if (!seen) return;
        truth_.want(made[i].key, seen->sequence, made[i].cost);
        Count ahead = 0;
        Count granted = 0;
        for (std::size_t j = 0; j < made.size(); ++j) {
            if (made[j].key != made[i].key) continue;
            granted += batch.passed ? made[j].cost : 0;
            ahead += j < i ? made[j].cost : 0;
        }
        const NaiveQuestion question{.current = seen->current - granted + ahead,
                                     .previous = seen->previous,
                                     .elapsed_ms = seen->elapsed_ms,
                                     .duration_ms = load_.duration.count(),
                                     .cost = made[i].cost,
                                     .limit = load_.limit};
        const bool passed = batch.decisions[i].passed;
        all &= passed;
        if (naive_pass(question) != passed)
            return fail("a batch " + std::string(passed ? "passed" : "denied") + " cost " +
                        number(made[i].cost) + " at " + cell_text(made[i].key, seen->sequence) +
                        ", knowing of " + number(question.current) + " spent and " +
                        number(question.previous) + " before");
        if (passed && batch.passed) check_freshness(made[i], *seen->slot);
        if (!passed) {
            check_denial(made[i], *seen, ahead);
            if (ahead + made[i].cost <= load_.limit)
                seen->slot->strict_until =
                    std::max(seen->slot->strict_until, made[i].now + load_.duration);
        }
    }
    if (all != batch.passed)
        return fail(
            "a batch passed though one of its requests did not, or failed though all passed");
    for (std::size_t i = 0; i < made.size(); ++i) {
        Seen seen = *look(made[i], batch.decisions[i]);
        if (batch.passed) grant(made[i], seen);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
        Seen seen = *look(made[i], batch.decisions[i]);
        const Cell& cell = cell_of(*seen.slot, seen.sequence);
        const Count own = seen.entry->admitted(seen.sequence).of(seen.sequence);
        if (cell.sequence == seen.sequence && own != cell.told)
            return fail("after a batch it has granted " + number(cell.told) + " at " +
                        cell_text(made[i].key, seen.sequence) + " and holds " + number(own));
    }
}

void Audit::telling(std::span<const CellComponent> components) {
    for (const CellComponent& component : components) {
        if (component.cell.workspace != "sim") continue;
        const KeyIndex key = key_of(component.cell.identifier);
        Slot& slot = slot_of(key);
        if (component.lifetime <= Duration::zero() || component.lifetime > 4 * load_.duration)
            fail("tells of a cell that lives for " + std::to_string(component.lifetime.count()) +
                 " ms");
        if (slot.incarnation != component.incarnation) continue;
        Cell& cell = cell_of(slot, component.cell.sequence);
        if (cell.sequence != component.cell.sequence) continue;
        if (component.own > cell.told)
            fail("tells its origin " + number(component.own) + " of " +
                 cell_text(key, cell.sequence) + ", and has granted " + number(cell.told));
        Sent& sent = sent_of(slot, cell.sequence);
        if (component.own < sent.component)
            fail("tells its origin " + number(component.own) + " of " +
                 cell_text(key, cell.sequence) + " after " + number(sent.component));
        sent.component = std::max(sent.component, component.own);
    }
}

void Audit::heard(KeyIndex key, std::int64_t true_ms) {
    slot_of(key).heard_ms = true_ms;
}

void Audit::publishing(const CellName& name, Count count, std::int64_t true_ms) {
    const KeyIndex key = key_of(name.identifier);
    const Count region = truth_.of_region(key, name.sequence, config_.region);
    if (count > region)
        fail("publishes " + number(count) + " for " + cell_text(key, name.sequence) +
             ", where its region spent " + number(region));
    Sent& cell = sent_of(slot_of(key), name.sequence);
    if (cell.sequence != name.sequence) return;
    if (count < cell.row && load_.churn == 0 && slot_of(key).incarnation == 0)
        fail("publishes " + number(count) + " for " + cell_text(key, name.sequence) + " after " +
             number(cell.row));
    const bool is_repeated_early =
        cell.repeated_ms >= 0 && true_ms < cell.repeated_ms + kLeastBetweenRepeats;
    if (count <= cell.acked && count != 0 && is_repeated_early && !config_.has_steps)
        fail("publishes " + number(count) + " for " + cell_text(key, name.sequence) +
             " again and again though the store has said that it holds " + number(cell.acked));
    cell.row = std::max(cell.row, count);
}

void Audit::published(const CellName& name, Count count, std::int64_t true_ms) {
    Sent& cell = sent_of(slot_of(key_of(name.identifier)), name.sequence);
    if (cell.sequence != name.sequence) return;
    if (count <= cell.acked) cell.repeated_ms = true_ms;
    cell.acked = std::max(cell.acked, count);
}

void Audit::lost_store() {
    for (Slot& slot : slots_) {
        for (Sent& sent : slot.sent) {
            sent.acked = 0;
            sent.repeated_ms = -1;
        }
    }
}

bool Audit::holds(KeyIndex key) {
    const EpochPin pin;
    return table_.find(table_.key(truth_.request(key, 0))) != nullptr;
}

void Audit::check_converged(KeyIndex key, Sequence sequence, const Expected& expected) {
    const EpochPin pin;
    const Entry* const entry = table_.find(table_.key(truth_.request(key, 0)));
    if (entry == nullptr || sequence < entry->high() - 2 || sequence > entry->high() + 1) return;
    const Count region = truth_.of_region(key, sequence, config_.region);
    const Count regional = entry->admitted(sequence).of(sequence) + entry->others(sequence);
    // A node asks for the window that its clock says, and the one before.
    const Sequence today = instant_at(expected.node_time, load_.duration).sequence;
    const bool is_lossy = truth_.lost(key, sequence, config_.region) == Truth::Lost::kToRegion ||
                          has_displaced() || sequence > today || sequence < today - 1;
    if (regional > region || (regional < region && !is_lossy))
        fail("after all faults it takes " + number(regional) + " to be spent by its region at " +
             cell_text(key, sequence) + ", which spent " + number(region));
    const Count foreign = truth_.total(key, sequence) - region;
    // What was displaced is heard of at the next full import.
    bool may_lack = !expected.is_shared_widely || expected.may_be_unpublished || has_displaced();
    for (std::uint32_t other = 0; other < truth_.regions(); ++other)
        may_lack |=
            other != config_.region && truth_.lost(key, sequence, other) != Truth::Lost::kNothing;
    const Count global = entry->global(sequence);
    if (global > foreign || (global < foreign && !may_lack))
        fail("after all faults it takes " + number(global) + " to be spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(foreign));
}

bool Audit::has_displaced() const {
    return table_.tally().evicted.load(std::memory_order_relaxed) != 0;
}

bool Audit::has_displaced(KeyIndex key, Sequence sequence) const {
    if (key >= places_.size() || places_[key] == 0) return false;
    const Slot& slot = slots_[places_[key] - 1];
    if (sequence <= slot.displaced) return true;
    const EpochPin pin;
    const Entry* const entry = table_.find(table_.key(truth_.request(key, 0)));
    return told(key, sequence) != 0 &&
           (entry == nullptr || !entry->stays() || entry->incarnation() != slot.incarnation);
}

Count Audit::regional(KeyIndex key, Sequence sequence) const {
    const EpochPin pin;
    const Entry* const entry = table_.find(table_.key(truth_.request(key, 0)));
    if (entry == nullptr || !entry->stays()) return 0;
    return entry->admitted(sequence).of(sequence) + entry->others(sequence);
}

bool Audit::has_dropped() const {
    return table_.tally().evicted_untold.load(std::memory_order_relaxed) != 0;
}

Count Audit::told(KeyIndex key, Sequence sequence) const {
    if (key >= places_.size() || places_[key] == 0) return 0;
    const Cell& cell =
        slots_[places_[key] - 1].cells[static_cast<std::size_t>(sequence) % kTrueCells];
    return cell.sequence == sequence ? cell.told : 0;
}

void Audit::each_told(
    const std::function<void(KeyIndex, Sequence, Count, std::uint32_t)>& visit) const {
    for (const Slot& slot : slots_)
        for (const Cell& cell : slot.cells)
            if (cell.told != 0) visit(slot.key, cell.sequence, cell.told, slot.incarnation);
}

}  // namespace sluice::sim
