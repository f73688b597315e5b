// An entry: the counts and the state of one LimitKey on one node.
#ifndef SLUICE_COUNTER_ENTRY_H_
#define SLUICE_COUNTER_ENTRY_H_

#include <sluice/time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "counter/cell_count.h"
#include "counter/limit_key.h"
#include "window/cell.h"
#include "window/sliding.h"

namespace sluice {

// With which nodes a table's counts are shared.
enum class Sharing {
    kAlone,   // none: local counts are complete
    kSole,    // with other regions; this is the only node of its own, and has no origin
    kShared,  // with the other nodes of the region, through an origin
};

// The state of an entry in the list of changed entries; counter/changed.h has the transitions.
enum class ChangeState : std::uint8_t {
    kUntracked,   // changes are not listed
    kListed,      // in the list
    kTakenAgain,  // taken by the consumer, and changed since
    kTaken,       // by the consumer
    kIdle,        // all changes are synced
    kLeaving,     // synced, and about to be removed from the table
    kRetired,     // removed from the table
};

// An entry holds the cells high-2 to high+1, where `high` is the newest sequence that a request was
// decided at. Of these, high-1 and high can be current, each with its predecessor; high+1 takes the
// counts of a peer whose clock is ahead. Counts of older sequences are gone: a request that is late
// by two windows is decided at the oldest instant that can be current, never on an empty cell that
// once held counts. An older one shows that the clock has stepped back since the ring moved on; see
// starts_over_in().
//
// Thread-safe: every method may race with every other, except the constructor and the destructor.
//
// Numbered invariants are those of ARCHITECTURE.md.
class alignas(64) Entry {
  public:
    // `forgotten_until`: counts of this key that mattered before then may have been held and
    // dropped, so nothing is decided in a window that ended before. `now` says in which sequence
    // the entry begins. `incarnation` differs from those of all entries that had this key before
    // and were evicted.
    Entry(const LimitKey& key,
          UnixTime now,
          UnixTime forgotten_until,
          Sharing sharing,
          std::uint32_t incarnation = 0);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    bool has_key(const LimitKey& key) const {
        if (key.is_short()) [[likely]]
            return key.is(shape_, texts_);
        return key.shape() == shape_ && key.has_long_texts(long_texts());
    }
    struct Key {
        std::string workspace;
        std::string name_space;
        std::string identifier;
        Duration duration;
    };
    Key key() const;
    std::size_t text_bytes() const { return shape_.text_bytes(); }
    std::uint64_t hash() const { return hash_; }
    Duration duration() const { return shape_.duration(); }

    // Distinguishes the components of this entry from those of earlier entries of the same key,
    // which were evicted while their counts were in use and stay at the origin. Grows modulo 2^32.
    std::uint32_t incarnation() const {
        std::uint32_t number = incarnation_high_;
        for (int byte = 2; byte >= 0; --byte)
            number = number << 8U | incarnation_[byte];
        return number;
    }

    // The instant at which a request at `now` is decided. Advances the ring if `now` is newer than
    // `high`. Requires that `now` has not outgrown the entry. The sequence is kClosed if the entry
    // was closed.
    Instant locate(UnixTime now);
    // The common case of locate(); false if `now` is not within the newest window.
    bool locate_in_newest(UnixTime now, Instant& at) const {
        // Acquire: pairs with the release in advance(), after which the cells of `high` are open.
        at.sequence = high_.load(std::memory_order_acquire);
        at.elapsed = now - start_of(at.sequence, duration());
        return static_cast<std::uint64_t>(at.elapsed.count()) <
               static_cast<std::uint64_t>(duration().count());
    }

    // locate() once more, after a cell that `at` needs was found in a later sequence. The sequence
    // is kClosed as above; a closed ring may lack any cell.
    Instant relocate(Instant at, UnixTime now);

    // Whether `now` lies so far ahead that laps of the ring are ambiguous. All counts held are dead
    // by then; the table replaces the entry. True if the entry is closed.
    bool outgrown(UnixTime now) const {
        const Sequence newest = high();
        return newest == kClosed || now >= start_of(newest + kMaxLeap, duration());
    }

