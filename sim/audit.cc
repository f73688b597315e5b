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
             Membership& members,
             Verdict& verdict,
             Table& table,
             const Load& load)
    : config_(std::move(config)),
      truth_(truth),
      knowledge_(knowledge),
      members_(members),
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

// What is known from here on is of another entry for the key.
void Audit::meet(Slot& slot, Incarnation incarnation) {
    if (slot.incarnation == incarnation) return;
    slot.incarnation = incarnation;
    for (const Cell& cell : slot.cells)
        if (cell.admitted != 0) slot.displaced = std::max(slot.displaced, cell.sequence);
    slot.cells = {};
    slot.sent = {};
    slot.strict_until = UnixTime::min();
    slot.was_read = false;
}

// Holds what the table has of a cell against what may be true, and returns all that it knows to be
// spent.
Count Audit::look_at_cell(Seen& seen, Sequence sequence) {
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
        fail("a count of peers shrank at " + cell_text(key, sequence) + ": " + number(cell.peers) +
             " to " + number(peers) + ", " + number(cell.global) + " to " + number(global));
    if (peers < cell.read)
        fail("has read that its region's other nodes spent " + number(cell.read) + " at " +
             cell_text(key, sequence) + ", and holds " + number(peers));
    if (peers > granted_to_peers)
        fail("holds " + number(peers) + " as spent by its region's other nodes at " +
             cell_text(key, sequence) + ", who spent or were granted " + number(granted_to_peers));
    const Count foreign =
        truth_.reserved(key, sequence) - truth_.reserved(key, sequence, config_.region);
    if (global > foreign)
        fail("holds " + number(global) + " as spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(foreign));
    cell.peers = peers;
    cell.global = global;
    return own + peers + global;
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
    meet(slot, seen.entry->incarnation());
    const bool is_old = seen.sequence + 1 < slot.newest && made.by != By::kGranted;
    if (seen.sequence < asked.sequence || seen.sequence > seen.entry->high() || is_old) {
        fail("decided at " + cell_text(made.key, seen.sequence) + " at a time in window " +
             std::to_string(asked.sequence) + ", after one in " + std::to_string(slot.newest));
        return std::nullopt;
    }
    slot.newest = std::max(slot.newest, seen.sequence);
    seen.current = look_at_cell(seen, seen.sequence);
    seen.previous = look_at_cell(seen, seen.sequence - 1);
    return seen;
}

// By the node's own clock: the view is as of the moment when the origin read the cell; of a window
// that had not begun when the one before was read, as of its beginning.
bool Audit::is_young(const Decided& made, const Seen& seen) const {
    if (made.now < seen.slot->strict_until) return false;
    const Duration error = made.now.time_since_epoch() - Duration{made.asked_ms};
    const auto viewed = [&](Sequence sequence) {
        const Cell& cell = seen.slot->cells[static_cast<std::size_t>(sequence) % kTrueCells];
        if (cell.sequence != sequence || cell.viewed_ms < 0) return UnixTime::min();
        return UnixTime{Duration{cell.viewed_ms} + error};
    };
    const UnixTime before =
        std::min(viewed(seen.sequence - 1), start_of(seen.sequence, load_.duration));
    const UnixTime newest = std::max(viewed(seen.sequence), before);
    return newest != UnixTime::min() && made.now - newest <= oldest_view(load_.duration);
}

// What the origin has not acknowledged of the two cells, with `cost` more. Leaves out what was
// entered in a window after the node had begun to sync the next one, because its answer was late: a
// node takes the previous cell to be synced when the current one is.
Count Audit::unsynced(const Seen& seen, Count cost) const {
    const auto of = [&](Sequence sequence, Count more) {
        const Cell& cell = seen.slot->cells[static_cast<std::size_t>(sequence) % kTrueCells];
        if (cell.sequence != sequence) return more;
        const Count admitted = cell.admitted + more;
        const Count unsynced = admitted - std::min(admitted, cell.acked);
        return unsynced - std::min(unsynced, cell.late);
    };
    return of(seen.sequence, cost) + of(seen.sequence - 1, 0);
}

// The rule for a pass that the origin did not decide: a node that knows how many share the limit
// has, with a young view, less unsynced than a share of what is left; else the floor. `granted` is
// what the decision has entered already.
void Audit::check_sharing(const Decided& made, const Seen& seen, Count ahead, Count granted) {
    if (made.by != By::kHeld || made.cost == 0 || config_.has_steps) return;
    const auto complain = [&](const std::string& what) {
        fail("passed cost " + number(made.cost) + " at " + cell_text(made.key, seen.sequence) +
             " by itself, " + what);
    };
    if (!seen.slot->was_read) return complain("though it never read the others' counts");
    // A process that has just been resumed does not know yet how long it slept.
    constexpr std::int64_t kWakesUp = 50;
    constexpr std::int64_t kStep = 2;
    const bool has_slept = made.true_ms <= resumed_ms_ + kWakesUp;
    const bool may_decide = members_.may_decide(config_.serial, made.true_ms) ||
                            members_.may_decide(config_.serial, made.true_ms - kStep);
    if (!may_decide && !has_slept)
        return complain("though it does not know how many nodes there are");
    const std::uint64_t nodes = std::max<std::uint64_t>(members_.deciding(made.true_ms), 1);
    if (nodes == 1) return;
    const Count counted = seen.current - granted + ahead + made.cost +
                          weighted(seen.previous, Duration{seen.elapsed_ms}, load_.duration);
    const Count remaining = load_.limit - std::min(load_.limit, counted);
    const Count spend = unsynced(seen, ahead + made.cost);
    const bool has_share =
        is_young(made, seen) && (spend + 1) * config_.share_parts * nodes <= remaining;
    const bool has_floor = spend * kAuditedFloorParts * nodes <= load_.limit;
    if (!has_share && !has_floor)
        complain("with " + number(spend) + " unsynced, " + number(remaining) + " left, " +
                 number(nodes) + " nodes and " + (is_young(made, seen) ? "a young" : "an old") +
                 " view");
}

// While its region is quiet, all nodes of it together admit no more than an eighth beyond the
// limit. What they admitted beyond it at another time still counts, and is left out.
void Audit::check_excess(const Decided& made, const Seen& seen, Count ahead, std::size_t requests) {
    if (made.cost == 0 || config_.has_steps) return;
    const auto region = [&](Sequence sequence) {
        if (knowledge_.is_forgotten(sequence, made.true_ms)) return Count{0};
        return truth_.of_region(made.key, sequence, config_.region);
    };
    // At the end of a window a call of the next one may overtake: the origin has not granted the
    // other one yet.
    const auto previous = [&] {
        const Count all = region(seen.sequence - 1);
        if (made.by != By::kGranted || load_.keys > Truth::kMostKeysLogged) return all;
        return std::min(all,
                        truth_.grants.sum({.key = made.key,
                                           .sequence = seen.sequence - 1,
                                           .region = config_.region,
                                           .by_ms = made.asked_ms}));
    };
    // A request that waited is weighed against what was granted to later ones meanwhile.
    const std::int64_t waited_ms = made.true_ms - made.asked_ms;
    const std::int64_t duration = load_.duration.count();
    NaiveQuestion question{.current = region(seen.sequence) + ahead,
                           .previous = previous(),
                           .elapsed_ms = std::min(seen.elapsed_ms + waited_ms, duration),
                           .duration_ms = duration,
                           .cost = made.cost,
                           .limit = load_.limit};
    // Batches are decided by their nodes after their keys were read, and may not be at the origin
    // while that grants more.
    const bool is_batch = requests > 1 && made.by == By::kWaited;
    if (is_batch) truth_.excuse(made.key, seen.sequence, config_.region, made.cost);
    if (is_batch || naive_pass(question)) return;
    const bool has_origin = made.by == By::kHeld || made.by == By::kGranted ||
                            (made.by == By::kWaited && seen.slot->answered_ms == made.true_ms);
    const bool is_quiet =
        knowledge_.is_quiet(config_.region, made.asked_ms, made.true_ms) &&
        truth_.lost(made.key, seen.sequence, config_.region) != Truth::Lost::kToRegion &&
        truth_.lost(made.key, seen.sequence - 1, config_.region) != Truth::Lost::kToRegion;
    if (!is_quiet || !has_origin)
        return truth_.excuse(made.key, seen.sequence, config_.region, made.cost);
    question.limit += most_excess(load_.limit, config_.share_parts) +
                      truth_.excused(made.key, seen.sequence, config_.region) +
                      truth_.excused(made.key, seen.sequence - 1, config_.region) +
                      knowledge_.skewed(question.previous);
    if (!naive_pass(question))
        fail("passed cost " + number(made.cost) + " at " + cell_text(made.key, seen.sequence) +
             ", of which its region has admitted " + number(question.current) + " and " +
             number(question.previous) + " before, with a limit of " + number(load_.limit));
}

// What a node admitted itself, and what it must know of other regions, stays within the limit.
void Audit::check_known(const Decided& made, const Seen& seen, Count ahead) {
    if (made.by == By::kGranted || config_.has_steps) return;
    // What it must know of when it was asked, unless a fault has struck by the time it decided.
    const auto known = [&](Sequence sequence) {
        const auto of_world = [&](std::int64_t ms) {
            return knowledge_.of_world(config_.region, made.key, sequence, ms);
        };
        return admitted(made.key, sequence) +
               std::min(of_world(made.asked_ms), of_world(made.true_ms));
    };
    const NaiveQuestion question{.current = known(seen.sequence) + ahead,
                                 .previous = known(seen.sequence - 1),
                                 .elapsed_ms = seen.elapsed_ms,
                                 .duration_ms = load_.duration.count(),
                                 .cost = made.cost,
                                 .limit = load_.limit};
    if (!naive_pass(question))
        fail("passed cost " + number(made.cost) + " at " + cell_text(made.key, seen.sequence) +
             ", though it must know of " + number(question.current) + " spent and " +
             number(question.previous) + " before");
}

// How close to the limit a pass came, or how far beyond it, by all that was admitted.
void Audit::note_effective(const Decided& made, const Seen& seen) {
    if (made.cost == 0 || load_.limit == 0) return;
    const Wide duration = static_cast<std::uint64_t>(load_.duration.count());
    const Wide weight = static_cast<std::uint64_t>(load_.duration.count() - seen.elapsed_ms);
    const Wide sum = truth_.total(made.key, seen.sequence) * duration +
                     truth_.total(made.key, seen.sequence - 1) * weight;
    truth_.note_effective(static_cast<Permille>(sum * 1'000 / (duration * load_.limit)));
}

// All that was admitted, or granted by an origin, denies the same: nobody is denied for what was
// not granted.
void Audit::check_denial(const Decided& made, const Seen& seen, Count ahead) {
    const std::int64_t duration = load_.duration.count();
    const NaiveQuestion by_truth{.current = truth_.reserved(made.key, seen.sequence) + ahead,
                                 .previous = truth_.reserved(made.key, seen.sequence - 1),
                                 .elapsed_ms = seen.elapsed_ms,
                                 .duration_ms = duration,
                                 .cost = made.cost,
                                 .limit = load_.limit};
    if (naive_pass(by_truth) && !config_.has_steps)
        fail("denied k" + number(made.key) + ", which all that was granted would let pass");
    const Sequence sequence = made.asked_ms / duration;
    const NaiveQuestion by_right_time{.current = truth_.reserved(made.key, sequence) + ahead,
                                      .previous = truth_.reserved(made.key, sequence - 1),
                                      .elapsed_ms = made.asked_ms % duration,
                                      .duration_ms = duration,
                                      .cost = made.cost,
                                      .limit = load_.limit};
    ++(naive_pass(by_right_time) ? totals_.false_denials : totals_.true_denials);
}

void Audit::grant(const Decided& made, Seen& seen) {
    Cell& cell = cell_of(*seen.slot, seen.sequence);
    // What the origin granted to an entry that was displaced meanwhile stays its component.
    const bool is_displaced =
        made.by == By::kGranted && seen.slot->spent_as != seen.slot->incarnation;
    if (cell.sequence == seen.sequence && !is_displaced) {
        cell.admitted += made.cost;
        const Slot& slot = *seen.slot;
        if (seen.sequence < std::max(slot.newest, slot.newest_sent)) cell.late += made.cost;
        Sent& sent = sent_of(*seen.slot, seen.sequence);
        if (sent.sequence == seen.sequence) update_credit(made.key, cell, sent);
    }
    truth_.admit(made.key, seen.sequence, config_.region, made.cost, made.true_ms);
    if (made.cost != 0 && load_.keys <= Truth::kMostKeysLogged)
        truth_.grants.add({.key = made.key,
                           .sequence = seen.sequence,
                           .region = config_.region,
                           .node = config_.serial,
                           .cost = made.cost,
                           .at_ms = made.true_ms});
    note_effective(made, seen);
    ++totals_.passed;
}

void Audit::count(const Decided& made) {
    ++totals_.decisions;
    totals_.waits += made.has_waited ? 1U : 0U;
    totals_.fallbacks += made.by == By::kFallback ? 1U : 0U;
    const bool is_alone = made.by == By::kFallback || made.by == By::kAlone;
    if (is_alone && knowledge_.is_quiet(config_.region, made.asked_ms, made.true_ms) &&
        made.true_ms > config_.started_ms + kConnects.count())
        fail("decided k" + number(made.key) + " without its origin, which works");
}

void Audit::decided(const Decided& made, const Decision& decision) {
    count(made);
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
    // A grant was decided at the origin, by what that held.
    if (naive_pass(question) != decision.passed && made.by != By::kGranted)
        return fail(std::string(decision.passed ? "passed" : "denied") + " cost " +
                    number(made.cost) + " at " + cell_text(made.key, sequence) + ", " +
                    std::to_string(seen->elapsed_ms) + " ms in, knowing of " +
                    number(question.current) + " spent and " + number(question.previous) +
                    " before, with a limit of " + number(load_.limit));
    if (decision.passed) {
        check_sharing(made, *seen, 0, granted);
        check_excess(made, *seen, 0, 1);
        check_known(made, *seen, 0);
        grant(made, *seen);
    } else {
        check_denial(made, *seen, 0);
        if (made.cost <= load_.limit)
            seen->slot->strict_until =
                std::max(seen->slot->strict_until, made.now + load_.duration);
    }
    check_own(*seen);
}

// The entry holds what was admitted in it, to the unit.
void Audit::check_own(const Seen& seen) {
    const Cell& cell = cell_of(*seen.slot, seen.sequence);
    const LapCount held = seen.entry->admitted(seen.sequence).load();
    if (cell.sequence != seen.sequence || !held.belongs_to(seen.sequence)) return;
    if (held.count() != cell.admitted)
        fail("admitted " + number(cell.admitted) + " at " +
             cell_text(seen.slot->key, seen.sequence) + " and holds " + number(held.count()));
}

void Audit::decided(std::span<const Decided> made, const BatchDecision& batch) {
    const EpochPin pin;
    bool all = true;
    for (std::size_t i = 0; i < made.size(); ++i) {
        count(made[i]);
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
            check_sharing(made[i], *seen, ahead, granted);
            check_excess(made[i], *seen, ahead, made.size());
            check_known(made[i], *seen, ahead);
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
    for (std::size_t i = 0; i < made.size(); ++i)
        check_own(*look(made[i], batch.decisions[i]));
}

}  // namespace sluice::sim
