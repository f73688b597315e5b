// The list of entries whose counts changed: flushes and publishes find work here, without a walk
// through the table.
#ifndef SLUICE_COUNTER_CHANGED_H_
#define SLUICE_COUNTER_CHANGED_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "counter/entry.h"

namespace sluice {

// The settled counts of an entry's cells: the admitted ones less what unfinished batches hold. Only
// these are written to a store (invariant 3).
//
// Read in this order: let_go(), the admitted counts, held(). A batch adds to `held` before it
// admits, and to `let_go` after it has settled or undone. So the unsettled part of an admitted
// count is within the difference of the two, and the result is never too high. It may be too low by
// what batches did meanwhile; these mark the entry again when they end.
class Components {
  public:
    explicit Components(const Entry& entry);

    struct Component {
        Sequence sequence;
        Count count;
    };
    const std::array<Component, kRingSize>& all() const { return all_; }
    // 0 for a cell that is not held.
    Count of(Sequence sequence) const;

    bool are_any() const;  // whether a count is not 0

    // Whether `entry` still holds just these, and no batch holds anything.
    bool are_all_of(const Entry& entry) const;

  private:
    std::array<Component, kRingSize> all_;
};

// ChangedList hands each changed entry to one consumer, once per change and never twice at the same
// time:
//
//     kIdle -> kListed            mark(): the first change; the entry enters the list
//     kListed -> kTaken           take(): the consumer has it, and reads its components
//     kTaken -> kTakenAgain       mark(): it changed while the consumer was busy
//     kTakenAgain -> kTaken       begin_read(): the consumer reads it only now
//     kTaken -> kIdle             release(): all counts are written
//     kTaken, kTakenAgain -> kListed   release(): some are not; give_back(): none are
//     kIdle -> kLeaving           leave(): the table wants to remove it, and all is written
//     kLeaving -> kListed         mark(): it changed, and stays
//     kLeaving -> kIdle           stay(): there was no memory to queue it for removal
//     kLeaving -> kRetired        retire_leaving(): out of the table, after a grace period
//     any -> kRetired             retire(): its cells are dead, and need not be written
//
// An admission is marked after it was made: CAS on admitted, mark(). A release in between sees that
// the counts differ from what was written, and keeps the entry listed; so everything that was
// marked in an idle entry has been written.
//
// Why leaving takes a grace period (counter/epoch.h): between its CAS and its mark() a thread is
// pinned, and the consumer may read and write its cost meanwhile. While an entry is leaving, the
// consumer does not read it. A thread that was pinned before has called mark() by the end of the
// grace period, which keeps the entry; a thread that comes later and finds the entry retired knows
// that its own cost was not written, and enters it in the successor (invariant 8).
//
// Memory order: sequentially consistent. mark() writes admitted and then reads the state, take()
// and release() write the state and then read the counts; one of the two must see the other. The
// same goes for the list and whether the consumer sleeps.
//
// Thread-safe; take(), release() and sleep() are for one consumer at a time.
class ChangedList {
  public:
    // Sets the callback that wakes a sleeping consumer, on the thread that lists an entry. To be
    // called before other threads use the list.
    void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

    // Puts the consumer to sleep. True if nothing is listed; the next listed entry wakes it, once.
    [[nodiscard]] bool sleep();

    // Puts a marked entry at the front of the next flush, and wakes the consumer. If more than
    // kMaxUrgent are pending, some are flushed in their turn.
    void urge(Entry& entry);
    // The hashes of the entries urged since the last call. Those entries are listed, taken, or were
    // flushed meanwhile.
    std::vector<std::uint64_t> take_urgent();

    // Wakes the consumer: the table is at its cap, and entries with unsynced counts can't be
    // evicted.
    void request_flush();
    // Whether request_flush() was called since the last call.
    bool take_flush_request() {
        return is_flush_requested_.exchange(false, std::memory_order_relaxed);
    }

    // To be called after an admission. False if the entry is retired, and will not be written.
    [[nodiscard]] bool mark(Entry& entry);

    // Takes the listed entries, newest first. They stay valid until they are released. Entries that
    // were retired while in the list are returned apart: only current readers still refer to them.
    struct Taken {
        std::vector<Entry*> changed;
        std::vector<Entry*> retired;
    };
    Taken take();

    // To be called before the consumer reads an entry that it took earlier: changes made so far are
    // read, and need not list the entry again.
    static void begin_read(Entry& entry) {
        move(entry, ChangeState::kTakenAgain, ChangeState::kTaken);
    }

    // Releases a taken entry after `written` has reached the store. False if the entry was retired
    // meanwhile; the caller then disposes of it.
    [[nodiscard]] bool release(Entry& entry, const Components& written);

    // Releases a taken entry of which nothing has reached the store: it is listed again. False as
    // above.
    [[nodiscard]] bool give_back(Entry& entry);

    // For the table; each returns whether it succeeded. An untracked entry is retired by any of
    // them.
    static bool leave(Entry& entry);
    static bool retire_leaving(Entry& entry);
    // Reverts leave(), unless the entry was changed meanwhile and stays anyway.
    static void stay(Entry& entry);
    // Always retires, and returns whether the caller disposes of the entry (else the consumer
    // does).
    static bool retire(Entry& entry);

  private:
    static bool move(Entry& entry, ChangeState from, ChangeState to);
    void push(Entry& entry);

    // Top of a stack that is only pushed to and taken whole, which rules out ABA.
    std::atomic<Entry*> top_{nullptr};
    // Set by the consumer, cleared by the thread that wakes it.
    std::atomic<bool> is_asleep_{false};
    std::atomic<bool> is_flush_requested_{false};  // relaxed: a hint
    std::function<void()> wake_;
    // A ring that is written to without a lock: urged_ counts the additions, a slot holds a hash or
    // 0. A writer may overwrite what was not taken yet; that entry is flushed in its turn.
    static constexpr std::uint64_t kMaxUrgent = 256;
    std::array<std::atomic<std::uint64_t>, kMaxUrgent> urgent_{};
    std::atomic<std::uint64_t> urged_{0};
    std::uint64_t urgent_taken_ = 0;  // the consumer's
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_CHANGED_H_