    // A request from before all cells that are held shows that the clock that moved the ring was
    // ahead, or that its own is behind. Its key starts over, in an entry that takes the place of
    // this one, in the sequence that this returns: at once, unless the ring leapt here from its own
    // sequence or the one before. Then it is the one in which nothing of before the leap counts any
    // more. Until then, such requests are decided in the newest cell, together with what was
    // spent there. So a step forward and back passes at most one limit too much, and two clocks
    // that are used in turn replace an entry once in two windows. None if `now` is not that early.
    std::optional<Sequence> starts_over_in(UnixTime now) const;
    bool must_start_over(UnixTime now) const;
    // Closes the entry for good, unless its newest sequence is not `high` any more. Acquire and
    // release: no count is needed any more, but the order with advance() is.
    [[nodiscard]] bool close(Sequence high) {
        return high_.compare_exchange_strong(high, kClosed, std::memory_order_acq_rel);
    }
    // Whether the ring would move to `now` without the cells between.
    bool would_leap(UnixTime now) const;
    // The ring has come here from `sequence` without the cells between. Relaxed: published by the
    // release of `high_` or of the entry.
    void note_leap(Sequence sequence);

    // Closes the entry for good if all its cells are dead at `now`, and returns since when. A
    // thread that has found the entry before can't move its ring any more, and so can't spend in a
    // window that matters (invariant 7).
    static constexpr Sequence kClosed = -1;
    std::optional<UnixTime> close_if_dead(UnixTime now);
    Sequence high() const { return high_.load(std::memory_order_acquire); }

    // Whether it has changes that the consumer of the changed list has not finished writing.
    bool is_unsynced() const {
        const ChangeState state = change_state_.load(std::memory_order_seq_cst);
        return ChangeState::kUntracked < state && state < ChangeState::kIdle;
    }
    // Whether its changes are listed at all; constant.
    bool is_tracked() const {
        return change_state_.load(std::memory_order_relaxed) != ChangeState::kUntracked;
    }
    bool is_retired() const {
        return change_state_.load(std::memory_order_seq_cst) == ChangeState::kRetired;
    }
    // Whether the consumer of the changed list holds it.
    bool is_taken() const {
        const ChangeState state = change_state_.load(std::memory_order_seq_cst);
        return state == ChangeState::kTaken || state == ChangeState::kTakenAgain;
    }
    bool is_leaving() const {
        return change_state_.load(std::memory_order_seq_cst) == ChangeState::kLeaving;
    }

    // Whether counts that were read from it before may be written to a store. A cost spent in an
    // entry that is being removed may be entered in its successor, and written by that one.
    bool stays() const { return !is_leaving() && !is_retired(); }

    // Whether a spent cost has to be marked; see counter/changed.h.
    bool needs_mark() const {
        return change_state_.load(std::memory_order_seq_cst) > ChangeState::kTakenAgain;
    }

    // This node's component of a cell as decisions see it. Stores get less: Components
    // (counter/changed.h) subtracts what unfinished batches hold.
    CellCount& admitted(Sequence sequence) { return admitted_[place_of(sequence)]; }
    const CellCount& admitted(Sequence sequence) const { return admitted_[place_of(sequence)]; }

    // A batch adds its cost to `held` before it admits it, and to `let_go` when it has settled or
    // undone it. Both sums only grow, modulo 2^64; their difference is what unfinished batches
    // hold, or are about to. Sequentially consistent: see Components.
    void begin_holding(Count cost) { held_.fetch_add(cost, std::memory_order_seq_cst); }
    void end_holding(Count cost) { let_go_.fetch_add(cost, std::memory_order_seq_cst); }
    std::uint64_t held() const { return held_.load(std::memory_order_seq_cst); }
    std::uint64_t let_go() const { return let_go_.load(std::memory_order_seq_cst); }

    // Merge the counts of a cell by the peers and by other regions. By max, so repeated and
    // reordered merges are harmless. False if the cell is not held.
    bool raise_peers(Sequence sequence, Count to) { return raise(peers_, sequence, to); }
    bool raise_global(Sequence sequence, Count to) { return raise(global_, sequence, to); }

    // Merges an imported cell: `foreign` was spent by other regions, `own` is at least what this
    // region has spent. This node's part of `own` is known; if the remainder is more than the peers
    // are known to have spent, it raises their count. It never enters the global count. False if
    // the cell is not held.
    struct ImportedCounts {
        Count own;
        Count foreign;
    };
    bool merge_imported(Sequence sequence, ImportedCounts imported);

