// The checks of a run: each decision, call and answer of a node against the ground truth.
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
#include "sim/expectations.h"
#include "sim/truth.h"

namespace sluice::sim {

// The first check that failed; it ends the run.
class FirstFailure {
  public:
    void report(const std::string& what) {
        if (!message_) message_ = what;
    }
    const std::optional<std::string>& message() const { return message_; }

  private:
    std::optional<std::string> message_;
};

// Where and why a decision was made.
enum class DecidedBy {
    kLocal,             // by the node, as the sharing rule allows
    kOrigin,            // by the origin
    kLocalAfterWait,    // by the node, after it waited for the origin, answered or not
    kLocalUnavailable,  // by the node, as the sharing rule allows, with the origin unavailable
    kFallback,          // by the node against the rule, because the origin was unavailable
};

// Everything that one life of a node has admitted, sent and received. It derives each cell from the
// decisions and messages that it observes, not from the node's own counts.
//
// Thread-compatible.
class Audit {
  public:
    struct Config {
        std::string name;
        std::uint32_t region;
        std::uint32_t serial;
        std::size_t max_keys;
        // Some rules do not apply to clocks that step.
        bool has_steps = false;
        // Further ones not to clocks that step by more than a window: a key starts over then.
        bool has_far_steps = false;
        // Messages may be repeated: a node can't know what a repeated spend was granted.
        bool has_duplicates = false;
        std::uint64_t share_parts = kAuditedShareParts;
        std::int64_t started_ms = 0;  // by the right clock
    };
    Audit(Config config,
          Truth& truth,
          const Expectations& expectations,
          Membership& members,
          FirstFailure& failure,
          Table& table,
          const Load& load);

    // A decision for a request that arrived at `now` by the node's clock.
    struct DecisionRecord {
        KeyIndex key;
        Count cost;
        UnixTime now;
        std::int64_t arrived_ms;  // true time
        std::int64_t true_ms;     // of the decision
        DecidedBy by;
        bool has_waited = false;  // for the origin
    };
    void decided(const DecisionRecord& record, const Decision& decision);
    void decided(std::span<const DecisionRecord> records, const BatchDecision& batch);

    // Prefetches the record of a key.
    void prepare(KeyIndex key) const {
        if (key >= places_.size() || places_[key] == 0) return;
        const char* const slot = reinterpret_cast<const char*>(&slots_[places_[key] - 1]);
        for (std::size_t line = 0; line < sizeof(Slot); line += 64)
            __builtin_prefetch(slot + line);
    }

    // The node sends a call for a key.
    void sending(const KeyComponents& key);
    void sending(const KeySpend& key);
    // The origin has executed a call, whether or not the node is still alive: what it holds
    // afterwards, and for a spend, what it held before it decided, and how it did.
    void at_origin(const KeyComponents& key, const KeyTotals& after);
    void check_grants(const KeySpend& key, const KeyTotals& before, const KeyGrants& grants);
    // The node receives an answer. The origin executed the call at `done_ms`.
    void synced(const KeyComponents& key,
                const KeyTotals& totals,
                std::int64_t done_ms,
                std::int64_t now_ms);
    void spent(const KeySpend& key,
               const KeyGrants& grants,
               std::int64_t done_ms,
               std::int64_t now_ms);
    void counted_nodes(const Membership::AnsweredHeartbeat& heartbeat) {
        members_.counted(config_.serial, heartbeat);
    }
    // The clock that was wrong is right again.
    void corrected(std::int64_t now_ms) { right_since_ms_ = now_ms; }
    // The process is resumed after a pause.
    void resumed(std::int64_t now_ms) { resumed_ms_ = now_ms; }

    // A row of the region that is sent to the store, and one that the store has acknowledged.
    void publishing(const CellName& cell, Count count, std::int64_t true_ms);
    void published(const CellName& cell, Count count, std::int64_t true_ms);
    // A component of the region that is sent to the bus.
    void announcing(const CellName& cell, Count count);
    // A connection to the store was lost: all that was acknowledged may be published again.
    void lost_store();
    // A component was received from the store or the bus and merged, at a time by the node's clock.
    void imported(const RegionRow& row, UnixTime now);
    // Fails if the node lacks spend of other regions that must have arrived by now.
    void check_staleness(KeyIndex key, Sequence sequence, std::int64_t true_ms);

    // At the end of a run: the node's view of a cell equals the ground truth.
    struct Expected {
        UnixTime node_time;
        bool is_shared_widely;  // must have reached all regions
        // Nodes of another region displaced the key, and its origin alone holds what they granted:
        // no node publishes that until the next request for the key.
        bool may_be_unpublished;
    };
    void check_converged(KeyIndex key, Sequence sequence, const Expected& expected);
    // Whether it evicted keys that mattered.
    bool has_displaced() const;
    // Whether it evicted, or is evicting, an entry that had admitted something in the cell: such an
    // entry publishes nothing.
    bool has_displaced(KeyIndex key, Sequence sequence) const;
    // The count that it may publish of a cell.
    Count regional(KeyIndex key, Sequence sequence) const;
    // Whether the entry of the admissions in each_admitted() was evicted, or is being evicted.
    bool is_gone(KeyIndex key) const;
    // How many entries it evicted with unsynced counts.
    std::uint64_t evicted_unsynced() const;
    // Whether the table has an entry for the key.
    bool holds(KeyIndex key);
    // Whether it has published at least `count` of a cell.
    bool has_published(KeyIndex key, Sequence sequence, Count count) const;
    Count admitted(KeyIndex key, Sequence sequence) const;
    struct Admitted {
        KeyIndex key;
        Sequence sequence;
        Count count;
        Incarnation incarnation;
    };
    void each_admitted(const std::function<void(const Admitted&)>& visit) const;

