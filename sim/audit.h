// The checks of a run: everything that nodes do is held against what they were told and may know.
#ifndef SLUICE_SIM_AUDIT_H_
#define SLUICE_SIM_AUDIT_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counter/table.h"
#include "global/store.h"
#include "regional/origin.h"
#include "sim/bounds.h"
#include "sim/knowledge.h"
#include "sim/membership.h"
#include "sim/truth.h"

namespace sluice::sim {

// The first thing that was wrong ends a run.
class Verdict {
  public:
    void fail(const std::string& what) {
        if (!failure_) failure_ = what;
    }
    const std::optional<std::string>& failure() const { return failure_; }

  private:
    std::optional<std::string> failure_;
};

// How a decision came about.
enum class By {
    kHeld,      // by the node, which the sharing rule allows
    kGranted,   // by the origin
    kWaited,    // by the node, after it waited for the origin, whether that answered or not
    kAlone,     // by the node, which the sharing rule allows, while the origin was unavailable
    kFallback,  // by the node, which the rule does not allow, because the origin was unavailable
};

// What one life of a node has admitted, sent and received. It knows each cell from the outside:
// from the requests that it saw pass, and from the messages that it saw go by.
//
// Thread-compatible.
class Audit {
  public:
    struct Config {
        std::string name;
        std::uint32_t region;
        std::uint32_t serial;
        std::size_t max_keys;
        // Clocks that step leave some rules without a meaning.
        bool has_steps = false;
        // Messages may be repeated: what a spend is granted after its answer, its node can't know.
        bool has_duplicates = false;
        std::uint64_t share_parts = kAuditedShareParts;
        std::int64_t started_ms = 0;  // by the right clock
    };
    Audit(Config config,
          Truth& truth,
          const Knowledge& knowledge,
          Membership& members,
          Verdict& verdict,
          Table& table,
          const Load& load);

    // A decision was made, for a request that came at `now` by the node's clock.
    struct Decided {
        KeyIndex key;
        Count cost;
        UnixTime now;
        std::int64_t asked_ms;  // by the right clock
        std::int64_t true_ms;   // the same when it was decided
        By by;
        bool has_waited = false;  // for the origin
    };
    void decided(const Decided& made, const Decision& decision);
    void decided(std::span<const Decided> made, const BatchDecision& batch);

    // Has what is known of a key come nearer.
    void prepare(KeyIndex key) const {
        if (key >= places_.size() || places_[key] == 0) return;
        const char* const slot = reinterpret_cast<const char*>(&slots_[places_[key] - 1]);
        for (std::size_t line = 0; line < sizeof(Slot); line += 64)
            __builtin_prefetch(slot + line);
    }

    // The node sends a call for a key.
    void sending(const KeyComponents& key);
    void sending(const KeySpend& key);
    // The origin has executed one, which the node need not live to see: what it holds afterwards,
    // and, of a spend, what it held before and how it decided.
    void at_origin(const KeyComponents& key, const KeyTotals& after);
    void check_grants(const KeySpend& key, const KeyTotals& before, const KeyGrants& grants);
    void retired(const KeyComponents& key, const KeyTotals& before);
    // The node gets the answer to what the origin did at a time.
    void synced(const KeyComponents& key,
                const KeyTotals& totals,
                std::int64_t done_ms,
                std::int64_t now_ms);
    void spent(const KeySpend& key,
               const KeyGrants& grants,
               std::int64_t done_ms,
               std::int64_t now_ms);
    void counted_nodes(const Membership::Beat& beat) { members_.counted(config_.serial, beat); }
    // The process goes on after a pause.
    void resumed(std::int64_t now_ms) { resumed_ms_ = now_ms; }

    // A row of the region, sent to the store, and one of which the store has said that it has it.
    void publishing(const CellName& cell, Count count, std::int64_t true_ms);
    void published(const CellName& cell, Count count, std::int64_t true_ms);
    // A connection to the store was lost: all that was acknowledged may be published again.
    void lost_store();
    // A cell was imported and merged, at a time by the node's clock.
    void imported(const ImportedCell& cell, UnixTime now);
    // What it must know of other regions' spending by now, it does.
    void check_staleness(KeyIndex key, Sequence sequence, std::int64_t true_ms);