    // Whether a count of peers or other regions was ever merged. Relaxed: a merge that is not seen
    // yet counts as not made yet.
    bool has_foreign() const { return has_foreign_.load(std::memory_order_relaxed); }

    // Whether it is queued for publishing (global/publish_queue.h). Sequentially consistent: counts
    // change before begin_offer(), and are read after end_offer().
    bool begin_offer() {
        return (flags_.load(std::memory_order_seq_cst) & kOfferedFlag) == 0 &&
               (flags_.fetch_or(kOfferedFlag, std::memory_order_seq_cst) & kOfferedFlag) == 0;
    }
    void end_offer() { clear_flag(kOfferedFlag); }

    // The counts of a cell by the peers, by other regions, and by both; 0 if it is not held.
    Count peers(Sequence sequence) const { return peers_[place_of(sequence)].of(sequence); }
    Count global(Sequence sequence) const { return global_[place_of(sequence)].of(sequence); }
    Count foreign(Sequence sequence) const { return peers(sequence) + global(sequence); }

    // The whole known count of a cell; 0 if it is not held.
    Count spent(Sequence sequence) const {
        return admitted_[place_of(sequence)].of(sequence) + foreign(sequence);
    }

    // When the peers' counts were last read, by the clock of the requests. kNever: they were never
    // read, or the origin is deciding requests for the key. kStrict: they were read in strict mode,
    // or the key was denied since.
    static constexpr UnixTime kNever = UnixTime::min();
    static constexpr UnixTime kStrict = kNever + Duration{1};
    UnixTime refreshed_at() const {
        // Relaxed: a hint about age; nothing is published through it.
        return UnixTime{Duration{refreshed_at_ms_.load(std::memory_order_relaxed)}};
    }
    void set_refreshed(UnixTime at);
    // While the origin decides requests for the key, costs it grants are missing here, and further
    // requests wait for it: from each suspend_view() to its resume_view(), the counts are as if
    // never read, and set_refreshed() does nothing. Both are called by the region's thread alone.
    void suspend_view();
    // An entry that took the place of one that has expired meanwhile was never suspended.
    void resume_view() {
        if (suspended_.load(std::memory_order_relaxed) != 0)
            suspended_.fetch_sub(1, std::memory_order_relaxed);
    }

    // The count of this entry's component of `sequence` that the origin has acknowledged, when it
    // had also acknowledged all that was settled in the cell before. Written by the region's
    // thread; cleared by the threads that move the ring or list all entries again. Relaxed, since
    // an old value only makes more of the spend count as unsynced. Answers may come in any order:
    // of one cell, the highest count holds.
    void set_synced(Sequence sequence, Count count) {
        const std::uint64_t word = static_cast<std::uint64_t>(sequence) << kCountBits | count;
        const std::uint64_t held = synced_.load(std::memory_order_relaxed);
        if (held >> kCountBits == word >> kCountBits && held > word) return;
        synced_.store(word, std::memory_order_relaxed);
    }
    void clear_synced() { synced_.store(0, std::memory_order_relaxed); }
    // This node's spend in `current` and the cell before that the origin has not acknowledged.
    Count unsynced(Sequence current) const {
        return unsynced(current,
                        {.current = admitted(current).of(current),
                         .previous = admitted(current - 1).of(current - 1)});
    }
    // The same, for a caller that has loaded this node's counts already.
    Count unsynced(Sequence current, Spent own) const {
        const std::uint64_t word = synced_.load(std::memory_order_relaxed);
        const Count synced = word & kMaxCount;
        if (is_word_of(word, current)) return own.current - std::min(own.current, synced);
        if (is_word_of(word, current - 1))
            return own.current + own.previous - std::min(own.previous, synced);
        return own.current + own.previous;
    }
    // Whether the origin has acknowledged anything of `sequence`, and so all that was settled in
    // the cell before by then.
    bool is_synced_in(Sequence sequence) const {
        return is_word_of(synced_.load(std::memory_order_relaxed), sequence);
    }

    // How much more than `admitted` the origin may hold of this entry's component of a cell: costs
    // it is deciding, and costs it granted in a call whose answer was lost. Known for the newest
    // cell in which it decided; for earlier ones it may be any number. Written by the region's
    // thread alone.
    void set_credit(Sequence sequence, Count most);
    Count credit(Sequence sequence) const;
    // The most that the origin may hold of it. Loads the credit first, sequentially consistent: it
    // is lowered after `admitted` was raised.
    Count most_at_origin(Sequence sequence) const {
        const Count more = credit(sequence);
        return saturating_add(admitted(sequence).of(sequence), more);
    }

