// The checks of a run: everything that nodes do is held against what they were told and may know.
#ifndef SLUICE_SIM_AUDIT_H_
#define SLUICE_SIM_AUDIT_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counter/table.h"
#include "global/store.h"
#include "regional/origin.h"
#include "sim/knowledge.h"
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
    kHeld,      // by what the node held, at once
    kFresh,     // after its origin was asked, whether it answered or not
    kAlone,     // the same, while its region was away
    kFallback,  // by what the node held, though that was too old, because its region was away
};

// What one life of a node has told its callers, the origin and the store, and has heard. It knows
// each cell from the outside: from the requests that it saw pass, and from the messages that it saw
// go by.
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
    };
    Audit(Config config,
          Truth& truth,
          const Knowledge& knowledge,
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

    // Components that the node sends to its origin, and what it hears of a cell.
    void telling(std::span<const CellComponent> components);
    void heard(const CellName& name,
               Incarnation incarnation,
               const CellTotals& totals,
               std::int64_t true_ms);

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
    // Whether it had to displace keys that mattered, and whether untold.
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
    // What it has granted.
    Count told(KeyIndex key, Sequence sequence) const;
    void each_told(
        const std::function<void(KeyIndex, Sequence, Count, std::uint32_t)>& visit) const;

    struct Totals {
        std::uint64_t decisions = 0;
        std::uint64_t passed = 0;
        std::uint64_t asked = 0;
        std::uint64_t fallbacks = 0;
        std::uint64_t false_denials = 0;  // by the right time and all that was granted
        std::uint64_t true_denials = 0;
    };
    const Totals& totals() const { return totals_; }

  private:
    struct Cell {
        Sequence sequence = -1;
        Count told = 0;    // to callers
        Count others = 0;  // seen in the table, at most
        Count global = 0;
        Count heard = 0;  // of others, from the origin, at most
    };
    // Apart from what each decision needs.
    struct Sent {
        Sequence sequence = -1;
        Count component = 0;            // to the origin, at most
        Count row = 0;                  // to the store, at most
        Count acked = 0;                // by the store
        std::int64_t repeated_ms = -1;  // when the store last acknowledged the same once more
    };
    struct alignas(64) Slot {
        std::array<Cell, kTrueCells> cells;
        KeyIndex key = 0;
        std::uint32_t incarnation = 0;
        UnixTime strict_until = UnixTime::min();
        std::int64_t heard_ms = -1;
        Sequence newest = -1;
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

    Slot& slot_of(KeyIndex key);
    Cell& cell_of(Slot& slot, Sequence sequence);
    Sent& sent_of(Slot& slot, Sequence sequence);
    std::optional<Seen> look(const Decided& made, const Decision& decision);
    Count look_at_cell(Seen& seen, Sequence sequence);
    void check_freshness(const Decided& made, const Seen& seen);
    void check_excess(const Decided& made, const Seen& seen, Count ahead);
    void check_denial(const Decided& made, const Seen& seen, Count ahead);
    void grant(const Decided& made, Seen& seen);
    bool may_refuse_import(KeyIndex key) const;
    void fail(const std::string& what) const;
    std::string cell_text(KeyIndex key, Sequence sequence) const;

    const Config config_;
    Truth& truth_;
    const Knowledge& knowledge_;
    Verdict& verdict_;
    Table& table_;
    const Load& load_;
    std::vector<std::uint32_t> places_;  // of slots, by key; 0: none
    std::vector<Slot> slots_;
    Totals totals_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_AUDIT_H_
