// The entries whose counts changed: how replay and publish find work without walking the table.
#ifndef SLUICE_COUNTER_CHANGED_H_
#define SLUICE_COUNTER_CHANGED_H_

#include <array>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "counter/entry.h"

namespace sluice {

// The settled counts of the cells that an entry held when they were read.
class Components {
  public:
    explicit Components(const Entry& entry);

    struct Component {
        Sequence sequence;
        Count count;
    };
    const std::array<Component, kRingSize>& all() const { return all_; }

    bool are_anything() const;

    // Whether `entry` still holds just these, and nothing admitted that is not settled.
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
//     kTaken -> kIdle             release(): all that it holds was told
//     kTaken, kTakenAgain -> kListed   release(): there is more to tell; give_back(): all of it
//     kIdle -> kRetired           retire_idle(): the table may remove it, nothing is left to tell
//     any -> kRetired             retire(): its cells are dead, nobody needs to be told
//
// An admission is announced *before* it is settled: CAS on admitted, mark(), CAS on settled. So an
// idle entry has told everything, and a thread that finds its entry retired knows that nothing of
// its own cost was told: it settles the cost in the entry that took the place (invariant 8). A
// release in between sees admitted differ from settled and keeps the entry listed.
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

    // After an admission, before it is settled. False if the entry is retired.
    [[nodiscard]] bool mark(Entry& entry);

    // The entries that were listed, newest first. They stay valid until they are released. Entries
    // that were retired while in the list are returned apart: nobody else refers to them but
    // readers under way.
    struct Taken {
        std::vector<Entry*> changed;
        std::vector<Entry*> retired;
    };
    Taken take();

    // Ends the consumer's hold after `told` has reached its destination. False if the entry was
    // retired meanwhile; it is then the caller's to dispose of.
    [[nodiscard]] bool release(Entry& entry, const Components& told);

    // Ends the consumer's hold after nothing has reached its destination: the entry is listed
    // again. False as above.
    [[nodiscard]] bool give_back(Entry& entry);

    // For the table. The first only retires an entry that nobody has to be told of, and returns
    // whether it did. The second always does, and returns whether the caller disposes of the entry
    // (else the consumer does).
    static bool retire_idle(Entry& entry);
    static bool retire(Entry& entry);

  private:
    void push(Entry& entry);

    // Top of a stack that is only pushed to and taken whole, so no entry can leave and return
    // unseen.
    std::atomic<Entry*> top_{nullptr};
    // Set by the consumer, cleared by whoever wakes it.
    std::atomic<bool> is_asleep_{false};
    std::function<void()> wake_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_CHANGED_H_