    // Whether the next flush should begin with this entry. The deciding thread that sets it puts
    // the entry on the list of urgent ones (counter/changed.h). Relaxed: a hint.
    bool begin_urgent() {
        return (flags_.load(std::memory_order_relaxed) & kUrgentFlag) == 0 &&
               (flags_.fetch_or(kUrgentFlag, std::memory_order_relaxed) & kUrgentFlag) == 0;
    }
    void end_urgent() { clear_flag(kUrgentFlag); }

    // Whether a cost was spent in the cell before the newest one, which a flush may leave out
    // otherwise. Sequentially consistent: set after the count has grown, cleared before it is read.
    void note_late() {
        if ((flags_.load(std::memory_order_seq_cst) & kLateFlag) == 0)
            flags_.fetch_or(kLateFlag, std::memory_order_seq_cst);
    }
    bool take_late() {
        return (flags_.load(std::memory_order_seq_cst) & kLateFlag) != 0 &&
               (clear_flag(kLateFlag) & kLateFlag) != 0;
    }

    // Whether a denial lies less than a duration back: strict mode. A deadline further ahead was
    // set by a clock that was ahead.
    bool is_strict(UnixTime now) const { return is_near(now, strict_until()); }
    UnixTime strict_until() const {
        return UnixTime{Duration{strict_until_ms_.load(std::memory_order_relaxed)}};
    }
    // From `now` until `until`; never shortens a deadline. Whether it was not strict before.
    bool make_strict(UnixTime now, UnixTime until);

    // The limit and the time (to within kUseLag) of the last request: for inspection, publishing
    // and eviction.
    static constexpr Duration kUseLag{16};
    [[gnu::always_inline]] void note_use(Count limit, UnixTime now) {
        // Relaxed: hints. Written only on change, so that a line that is only read stays shared.
        if (last_limit_.load(std::memory_order_relaxed) != limit) {
            last_limit_.store(limit, std::memory_order_relaxed);
        }
        const std::int64_t now_ms = now.time_since_epoch().count();
        const std::int64_t since = now_ms - last_used_ms_.load(std::memory_order_relaxed);
        if (since < kUseLag.count() && since >= 0) [[likely]]
            return;
        last_used_ms_.store(now_ms, std::memory_order_relaxed);
    }
    Count last_limit() const { return last_limit_.load(std::memory_order_relaxed); }
    UnixTime last_used() const {
        return UnixTime{Duration{last_used_ms_.load(std::memory_order_relaxed)}};
    }

  private:
    friend class ChangedList;
    friend class Bucket;
    friend class Shard;

    // How far the ring may move at once: LapCount orders sequences that are within 4,096,
    // and up to kRingSize of these are taken by the cells themselves.
    static constexpr Sequence kMaxLeap = 4'000;
    // A move by so many sequences or more keeps no cell that can be current.
    static constexpr Sequence kFewestLeapt = 3;
    using Ring = CellCount[kRingSize];

    // Whether a word of set_synced() is about `sequence`.
    static bool is_word_of(std::uint64_t word, Sequence sequence) {
        return word >> kCountBits ==
               static_cast<std::uint64_t>(sequence) << kCountBits >> kCountBits;
    }
    // Returns the flags before.
    std::uint8_t clear_flag(std::uint8_t flag) {
        return flags_.fetch_and(static_cast<std::uint8_t>(~flag), std::memory_order_seq_cst);
    }
    bool is_near(UnixTime now, UnixTime strict_until) const;
    bool is_beyond(UnixTime now, UnixTime strict_until) const;
    bool advance(Sequence to);
    Instant clamped(UnixTime now, Sequence high) const;
    bool open(Sequence sequence, Sequence high);
    bool raise(Ring& ring, Sequence sequence, Count to);
    // Clears the synced count unless decisions at `to`, to which the ring moves, need it.
    void forget_synced(Sequence high, Sequence to);
    bool has_long_texts_here() const { return shape_.text_bytes() <= sizeof texts_; }
    char* texts_elsewhere() const {
        char* texts = nullptr;
        std::memcpy(&texts, &texts_, sizeof texts);
        return texts;
    }
    const char* long_texts() const {
        return has_long_texts_here() ? reinterpret_cast<const char*>(&texts_) : texts_elsewhere();
    }

