// The count of one cell in one atomic word, together with the sequence that it belongs to.
//
// An entry keeps its cells in a ring of four places; sequence s lives in place s mod 4. A place is
// used again for the sequence four later, while slow threads may still work in the old one. So each
// count carries the lap of its ring in the same 64-bit word: a thread that still means the old
// sequence fails its compare-and-swap instead of spending in a cell that it never looked at.
//
// The lap has 11 bits. A thread would be wrong only if it slept between two neighbouring
// instructions until its place came round to the same lap again, that is for an exact multiple of
// 8,192 windows (2.3 hours at the least), and found the very same count there.
#ifndef SLUICE_COUNTER_CELL_COUNT_H_
#define SLUICE_COUNTER_CELL_COUNT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "window/cell.h"
#include "window/sliding.h"

namespace sluice {

inline constexpr int kRingBits = 2;
inline constexpr Sequence kRingSize = Sequence{1} << kRingBits;
inline constexpr int kLapBits = 64 - kCountBits;

constexpr std::size_t place_of(Sequence sequence) {
    return static_cast<std::size_t>(sequence & (kRingSize - 1));
}

// A count as it was read, with its lap.
class LapCount {
  public:
    constexpr explicit LapCount(std::uint64_t word) : word_(word) {}
    constexpr LapCount(Sequence sequence, Count count)
        : word_((static_cast<std::uint64_t>(sequence >> kRingBits) << kCountBits) | count) {}

    constexpr std::uint64_t word() const { return word_; }
    constexpr Count count() const { return word_ & kMaxCount; }

    // How many laps this count is ahead of `sequence`: 0 if it belongs to it, negative if it is
    // older. Right as long as the two are less than 4,096 sequences apart.
    constexpr std::int64_t laps_ahead_of(Sequence sequence) const {
        const std::uint64_t apart = word_ - LapCount{sequence, 0}.word_;
        return static_cast<std::int64_t>(apart) >> kCountBits;
    }
    constexpr bool belongs_to(Sequence sequence) const {
        return (word_ ^ LapCount{sequence, 0}.word_) <= kMaxCount;
    }

  private:
    std::uint64_t word_;
};

// The shared form of a LapCount. Thread-safe and lock-free.
//
// Memory order. A decision loads the current cell's admitted count, then the previous cell's, then
// swaps the first: the order of the two loads is what makes the decision atomic (see
// decide/single.h), and the changed list relies on the swap being ordered against the entry's
// change state (see counter/changed.h). Both are had by sequential consistency, which costs a load
// or a locked instruction nothing on x86 and little elsewhere.
class CellCount {
  public:
    LapCount load() const { return LapCount{word_.load(std::memory_order_seq_cst)}; }

    // The count of `sequence`; 0 if the place holds another one.
    Count of(Sequence sequence) const {
        const LapCount held = load();
        return held.belongs_to(sequence) ? held.count() : 0;
    }

    // Adds `cost` if the count is still what was read: the swap by which a request passes
    // (invariant 1). The caller has made sure that the sum is a count.
    bool add_to(LapCount read, Count cost) {
        std::uint64_t expected = read.word();
        return word_.compare_exchange_strong(expected, expected + cost, std::memory_order_seq_cst);
    }

    // Changes the count of `sequence` to `change(count)`, and returns whether it is still held.
    // Repeats only where another thread changed the count meanwhile, each of which has thereby
    // finished its own step.
    template <class Change>
    bool update(Sequence sequence, Change change) {
        std::uint64_t word = word_.load(std::memory_order_seq_cst);
        while (LapCount{word}.belongs_to(sequence)) {
            const LapCount changed{sequence, change(LapCount{word}.count())};
            if (word_.compare_exchange_weak(word, changed.word(), std::memory_order_seq_cst))
                return true;
        }
        return false;
    }

    bool add(Sequence sequence, Count cost) {
        return update(sequence, [cost](Count count) { return saturating_add(count, cost); });
    }
    // Undoes an add() or add_to() of this cost to the same sequence (invariant 4).
    bool subtract(Sequence sequence, Count cost) {
        return update(sequence, [cost](Count count) { return count - cost; });
    }
    // Never lowers the count (invariant 2).
    bool raise(Sequence sequence, Count to) {
        return update(sequence, [to](Count count) { return count < to ? to : count; });
    }

    // Replaces what was read by an empty count of `sequence`, if it is still there.
    void reopen(LapCount read, Sequence sequence) {
        std::uint64_t expected = read.word();
        word_.compare_exchange_strong(
            expected, LapCount{sequence, 0}.word(), std::memory_order_seq_cst);
    }

    // Only before other threads can see this count.
    void reset(Sequence sequence) {
        word_.store(LapCount{sequence, 0}.word(), std::memory_order_relaxed);
    }

  private:
    // Written by every thread that decides, settles, undoes, merges or opens; read by all of them.
    std::atomic<std::uint64_t> word_;
};

static_assert(sizeof(CellCount) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace sluice

#endif  // SLUICE_COUNTER_CELL_COUNT_H_