    // At the end: what the node holds of a cell is the truth.
    struct Expected {
        UnixTime node_time;
        bool is_shared_widely;  // all regions should know
        // Nodes of another region displaced the key, and its origin alone holds what they granted:
        // nobody publishes that until the key is asked for again.
        bool may_be_unpublished;
    };
    void check_converged(KeyIndex key, Sequence sequence, const Expected& expected);
    // Whether it had to displace keys that mattered, and whether unsynced.
    bool has_displaced() const;
    // Whether it displaced an entry under which it had granted something of the cell, or is about
    // to: an entry on its way out publishes nothing.
    bool has_displaced(KeyIndex key, Sequence sequence) const;
    // What it may publish of a cell.
    Count regional(KeyIndex key, Sequence sequence) const;
    bool has_dropped() const;
    // Whether the node was asked for it, or heard of it.
    bool holds(KeyIndex key);
    // Whether it has published so much of a cell.
    bool has_published(KeyIndex key, Sequence sequence, Count count) const;
    // What it has admitted.
    Count admitted(KeyIndex key, Sequence sequence) const;
    struct Admitted {
        KeyIndex key;
        Sequence sequence;
        Count count;
        Incarnation incarnation;
        Count retired;  // of it, what the origin has moved to the stopped nodes' component
    };
    void each_admitted(const std::function<void(const Admitted&)>& visit) const;

    struct Totals {
        std::uint64_t decisions = 0;
        std::uint64_t passed = 0;
        std::uint64_t waits = 0;
        std::uint64_t fallbacks = 0;
        std::uint64_t false_denials = 0;  // by the right time and all that was granted
        std::uint64_t true_denials = 0;
    };
    const Totals& totals() const { return totals_; }

  private:
    struct Cell {
        Sequence sequence = -1;
        Count admitted = 0;  // of which callers were told
        Count peers = 0;     // seen in the table, at most
        Count global = 0;
        Count read = 0;               // of others, in answers of the origin, at most
        Count acked = 0;              // of its own, by answers of the origin
        Count late = 0;               // of its own, decided here after the window had ended
        std::int64_t viewed_ms = -1;  // when the origin read what was answered last
    };
    // Apart from what each decision needs.
    struct Sent {
        Sequence sequence = -1;
        Count component = 0;            // to the origin, at most
        Count at_origin = 0;            // what that held of it, at most
        Count credit = 0;               // of that, what was not admitted
        Count retired = 0;              // what that has moved to the stopped nodes' component
        Count row = 0;                  // to the store, at most
        Count acked = 0;                // by the store
        std::int64_t repeated_ms = -1;  // when the store last acknowledged the same once more
    };
    struct alignas(64) Slot {
        std::array<Cell, kTrueCells> cells;
        KeyIndex key = 0;
        std::uint32_t incarnation = 0;
        UnixTime strict_until = UnixTime::min();
        bool was_read = false;
        std::int64_t answered_ms = -1;  // when the last answer of the origin came
        Incarnation spent_as = 0;       // of the last spend that was answered
        Sequence newest = -1;           // in which something was decided
        Sequence newest_sent = -1;      // of which something was sent to the origin
        Sequence displaced = -1;  // the newest cell in which an earlier entry granted something
        std::array<Sent, kTrueCells> sent;
    };
    // Where and on what a decision was made.
    struct Seen {
        Slot* slot;
        Entry* entry;
        Sequence sequence;
        std::int64_t elapsed_ms;
        Count current;  // without what it has itself granted since
        Count previous;
    };

    // One of the two cells of a call, if what is known here is of the same entry.
    struct CallCell {
        Cell* cell;
        Sent* sent;
    };
    std::optional<CallCell> cell_of(const KeyComponents& key, std::size_t index);

    Slot& slot_of(KeyIndex key);
    Cell& cell_of(Slot& slot, Sequence sequence);
    Sent& sent_of(Slot& slot, Sequence sequence);
    void meet(Slot& slot, Incarnation incarnation);
    void update_credit(KeyIndex key, const Cell& cell, Sent& sent);
    void read(Slot& slot, const KeyComponents& key, const KeyTotals& totals, std::int64_t done_ms);
    std::optional<Seen> look(const Decided& made, const Decision& decision);
    Count look_at_cell(Seen& seen, Sequence sequence);
    void check_sharing(const Decided& made, const Seen& seen, Count ahead, Count granted);
    bool is_young(const Decided& made, const Seen& seen) const;
    Count unsynced(const Seen& seen, Count cost) const;
    void check_excess(const Decided& made, const Seen& seen, Count ahead, std::size_t requests);
    void check_known(const Decided& made, const Seen& seen, Count ahead);
    void note_effective(const Decided& made, const Seen& seen);
    void check_denial(const Decided& made, const Seen& seen, Count ahead);
    void check_own(const Seen& seen);
    void count(const Decided& made);
    void grant(const Decided& made, Seen& seen);
    bool may_refuse_import(KeyIndex key) const;
    void fail(const std::string& what) const;
    std::string cell_text(KeyIndex key, Sequence sequence) const;

    const Config config_;
    Truth& truth_;
    const Knowledge& knowledge_;
    Membership& members_;
    Verdict& verdict_;
    Table& table_;
    const Load& load_;
    std::vector<std::uint32_t> places_;  // of slots, by key; 0: none
    std::vector<Slot> slots_;
    Totals totals_;
    std::int64_t resumed_ms_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_AUDIT_H_