    // First cache line: the key. The states lie in the tail of the shape. Texts that are not short
    // lie in the memory of the short ones if they fit, else that holds an owned pointer to them.
    ShortTexts texts_{};
    [[no_unique_address]] const KeyShape shape_;
    // Written by ChangedList and by the removal of the entry; see counter/changed.h for the orders.
    std::atomic<ChangeState> change_state_;
    std::atomic<bool> has_foreign_{false};  // set once, by the first raise; relaxed
    // Where the ring comes from. kPastForgotten: counts of the window before the newest may have
    // been forgotten, so that it can't be current. Cleared once (release, after `high` has moved
    // on), read before `high` (acquire). The other bits are the lowest of the sequence from which
    // the ring last leapt over two cells or more, at first that in which it began: see note_leap().
    static constexpr std::uint8_t kPastForgotten = 0x80;
    static constexpr std::uint8_t kLeftBits = 0x7F;
    std::atomic<std::uint8_t> came_from_;
    const std::uint8_t incarnation_[3];

    // Second cache line: the counts that a decision without sharing needs. `high` is written by the
    // thread that moves the ring (release, after opening the cells) and read by every decision
    // (acquire).
    alignas(64) Ring admitted_;
    std::atomic<Sequence> high_;
    // Sequentially consistent, against strict_until_ms_ (set_refreshed(), make_strict()); decisions
    // read it relaxed.
    std::atomic<std::int64_t> refreshed_at_ms_;
    // Hints, relaxed throughout: written by refreshes and decisions.
    std::atomic<Count> last_limit_{0};
    std::atomic<std::int64_t> last_used_ms_;

    // Third cache line: the counts of peers and other regions.
    alignas(64) Ring peers_;
    Ring global_;

    // Fourth cache line: everything else.
    std::atomic<std::uint64_t> held_{0};    // written by batches, as the next one
    std::atomic<std::uint64_t> let_go_{0};  // read by Components
    // Written by denials, and by refreshes; see set_refreshed().
    std::atomic<std::int64_t> strict_until_ms_{std::numeric_limits<std::int64_t>::min()};
    // See set_synced(): the sequence modulo 2^11, and the count. Starts with nothing of cell 0.
    std::atomic<std::uint64_t> synced_{0};
    // Guarded by change_state_: written by the thread that lists the entry.
    Entry* next_changed_ = nullptr;
    const std::uint64_t hash_;
    const std::uint8_t incarnation_high_;
    // Its state in the shard's queue of leaving entries. Guarded by the shard's lock.
    struct Leaving {
        bool is_queued : 1;      // it is in the queue
        bool is_unlinked : 1;    // meanwhile, it was removed from the table
        bool is_given_back : 1;  // and the consumer of the changed list has released it
    } leaving_{};
    static constexpr std::uint8_t kUrgentFlag = 1;   // see begin_urgent()
    static constexpr std::uint8_t kLateFlag = 2;     // see note_late()
    static constexpr std::uint8_t kOfferedFlag = 4;  // see begin_offer()
    std::atomic<std::uint8_t> flags_{0};
    std::atomic<std::uint8_t> suspended_{0};  // see suspend_view(); relaxed: one thread's
    // See set_credit(): the sequence modulo 2^11, and the count.
    static constexpr int kCreditBits = 21;
    static constexpr std::uint32_t kMaxCredit = (1U << kCreditBits) - 1;  // or any more
    std::atomic<std::uint32_t> credit_;
    // The next entry of an overfull bucket. Written under the shard's lock, read by lookups.
    std::atomic<Entry*> next_in_bucket_{nullptr};
};

// The name of a cell of `key`.
inline CellName name_of(const Entry::Key& key, Sequence sequence) {
    return {.workspace = key.workspace,
            .name_space = key.name_space,
            .identifier = key.identifier,
            .duration = key.duration,
            .sequence = sequence};
}

static_assert(sizeof(Entry) == 256, "four lines of the cache: see docs/decisions/0001-table.md");

}  // namespace sluice

#endif  // SLUICE_COUNTER_ENTRY_H_
