#include "sim/audit.h"

#include <algorithm>
#include <utility>

#include "counter/epoch.h"
#include "sim/bounds.h"

namespace sluice::sim {
namespace {

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

}  // namespace

Audit::Audit(Config config,
             Truth& truth,
             const Expectations& expectations,
             Membership& members,
             FirstFailure& failure,
             Table& table,
             const Load& load)
    : config_(std::move(config)),
      truth_(truth),
      expectations_(expectations),
      members_(members),
      failure_(failure),
      table_(table),
      load_(load) {}

void Audit::fail(const std::string& what) const {
    failure_.report(config_.name + ": " + what);
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

// Starts over when the key has a new entry.
void Audit::track_incarnation(Slot& slot, Incarnation incarnation) {
    if (slot.incarnation == incarnation) return;
    slot.incarnation = incarnation;
    for (const Cell& cell : slot.cells)
        if (cell.admitted != 0) slot.displaced = std::max(slot.displaced, cell.sequence);
    slot.cells = {};
    slot.sent = {};
    slot.strict_until = UnixTime::min();
    slot.was_read = false;
    if (config_.has_far_steps) slot.newest = slot.newest_sent = -1;
}

// Checks what the table holds of a cell against the ground truth. Returns all spend that it knows.
Count Audit::observe_cell(Observation& seen, Sequence sequence) {
    Cell& cell = cell_of(*seen.slot, sequence);
    const bool is_held = seen.entry->admitted(sequence).load().belongs_to(sequence);
    if (cell.sequence != sequence || !is_held) return seen.entry->spent(sequence);
    const Count own = seen.entry->admitted(sequence).of(sequence);
    const Count peers = seen.entry->peers(sequence);
    const Count global = seen.entry->global(sequence);
    const KeyIndex key = seen.slot->key;
    const Count credited = config_.has_duplicates ? 0 : sent_of(*seen.slot, sequence).at_origin;
    const Count granted_to_peers =
        truth_.reserved(key, sequence, config_.region) - std::max(cell.admitted, credited);
    if (peers < cell.peers || global < cell.global)
        fail("a count of other nodes shrank at " + cell_text(key, sequence) + ": " +
             number(cell.peers) + " to " + number(peers) + ", " + number(cell.global) + " to " +
             number(global));
    // An answer finds no place in a ring that has started over, and may leap once more.
    if (peers < cell.read && !config_.has_far_steps)
        fail("has read that its peers spent " + number(cell.read) + " at " +
             cell_text(key, sequence) + ", and holds " + number(peers));
    if (peers > granted_to_peers)
        fail("holds " + number(peers) + " as spent by its peers at " + cell_text(key, sequence) +
             ", which spent or were granted " + number(granted_to_peers));
    const Count foreign =
        truth_.reserved(key, sequence) - truth_.reserved(key, sequence, config_.region);
    if (global > foreign)
        fail("holds " + number(global) + " as spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(foreign));
    cell.peers = peers;
    cell.global = global;
    return own + peers + global;
}

// The window that the decision names, and what the table holds there.
std::optional<Audit::Observation> Audit::observe(const DecisionRecord& record,
                                                 const Decision& decision) {
    const std::int64_t duration = load_.duration.count();
    Observation seen{};
    seen.sequence = decision.reset_at.time_since_epoch().count() / duration - 1;
    const Instant arrived = instant_at(record.now, load_.duration);
    seen.elapsed_ms = arrived.sequence == seen.sequence ? arrived.elapsed.count() : 0;
    seen.entry = find(record.key);
    Slot& slot = slot_of(record.key);
    seen.slot = &slot;
    if (seen.entry == nullptr) {
        fail("decided k" + number(record.key) + " without an entry for it");
        return std::nullopt;
    }
    track_incarnation(slot, seen.entry->incarnation());
    const bool is_old = seen.sequence + 1 < slot.newest && record.by != DecidedBy::kOrigin;
    // A grant to a request that came before the clock stepped back; its key has started over since.
    const bool is_ahead = seen.sequence > seen.entry->high();
    const bool may_be_ahead = config_.has_far_steps && record.by == DecidedBy::kOrigin;
    if (seen.sequence < arrived.sequence || (is_ahead && !may_be_ahead) || is_old) {
        fail("decided at " + cell_text(record.key, seen.sequence) + " at a time in window " +
             std::to_string(arrived.sequence) + ", after one in " + std::to_string(slot.newest));
        return std::nullopt;
    }
    if (!is_ahead) slot.newest = std::max(slot.newest, seen.sequence);
    seen.current = observe_cell(seen, seen.sequence);
    seen.previous = observe_cell(seen, seen.sequence - 1);
    return seen;
}

// A view's age counts from when the origin read the cell, by the node's clock; or from the start of
// the window, if the previous cell was read before that.
Audit::View Audit::view_of(const DecisionRecord& record, const Observation& seen) const {
    if (record.now < seen.slot->strict_until) return View::kNone;
    const Duration error = record.now.time_since_epoch() - Duration{record.arrived_ms};
    const auto viewed = [&](Sequence sequence) {
        const Cell& cell = seen.slot->cells[static_cast<std::size_t>(sequence) % kTrueCells];
        if (cell.sequence != sequence || cell.viewed_ms < 0) return UnixTime::min();
        return UnixTime{Duration{cell.viewed_ms} + error};
    };
    const UnixTime before =
        std::min(viewed(seen.sequence - 1), start_of(seen.sequence, load_.duration));
    const UnixTime newest = std::max(viewed(seen.sequence), before);
    if (newest == UnixTime::min()) return View::kNone;
    return record.now - newest <= oldest_view(load_.duration) ? View::kYoung : View::kOld;
}

// The sharing rule for a pass that the origin did not decide: the node knows how many nodes share
// the limit, and its unsynced spend is below its share with a young view, at most 1 with an old one
// (read in this window or the one before), or within the floor.
// `granted` is what the decision has already entered.
void Audit::check_sharing(const DecisionRecord& record,
                          const Observation& seen,
                          Count ahead,
                          Count granted) {
    if (record.by != DecidedBy::kLocal || record.cost == 0 || config_.has_steps) return;
    const auto fail_pass = [&](const std::string& what) {
        fail("passed cost " + number(record.cost) + " at " + cell_text(record.key, seen.sequence) +
             " locally, " + what);
    };
    if (!seen.slot->was_read) return fail_pass("though it never read the counts of its peers");
    // A process that was just resumed does not know yet how long it was paused.
    constexpr std::int64_t kWakesUp = 50;
    constexpr std::int64_t kStep = 2;
    const bool has_slept = record.true_ms <= resumed_ms_ + kWakesUp;
    const bool may_decide = members_.may_decide(config_.serial, record.true_ms) ||
                            members_.may_decide(config_.serial, record.true_ms - kStep);
    if (!may_decide && !has_slept)
        return fail_pass("though it does not know how many nodes there are");
    const std::uint64_t nodes = std::max<std::uint64_t>(members_.deciding(record.true_ms), 1);
    if (nodes == 1) return;
    const Count counted = seen.current - granted + ahead + record.cost +
                          weighted(seen.previous, Duration{seen.elapsed_ms}, load_.duration);
    const Count remaining = load_.limit - std::min(load_.limit, counted);
    const Count spend = unsynced(seen, ahead + record.cost);
    const View view = view_of(record, seen);
    const bool may_use_share = view == View::kYoung || (view == View::kOld && spend <= 1);
    const bool has_share = may_use_share && (spend + 1) * config_.share_parts * nodes <= remaining;
    const bool has_floor = spend * kAuditedFloorParts * nodes <= load_.limit;
    if (!has_share && !has_floor)
        fail_pass("with " + number(spend) + " unsynced, " + number(remaining) + " left, " +
                  number(nodes) + " nodes and " +
                  (view == View::kYoung ? "a young"
                   : view == View::kOld ? "an old"
                                        : "no") +
                  " view");
}

// Without a fault, the nodes of a region together admit at most an eighth beyond the limit. Excess
// that a fault excused earlier is subtracted.
void Audit::check_excess(const DecisionRecord& record,
                         const Observation& seen,
                         Count ahead,
                         std::size_t requests) {
    if (record.cost == 0 || config_.has_steps) return;
    const auto region = [&](Sequence sequence) {
        if (expectations_.is_forgotten(sequence, record.true_ms)) return Count{0};
        return truth_.of_region(record.key, sequence, config_.region);
    };
    // A call of the next window may overtake one at the end of this window, which the origin has
    // not granted yet.
    const auto previous = [&] {
        const Count all = region(seen.sequence - 1);
        if (record.by != DecidedBy::kOrigin || load_.keys > Truth::kMostKeysLogged) return all;
        return std::min(all,
                        truth_.grants.sum({.key = record.key,
                                           .sequence = seen.sequence - 1,
                                           .region = config_.region,
                                           .by_ms = record.arrived_ms}));
    };
    // A request that waited competes with later ones that were granted meanwhile.
    const std::int64_t waited_ms = record.true_ms - record.arrived_ms;
    const std::int64_t duration = load_.duration.count();
    NaiveInput input{.current = region(seen.sequence) + ahead,
                     .previous = previous(),
                     .elapsed_ms = std::min(seen.elapsed_ms + waited_ms, duration),
                     .duration_ms = duration,
                     .cost = record.cost,
                     .limit = load_.limit};
    // A batch is decided locally after its keys were read; the origin may grant more before it
    // receives the batch's cost.
    const bool is_batch = requests > 1 && record.by == DecidedBy::kLocalAfterWait;
    if (is_batch) truth_.excuse(record.key, seen.sequence, config_.region, record.cost);
    if (is_batch || naive_pass(input)) return;
    const bool has_origin =
        record.by == DecidedBy::kLocal || record.by == DecidedBy::kOrigin ||
        (record.by == DecidedBy::kLocalAfterWait && seen.slot->answered_ms == record.true_ms);
    const bool is_quiet =
        expectations_.is_quiet(config_.region, record.arrived_ms, record.true_ms) &&
        truth_.lost(record.key, seen.sequence, config_.region) != Truth::Lost::kToRegion &&
        truth_.lost(record.key, seen.sequence - 1, config_.region) != Truth::Lost::kToRegion;
    if (is_quiet && record.by == DecidedBy::kFallback)
        return fail(
            "passed cost " + number(record.cost) + " at " + cell_text(record.key, seen.sequence) +
            " beyond the limit by local counts, though nothing kept its origin from deciding");
    if (!is_quiet || !has_origin)
        return truth_.excuse(record.key, seen.sequence, config_.region, record.cost);
    input.limit += most_excess(load_.limit, config_.share_parts) +
                   truth_.excused(record.key, seen.sequence, config_.region) +
                   truth_.excused(record.key, seen.sequence - 1, config_.region) +
                   expectations_.skewed(input.previous);
    if (!naive_pass(input))
        fail("passed cost " + number(record.cost) + " at " + cell_text(record.key, seen.sequence) +
             ", of which its region has admitted " + number(input.current) + " and " +
             number(input.previous) + " before, with a limit of " + number(load_.limit));
}

// The node's own admissions plus the foreign spend that it must know stay within the limit.
void Audit::check_known(const DecisionRecord& record, const Observation& seen, Count ahead) {
    if (record.by == DecidedBy::kOrigin || config_.has_steps) return;
    // What it must know on arrival, unless a fault began before the decision.
    const auto known = [&](Sequence sequence) {
        const auto foreign_count = [&](std::int64_t ms) {
            return expectations_.foreign_count(config_.region, record.key, sequence, ms);
        };
        return admitted(record.key, sequence) +
               std::min(foreign_count(record.arrived_ms), foreign_count(record.true_ms));
    };
    const NaiveInput input{.current = known(seen.sequence) + ahead,
                           .previous = known(seen.sequence - 1),
                           .elapsed_ms = seen.elapsed_ms,
                           .duration_ms = load_.duration.count(),
                           .cost = record.cost,
                           .limit = load_.limit};
    if (!naive_pass(input))
        fail("passed cost " + number(record.cost) + " at " + cell_text(record.key, seen.sequence) +
             ", though it must know of " + number(input.current) + " spent and " +
             number(input.previous) + " before");
}

// Records how much of the limit a pass used, by everything that was admitted.
void Audit::note_effective(const DecisionRecord& record, const Observation& seen) {
    if (record.cost == 0 || load_.limit == 0) return;
    const Wide duration = static_cast<std::uint64_t>(load_.duration.count());
    const Wide weight = static_cast<std::uint64_t>(load_.duration.count() - seen.elapsed_ms);
    const Wide sum = truth_.total(record.key, seen.sequence) * duration +
                     truth_.total(record.key, seen.sequence - 1) * weight;
    truth_.note_effective(static_cast<Permille>(sum * 1'000 / (duration * load_.limit)));
}

// A denial must follow from what was admitted or granted, not from spend that never happened.
void Audit::check_denial(const DecisionRecord& record, const Observation& seen, Count ahead) {
    const std::int64_t duration = load_.duration.count();
    const NaiveInput by_truth{.current = truth_.reserved(record.key, seen.sequence) + ahead,
                              .previous = truth_.reserved(record.key, seen.sequence - 1),
                              .elapsed_ms = seen.elapsed_ms,
                              .duration_ms = duration,
                              .cost = record.cost,
                              .limit = load_.limit};
    if (naive_pass(by_truth) && !config_.has_steps)
        fail("denied k" + number(record.key) + ", which everything granted so far would let pass");
    const Sequence sequence = record.arrived_ms / duration;
    const NaiveInput by_true_time{.current = truth_.reserved(record.key, sequence) + ahead,
                                  .previous = truth_.reserved(record.key, sequence - 1),
                                  .elapsed_ms = record.arrived_ms % duration,
                                  .duration_ms = duration,
                                  .cost = record.cost,
                                  .limit = load_.limit};
    const bool is_false = naive_pass(by_true_time);
    ++(is_false ? totals_.false_denials : totals_.true_denials);
    if (is_false && expectations_.has_recovered_clock(right_since_ms_, record.arrived_ms))
        fail("denied k" + number(record.key) +
             ", which everything granted so far would let pass, two windows after its clock was "
             "right again");
}

void Audit::grant(const DecisionRecord& record, Observation& seen) {
    Cell& cell = cell_of(*seen.slot, seen.sequence);
    // A grant to an entry that was evicted meanwhile stays in the component of that entry.
    const bool is_displaced =
        record.by == DecidedBy::kOrigin && seen.slot->spent_as != seen.slot->incarnation;
    if (cell.sequence == seen.sequence && !is_displaced) {
        cell.admitted += record.cost;
        const Slot& slot = *seen.slot;
        if (seen.sequence < std::max(slot.newest, slot.newest_sent)) cell.late += record.cost;
        Sent& sent = sent_of(*seen.slot, seen.sequence);
        if (sent.sequence == seen.sequence) update_credit(record.key, cell, sent);
    }
    truth_.admit(record.key, seen.sequence, config_.region, record.cost, record.true_ms);
    if (record.cost != 0 && load_.keys <= Truth::kMostKeysLogged)
        truth_.grants.add({.key = record.key,
                           .sequence = seen.sequence,
                           .region = config_.region,
                           .node = config_.serial,
                           .cost = record.cost,
                           .at_ms = record.true_ms});
    note_effective(record, seen);
    ++totals_.passed;
}

void Audit::count(const DecisionRecord& record) {
    ++totals_.decisions;
    totals_.waits += record.has_waited ? 1U : 0U;
    totals_.fallbacks += record.by == DecidedBy::kFallback ? 1U : 0U;
    const bool is_alone =
        record.by == DecidedBy::kFallback || record.by == DecidedBy::kLocalUnavailable;
    if (is_alone && expectations_.is_quiet(config_.region, record.arrived_ms, record.true_ms) &&
        record.true_ms > config_.started_ms + kConnects.count())
        fail("decided k" + number(record.key) + " locally though its origin works");
}

void Audit::decided(const DecisionRecord& record, const Decision& decision) {
    count(record);
    const EpochPin pin;
    auto seen = observe(record, decision);
    if (!seen) return;
    const Sequence sequence = seen->sequence;
    const Count granted = decision.passed ? record.cost : 0;
    truth_.demand(record.key, sequence, record.cost);
    const NaiveInput input{.current = seen->current - granted,
                           .previous = seen->previous,
                           .elapsed_ms = seen->elapsed_ms,
                           .duration_ms = load_.duration.count(),
                           .cost = record.cost,
                           .limit = load_.limit};
    // The origin decided a grant, from its own counts.
    if (naive_pass(input) != decision.passed && record.by != DecidedBy::kOrigin)
        return fail(std::string(decision.passed ? "passed" : "denied") + " cost " +
                    number(record.cost) + " at " + cell_text(record.key, sequence) + ", " +
                    std::to_string(seen->elapsed_ms) + " ms in, knowing of " +
                    number(input.current) + " spent and " + number(input.previous) +
                    " before, with a limit of " + number(load_.limit));
    if (decision.passed) {
        check_sharing(record, *seen, 0, granted);
        check_excess(record, *seen, 0, 1);
        check_known(record, *seen, 0);
        grant(record, *seen);
    } else {
        check_denial(record, *seen, 0);
        if (record.cost <= load_.limit)
            seen->slot->strict_until =
                std::max(seen->slot->strict_until, record.now + load_.duration);
    }
    check_own(*seen);
}

// The entry holds exactly what was admitted in it.
void Audit::check_own(const Observation& seen) {
    const Cell& cell = cell_of(*seen.slot, seen.sequence);
    const LapCount held = seen.entry->admitted(seen.sequence).load();
    if (cell.sequence != seen.sequence || !held.belongs_to(seen.sequence)) return;
    if (held.count() != cell.admitted)
        fail("admitted " + number(cell.admitted) + " at " +
             cell_text(seen.slot->key, seen.sequence) + " and holds " + number(held.count()));
}

void Audit::decided(std::span<const DecisionRecord> records, const BatchDecision& batch) {
    const EpochPin pin;
    bool all = true;
    for (std::size_t i = 0; i < records.size(); ++i) {
        count(records[i]);
        const auto seen = observe(records[i], batch.decisions[i]);
        if (!seen) return;
        truth_.demand(records[i].key, seen->sequence, records[i].cost);
        Count ahead = 0;
        Count granted = 0;
        for (std::size_t j = 0; j < records.size(); ++j) {
            if (records[j].key != records[i].key) continue;
            granted += batch.passed ? records[j].cost : 0;
            ahead += j < i ? records[j].cost : 0;
        }
        const NaiveInput input{.current = seen->current - granted + ahead,
                               .previous = seen->previous,
                               .elapsed_ms = seen->elapsed_ms,
                               .duration_ms = load_.duration.count(),
                               .cost = records[i].cost,
                               .limit = load_.limit};
        const bool passed = batch.decisions[i].passed;
        all &= passed;
        if (naive_pass(input) != passed)
            return fail("a batch " + std::string(passed ? "passed" : "denied") + " cost " +
                        number(records[i].cost) + " at " +
                        cell_text(records[i].key, seen->sequence) + ", knowing of " +
                        number(input.current) + " spent and " + number(input.previous) + " before");
        if (passed && batch.passed) {
            check_sharing(records[i], *seen, ahead, granted);
            check_excess(records[i], *seen, ahead, records.size());
            check_known(records[i], *seen, ahead);
        }
        if (!passed) {
            check_denial(records[i], *seen, ahead);
            if (ahead + records[i].cost <= load_.limit)
                seen->slot->strict_until =
                    std::max(seen->slot->strict_until, records[i].now + load_.duration);
        }
    }
    if (all != batch.passed)
        return fail(
            "a batch passed though one of its requests did not, or failed though all passed");
    for (std::size_t i = 0; i < records.size(); ++i) {
        Observation seen = *observe(records[i], batch.decisions[i]);
        if (batch.passed) grant(records[i], seen);
    }
    for (std::size_t i = 0; i < records.size(); ++i)
        check_own(*observe(records[i], batch.decisions[i]));
}

}  // namespace sluice::sim
