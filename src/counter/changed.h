// The entries whose counts changed: how replay and publish find work without walking the table.
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

// What the world may be told of the cells that an entry holds: its settled counts, that is the
// admitted ones without what unfinished batches hold.
//
// Read in this order: what batches have let go, the admitted counts, what they have held. A batch
// adds to the last before it admits, and to the first after it has settled or undone. So whatever
// part of an admitted count is not settled is within the difference of the two, and what is told is
// never too much. It may be too little by what batches did meanwhile, and is told in full when they
// have done it.
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

    bool are_anything() const;

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
//     kTaken -> kIdle             release(): all that it holds was told
//     kTaken, kTakenAgain -> kListed   release(): there is more to tell; give_back(): all of it
//     kIdle -> kLeaving           leave(): the table wants to remove it, nothing is left to tell
//     kLeaving -> kListed         mark(): it changed, and stays
//     kLeaving -> kIdle           stay(): there was no memory to remember that it leaves
//     kLeaving -> kRetired        retire_leaving(): out of the table, after a grace period
//     any -> kRetired             retire(): its cells are dead, nobody needs to be told
//
// An admission is announced after it was made: CAS on admitted, mark(). A release in between sees
// that the counts differ from what was told, and keeps the entry listed; so an idle entry has told
// everything that was announced.
//
// Why leaving takes a grace period (counter/epoch.h): between its CAS and its mark() a thread is
// pinned, and its cost may be told meanwhile, if the consumer happens to read. While an entry is
// leaving, nobody reads it for the consumer. Whoever was pinned before has announced by the end of
// the grace period, which keeps the entry; whoever comes later and finds the entry retired knows
// that nothing of its own cost was told, and enters it in the entry that took the place (invariant
// 8).
//
// Memory order: sequentially consistent. mark() writes admitted and then reads the state, take()
// and release() write the state and then read the counts; one of the two must see the other. The
// same goes for the list and whether the consumer sleeps.
//
// Thread-safe; take(), release() and sleep() are for one consumer at a time.
class ChangedList {
  public:
    // What tells a sleeping consumer that an entry was listed: called by the thread that did.
    // Before other threads use the list.
    void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

    // The consumer has nothing to do. True if nothing is listed; the next entry that is wakes it,
    // once.
    [[nodiscard]] bool sleep();

    // Puts an entry that was marked at the front of the next flush, and wakes the consumer. If more
    // than kUrgent wait, some are flushed in their turn.
    void urge(Entry& entry);
    // The hashes of the entries that were urged since the last call. Those entries are in the list,
    // with the consumer, or were flushed meanwhile.
    std::vector<std::uint64_t> take_urgent();

    // Wakes the consumer: the table is at its cap, and entries with unsynced counts can't be
    // evicted.
    void hurry();
    // Whether hurry() was called since the last call.
    bool take_hurry() { return is_hurried_.exchange(false, std::memory_order_relaxed); }

    // After an admission. False if the entry is retired, and will not tell of it.
    [[nodiscard]] bool mark(Entry& entry);

    // The entries that were listed, newest first. They stay valid until they are released. Entries
    // that were retired while in the list are returned apart: nobody else refers to them but
    // readers under way.
    struct Taken {
        std::vector<Entry*> changed;
        std::vector<Entry*> retired;
    };
    Taken take();

    // Before the consumer reads an entry that it has held for a while: what changed until now is
    // read, and need not list the entry again.
    static void begin_read(Entry& entry) {
        move(entry, ChangeState::kTakenAgain, ChangeState::kTaken);
    }

    // Ends the consumer's hold after `told` has reached its destination. False if the entry was
    // retired meanwhile; it is then the caller's to dispose of.
    [[nodiscard]] bool release(Entry& entry, const Components& told);

    // Ends the consumer's hold after nothing has reached its destination: the entry is listed
    // again. False as above.
    [[nodiscard]] bool give_back(Entry& entry);

    // For the table; each returns whether it did what it is called. An entry that nobody asks for
    // changes of is retired by any of them.
    static bool leave(Entry& entry);
    static bool retire_leaving(Entry& entry);
    // Takes leave() back, unless the entry was changed meanwhile and stays anyway.
    static void stay(Entry& entry);
    // Always retires, and returns whether the caller disposes of the entry (else the consumer
    // does).
    static bool retire(Entry& entry);

  private:
    static bool move(Entry& entry, ChangeState from, ChangeState to);
    void push(Entry& entry);

    // Top of a stack that is only pushed to and taken whole, so no entry can leave and return
    // unseen.
    std::atomic<Entry*> top_{nullptr};
    // Set by the consumer, cleared by whoever wakes it.
    std::atomic<bool> is_asleep_{false};
    std::atomic<bool> is_hurried_{false};  // relaxed: a hint
    std::function<void()> wake_;
    // A ring that is written to without a lock: urged_ counts the additions, a slot holds a hash or
    // 0. A writer may overwrite what was not taken yet; that entry is flushed in its turn.
    static constexpr std::uint64_t kUrgent = 256;
    std::array<std::atomic<std::uint64_t>, kUrgent> urgent_{};
    std::atomic<std::uint64_t> urged_{0};
    std::uint64_t urgent_taken_ = 0;  // the consumer's
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_CHANGED_H_