    struct Totals {
        std::uint64_t decisions = 0;
        std::uint64_t passed = 0;
        std::uint64_t waits = 0;
        std::uint64_t fallbacks = 0;
        std::uint64_t false_denials = 0;  // by true time and everything that was granted
        std::uint64_t true_denials = 0;
    };
    const Totals& totals() const { return totals_; }

  private:
    struct Cell {
        Sequence sequence = -1;
        Count admitted = 0;  // as reported to callers
        Count peers = 0;     // seen in the table, at most
        Count global = 0;
        Count read = 0;               // highest count of the peers in an answer
        Count acked = 0;              // own count that the origin acknowledged
        Count late = 0;               // own count, admitted after the window had ended
        std::int64_t viewed_ms = -1;  // when the origin read its last answer
    };
    // What was sent; kept apart from the fields that each decision reads.
    struct Sent {
        Sequence sequence = -1;
        Count component = 0;            // highest sent to the origin
        Count at_origin = 0;            // highest that the origin held
        Count credit = 0;               // part of that which was not admitted
        Count row = 0;                  // highest sent to the store
        Count acked = 0;                // by the store
        std::int64_t repeated_ms = -1;  // last acknowledgement of a repeated row
    };
    // The largest components of the regions that were received.
    struct Received {
        Sequence sequence = -1;
        std::vector<Count> by_region;
    };
    struct alignas(64) Slot {
        std::array<Cell, kTrueCells> cells;
        KeyIndex key = 0;
        std::uint32_t incarnation = 0;
        UnixTime strict_until = UnixTime::min();
        bool was_read = false;
        std::int64_t answered_ms = -1;  // arrival of the last answer
        Incarnation spent_as = 0;       // of the last answered spend
        Sequence newest = -1;           // decided in
        Sequence newest_sent = -1;      // sent to the origin
        Sequence displaced = -1;        // newest cell with admissions of an evicted entry
        std::array<Sent, kTrueCells> sent;
        std::array<Received, kTrueCells> received;
    };
    // The entry, window and counts that a decision was based on.
    struct Observation {
        Slot* slot;
        Entry* entry;
        Sequence sequence;
        std::int64_t elapsed_ms;
        Count current;  // without later admissions of its own
        Count previous;
    };

    // One of the two cells of a call, if it is of the entry that is tracked.
    struct CallCell {
        Cell* cell;
        Sent* sent;
    };
    std::optional<CallCell> cell_of(const KeyComponents& key, std::size_t index);

    Slot& slot_of(KeyIndex key);
    Entry* find(KeyIndex key) const;  // null if the table has none; requires an EpochPin
    Cell& cell_of(Slot& slot, Sequence sequence);
    Sent& sent_of(Slot& slot, Sequence sequence);
    void track_incarnation(Slot& slot, Incarnation incarnation);
    void update_credit(KeyIndex key, const Cell& cell, Sent& sent);
    void read(Slot& slot, const KeyComponents& key, const KeyTotals& totals, std::int64_t done_ms);
    std::optional<Observation> observe(const DecisionRecord& record, const Decision& decision);
    Count observe_cell(Observation& seen, Sequence sequence);
    void check_sharing(const DecisionRecord& record,
                       const Observation& seen,
                       Count ahead,
                       Count granted);
    // The node's view of its peers: none if it read neither cell, or was denied within a window.
    enum class View { kYoung, kOld, kNone };
    View view_of(const DecisionRecord& record, const Observation& seen) const;
    Count unsynced(const Observation& seen, Count cost) const;
    void check_excess(const DecisionRecord& record,
                      const Observation& seen,
                      Count ahead,
                      std::size_t requests);
    void check_known(const DecisionRecord& record, const Observation& seen, Count ahead);
    void note_effective(const DecisionRecord& record, const Observation& seen);
    void check_denial(const DecisionRecord& record, const Observation& seen, Count ahead);
    void check_own(const Observation& seen);
    void count(const DecisionRecord& record);
    void grant(const DecisionRecord& record, Observation& seen);
    void fail(const std::string& what) const;
    std::string cell_text(KeyIndex key, Sequence sequence) const;

    const Config config_;
    Truth& truth_;
    const Expectations& expectations_;
    Membership& members_;
    FirstFailure& failure_;
    Table& table_;
    const Load& load_;
    std::vector<std::uint32_t> places_;  // of slots, by key; 0: none
    std::vector<Slot> slots_;
    Totals totals_;
    std::int64_t resumed_ms_ = std::numeric_limits<std::int64_t>::min();
    std::int64_t right_since_ms_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_AUDIT_H_
