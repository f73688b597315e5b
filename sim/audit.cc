#include "sim/audit.h"

#include <algorithm>
#include <utility>

#include "counter/epoch.h"
#include "sim/bounds.h"
#include "sim/naive.h"

namespace sluice::sim {
namespace {

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

}  // namespace

Audit::Audit(Config config,
             Truth& truth,
             const Knowledge& knowledge,
             Verdict& verdict,
             Table& table,
             const Load& load)
    : config_(std::move(config)),
      truth_(truth),
      knowledge_(knowledge),
      verdict_(verdict),
      table_(table),
      load_(load) {}

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
    if (others < cell.heard)
        fail("has heard of " + number(cell.heard) + " spent by its region's other nodes at " +
             cell_text(key, sequence) + ", and holds " + number(others));
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
// not denied within a duration. Where it had heard lately when the window began, in which nobody
// had spent anything then, it may rely on that as long again.
void Audit::check_freshness(const Decided& made, const Seen& seen) {
    if (made.by != By::kHeld) return;
    const Slot& slot = *seen.slot;
    if (made.now < slot.strict_until && !config_.has_steps)
        return fail("passed k" + number(made.key) +
                    " without asking, less than a duration after a denial");
    if (slot.heard_ms < 0)
        return fail("passed k" + number(made.key) +
                    " without asking, though it never heard of the others");
    const Duration oldest = oldest_view(load_.duration);
    const Duration age{made.true_ms - slot.heard_ms};
    const Duration elapsed{seen.elapsed_ms};
    const bool is_fresh =
        age <= oldest || (elapsed < age && elapsed <= oldest && age - elapsed <= oldest);
    if (!is_fresh && !config_.has_steps)
        fail("passed k" + number(made.key) + " without asking, " + std::to_string(age.count()) +
             " ms after it last heard of the others, " + std::to_string(elapsed.count()) +
             " ms into a window");
}

// A pass beyond the limit: of what was granted, the node may lack only what it can't know yet.
void Audit::check_excess(const Decided& made, const Seen& seen, Count ahead) {
    NaiveQuestion question{.current = truth_.total(made.key, seen.sequence) + ahead,
                           .previous = truth_.total(made.key, seen.sequence - 1),
                           .elapsed_ms = seen.elapsed_ms,
                           .duration_ms = load_.duration.count(),
                           .cost = made.cost,
                           .limit = load_.limit};
    if (naive_pass(question) || config_.has_steps) return;
    // What it must know of when it was asked, unless a fault has struck by the time it decided.
    const auto at = [&](Sequence sequence, std::int64_t ms) {
        return knowledge_.of_region({config_.region, config_.serial}, made.key, sequence, ms) +
               knowledge_.of_world(config_.region, made.key, sequence, ms);
    };
    const auto known = [&](Sequence sequence) {
        if (knowledge_.is_forgotten(sequence, made.true_ms)) return told(made.key, sequence);
        return told(made.key, sequence) +
               std::min(at(sequence, made.asked_ms), at(sequence, made.true_ms));
    };
    question.current = known(seen.sequence) + ahead;
    question.previous = known(seen.sequence - 1);
    if (!naive_pass(question))
        fail("passed cost " + number(made.cost) + " at " + cell_text(made.key, seen.sequence) +
             ", though it must know of " + number(question.current) + " spent and " +
             number(question.previous) + " before");
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
    if (made.cost != 0 && load_.keys <= Truth::kMostKeysLogged)
        truth_.grants.add({.key = made.key,
                           .sequence = seen.sequence,
                           .region = config_.region,
                           .node = config_.serial,
                           .cost = made.cost,
                           .at_ms = made.true_ms});
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
        check_freshness(made, *seen);
        check_excess(made, *seen, 0);
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
        if (passed && batch.passed) {
            check_freshness(made[i], *seen);
            check_excess(made[i], *seen, ahead);
        }
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

}  // namespace sluice::sim
