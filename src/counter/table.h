// The table of all entries. A lookup goes from the hash of a LimitKey to a shard, to a bucket and
// to an entry, without a lock: Table, Shard and Bucket, in the reverse order here. Changes lock one
// shard (shard.cc).
#ifndef SLUICE_COUNTER_TABLE_H_
#define SLUICE_COUNTER_TABLE_H_

#include <sluice/result.h>
#include <sluice/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "counter/changed.h"
#include "counter/entry.h"
#include "counter/entry_pool.h"
#include "counter/epoch.h"
#include "counter/forgotten_counts.h"
#include "counter/limit_key.h"
#include "counter/page_provisioner.h"
#include "counter/tally.h"
#include "window/sharing.h"

namespace sluice {

// A bucket is one cache line of tagged pointers to entries: seven slots and, for what doesn't fit,
// a chain of entries. A slot is an entry's address with 16 bits of its hash above it, so that a
// lookup goes to hardly any entry but its own. The hash also says in which pair of slots an entry
// is at home; nearly all are there. A lookup compares these two at once, and the processor has
// nothing to guess. The last pair is one slot and the head of the chain, an address without a tag:
// to be taken for a slot is harmless.
//
// A bucket of zeros is an empty bucket: fresh memory from the system needs no constructor.
//
// Thread-safe lookups without a lock; changes only under the shard's lock. A lookup that races with
// a change may miss an entry that moves, never find a wrong one; the table looks again under the
// lock before it believes a miss.
//
// Memory order: slots publish the content of their entries, and lookups must be ordered after the
// reader's epoch announcement. Sequential consistency gives both; see counter/epoch.h. A
// thread that looks up is pinned; each address is confirmed before it is followed.
class alignas(64) Bucket {
  public:
    [[gnu::always_inline]] Entry* find(const LimitKey& key) const {
        Entry* const entry = guess(key.hash());
        if (entry != nullptr && entry->has_key(key)) [[likely]]
            return entry;
        return find_elsewhere(key.hashed_request());
    }

    // The most probable result of find(), already being fetched from memory; or nullptr.
    [[gnu::always_inline]] Entry* guess(std::uint64_t hash) const {
        for (;;) {  // ends: repeats only after the epoch has moved on
            std::uint64_t below = candidate(hash);
            if (below >= kAddressMask) [[unlikely]]
                below = find_slot(hash);
            if (below >= kAddressMask) return nullptr;
            Entry* const entry = address_in(below + 1);
            // A decision needs two lines of an entry: fetched at once, they cost one miss.
            __builtin_prefetch(entry);
            __builtin_prefetch(entry->admitted_, 1);
            if (Epoch::confirm()) [[likely]]
                return entry;
        }
    }

    void insert(Entry& entry);
    bool insert_in_slot(const Entry& entry);  // false if all are taken
    bool has_in_slot(const Entry& entry) const;
    void remove(Entry& entry);

    // Calls visit(entry) for each entry; `visit` may remove it.
    template <class Visit>
    void for_each(Visit visit) {
        for (const auto& slot : slots()) {
            const std::uint64_t word = slot.load(std::memory_order_relaxed);
            if (word != 0) visit(*address_in(word));
        }
        Entry* entry = address_in(chain().load(std::memory_order_relaxed));
        while (entry != nullptr) {
            Entry* const next = entry->next_in_bucket_.load(std::memory_order_relaxed);
            visit(*entry);
            entry = next;
        }
    }

  private:
    static constexpr std::size_t kPlaces = 8;
    static constexpr int kAddressBits = 48;
    static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

    // Shard, bucket, pair and tag are chosen by different bits of the hash.
    static std::size_t home_of(std::uint64_t hash) { return (hash >> 36U & 3U) * 2; }
    static std::uint64_t tag_of(std::uint64_t hash) { return hash >> 43U << kAddressBits; }
    static Entry* address_in(std::uint64_t word) {
        return reinterpret_cast<Entry*>(word & kAddressMask);  // NOLINT(performance-no-int-to-ptr)
    }
    static std::uint64_t word_for(const Entry& entry);
    static std::uint64_t word_in_chain(const Entry* entry);

    // If the slot leads to an entry whose hash has the tag of `hash`: its address, less one, which
    // is below kAddressMask. Else a number that is not: a free slot is 0, and no address is.
    static std::uint64_t below_address(const std::atomic<std::uint64_t>& slot, std::uint64_t hash) {
        return (slot.load(std::memory_order_seq_cst) ^ tag_of(hash)) - 1;
    }

    // The same of the two slots where it most probably is: the smaller one is an address if any of
    // the two is.
    [[gnu::always_inline]] std::uint64_t candidate(std::uint64_t hash) const {
        const std::size_t home = home_of(hash);
        return std::min(below_address(places_[home], hash), below_address(places_[home + 1], hash));
    }

    // The same of all slots, or of the last one.
    std::uint64_t find_slot(std::uint64_t hash) const;

    // The slow path of a lookup. The second is false if the epoch has moved on; it is then
    // repeated.
    Entry* find_elsewhere(HashedRequest request) const;
    bool try_find_elsewhere(const LimitKey& key, Entry*& found) const;

    using Place = std::atomic<std::uint64_t>;
    std::span<Place, kPlaces - 1> slots() { return std::span(places_).first<kPlaces - 1>(); }
    std::span<const Place, kPlaces - 1> slots() const {
        return std::span(places_).first<kPlaces - 1>();
    }
    Place& chain() { return places_.back(); }
    const Place& chain() const { return places_.back(); }

    std::array<Place, kPlaces> places_;
};

static_assert(sizeof(Bucket) == 64);

// The entries that a batch has found so far, and is about to spend in.
using Needed = std::span<Entry* const>;

// A shard is a part of the table with a lock of its own for changes, by linear hashing. It starts
// with one bucket and splits one more, in turn, when the average bucket grows past kAverage: an
// insertion moves the entries of one bucket at the most, and nothing is ever rehashed as a whole.
// The buckets of all shards take turns in one stretch of reserved addresses, of which the system
// fills only what was touched: apart, the shards' first buckets would compete for the same places
// in the processor's caches.
//
// Thread-safe. find() takes no lock and needs an EpochPin; all other methods lock.
class alignas(64) Shard {
  public:
    // Every (1 << stride_bits)th bucket from `first` on is the shard's, `count` of them: empty
    // ones, zeroed memory. They, `tally` and `memory` outlive the shard.
    struct Buckets {
        Bucket* first;
        int stride_bits;
        std::size_t count;
    };
    void attach(const Buckets& buckets, Tally& tally, PageProvisioner& memory);
    ~Shard();

    [[gnu::always_inline]] Entry* find(const LimitKey& key) const {
        return bucket_of(key.hash()).find(key);
    }

    // Pairs with the stores in split(): the buckets of a count that is seen are filled. A lookup
    // that sees the count of one split and the mask of another goes to a bucket that exists, and at
    // the worst misses.
    [[gnu::always_inline]] Bucket& bucket_of(std::uint64_t hash) const {
        const std::uint64_t mask = offset_mask_.load(std::memory_order_seq_cst);
        const std::uint64_t offset = hash & mask;
        const bool exists = offset < end_.load(std::memory_order_seq_cst);
        return bucket_at_offset(exists ? offset : offset & mask >> 1U);
    }

    // The entry for `key`, made if there is none. An entry that `now` has outgrown, or that must
    // start over, is replaced. The entries in `needed` are evicted last of all.
    Entry& find_or_make(const LimitKey& key, UnixTime now, Sharing sharing, Needed needed);

    // All entries whose keys have that hash. The caller is pinned.
    std::vector<Entry*> entries_with_hash(std::uint64_t hash);

    // Adds the entries of up to `buckets` buckets, from the bucket `from` on, to `entries`. Returns
    // as list_again() does. The caller is pinned.
    std::size_t add_entries(std::size_t from, std::size_t buckets, std::vector<Entry*>& entries);

    // Disposes of an entry that the changed list returned as retired.
    void dispose(Entry& entry);

    // Lists those entries of up to `buckets` buckets, from the bucket `from` on, that hold counts.
    // Returns how many buckets there were. A bucket that is split meanwhile moves entries to a
    // later one.
    enum class Relisted { kNearLimit, kAll };
    std::size_t list_again(std::size_t from,
                           std::size_t buckets,
                           Relisted which,
                           ChangedList& changed);

    // Of the memory for entries. `examined` includes the checks whether an entry may leave.
    EntryPool::Stats memory() const;

    static constexpr std::size_t kAverage = 2;

  private:
    static constexpr int kBucketBits = std::countr_zero(sizeof(Bucket));

    // The bits of a hash that choose a bucket are those that, as a number of bytes, lead to it: a
    // lookup shifts nothing. A mask's half then has a bit that no offset has.
    int offset_bits() const { return kBucketBits + buckets_.stride_bits; }
    Bucket& bucket_at_offset(std::uint64_t offset) const {
        return *reinterpret_cast<Bucket*>(first_ + offset);
    }
    Bucket& bucket_at(std::size_t index) const { return bucket_at_offset(index << offset_bits()); }
    std::size_t bucket_count() const {
        return end_.load(std::memory_order_relaxed) >> offset_bits();
    }

    // `left` gets the newest sequence of an entry that was outgrown.
    Entry* find_held(const LimitKey& key, UnixTime now, std::optional<Sequence>& left)
        SLUICE_REQUIRES(mutex_);
    Entry& make(const LimitKey& key, UnixTime now, Sharing sharing) SLUICE_REQUIRES(mutex_);
    void insert(Entry& entry) SLUICE_REQUIRES(mutex_);
    void make_room(UnixTime now, Needed needed) SLUICE_REQUIRES(mutex_);
    void clean(UnixTime now) SLUICE_REQUIRES(mutex_);
    void sweep(UnixTime now) SLUICE_REQUIRES(mutex_);
    bool evict(UnixTime now, Needed needed) SLUICE_REQUIRES(mutex_);
    bool drop_if_dead(Entry& entry, UnixTime now) SLUICE_REQUIRES(mutex_);
    void drop_if_ahead(Entry& entry, UnixTime now) SLUICE_REQUIRES(mutex_);
    bool drop(Entry& entry) SLUICE_REQUIRES(mutex_);
    void finish_leaving() SLUICE_REQUIRES(mutex_);
    void leave_queue(Entry& entry) SLUICE_REQUIRES(mutex_);
    void give_back(Entry& entry) SLUICE_REQUIRES(mutex_);
    void remove(Entry& entry) SLUICE_REQUIRES(mutex_);
    void count_eviction() SLUICE_REQUIRES(mutex_);
    void unlink(Entry& entry) SLUICE_REQUIRES(mutex_);
    void split() SLUICE_REQUIRES(mutex_);
    Bucket& next_bucket() SLUICE_REQUIRES(mutex_);

    // Constant after attach().
    Buckets buckets_{};
    Tally* tally_ = nullptr;
    PageProvisioner* memory_ = nullptr;
    char* first_ = nullptr;  // the first bucket
    // Where the buckets in use end, and bit_ceil(their count) - 1, both as offsets. Grow only;
    // written under the lock, read by lookups.
    std::atomic<std::uint64_t> end_{0};
    std::atomic<std::uint64_t> offset_mask_{0};

    alignas(64) mutable ForkSafeMutex mutex_{ForkSafeMutex::Rank::kShard};
    std::size_t size_ SLUICE_GUARDED_BY(mutex_) = 0;
    // Of entries whose counts mattered, ever; modulo 2^32.
    std::uint32_t removals_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::size_t hand_ SLUICE_GUARDED_BY(mutex_) =
        0;  // the bucket that was looked at last for removals
    // Entries being removed. Some may have been used again since, and stay; some may have expired.
    GraceQueue leaving_ SLUICE_GUARDED_BY(mutex_);
    ForgottenCounts forgotten_ SLUICE_GUARDED_BY(mutex_);
    EntryPool pool_ SLUICE_GUARDED_BY(mutex_);
};

// Table holds up to `max_keys` entries. Lookups take no lock; a key that is new takes the lock of
// its shard, makes its entry, and pays for one step of growth and one of cleaning at the most.
// Entries are removed when their counts are dead, or at the cap, the least useful first.
//
// Thread-safe. A caller holds an EpochPin while it uses an Entry that it got here.
class Table {
  public:
    struct Config {
        std::size_t max_keys;
        Sharing sharing;
        std::uint64_t seed;  // of the hash
    };
    static Result<std::unique_ptr<Table>> create(const Config& config);
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    // Borrows `request`, so a temporary is refused.
    [[gnu::always_inline]] LimitKey key(const Request& request) const { return {request, hash_}; }
    LimitKey key(const Request&& request) const = delete;

    // The entry for `key`, made if need be, in which a request at `now` can be located. The entries
    // in `needed` are evicted last of all. `at` gets the instant at which the request is located.
    [[gnu::always_inline]] Entry& entry_for(const LimitKey& key,
                                            UnixTime now,
                                            Instant& at,
                                            Needed needed = {}) {
        Entry* const entry = find(key);
        if (entry != nullptr && entry->locate_in_newest(now, at)) [[likely]]
            return *entry;
        for (;;) {  // ends: an entry that was closed is unlinked at once, under the lock that a new
                    // one takes
            Entry& ready = ready_entry(key.hashed_request(), now, needed);
            at = ready.locate(now);
            if (at.sequence != Entry::kClosed) return ready;
        }
    }

    // The same, for what follows the decision of a request at `now`: the clock may have stepped
    // back since, and the key started over, so the ring does not leap ahead again.
    Entry& entry_of(const LimitKey& key, UnixTime now) {
        Entry* const entry = find(key);
        if (entry != nullptr && entry->would_leap(now)) return *entry;
        Instant at;
        return entry_for(key, now, at);
    }

    // Calls `made` with each entry that a request makes, perhaps more than once, before the request
    // is decided. The caller holds an EpochPin. Before other threads use the table.
    void watch_new_keys(std::function<void(Entry&)> made) { on_new_key_ = std::move(made); }

    // nullptr if the key is not held.
    [[gnu::always_inline]] Entry* find(const LimitKey& key) { return shard_of(key).find(key); }

    // The same, and never misses an entry that another thread moves: it may lock a shard.
    Entry* find_exactly(const LimitKey& key);

    // All entries whose keys have that hash. Locks their shard, and so misses none.
    std::vector<Entry*> entries_with_hash(std::uint64_t hash) {
        return shard_at(hash).entries_with_hash(hash);
    }

    // The most probable result of find(), not compared with the key; or nullptr.
    [[gnu::always_inline]] Entry* guess(std::uint64_t hash) {
        return shard_at(hash).bucket_of(hash).guess(hash);
    }

    // The first step of a lookup, for callers with several lookups: it doesn't wait for the memory
    // that Bucket::guess(), the next step, needs.
    [[gnu::always_inline]] const Bucket& fetch_bucket(std::uint64_t hash) {
        const Bucket& bucket = shard_at(hash).bucket_of(hash);
        __builtin_prefetch(&bucket);
        return bucket;
    }

    // Marks `entry` as changed by `cost`, which was admitted and is held by no batch any more. If
    // the table removed the entry meanwhile, the cost is entered in its successor, for which the
    // request is needed. Not for Sharing::kAlone.
    [[gnu::always_inline]] void settle(Entry& entry,
                                       Sequence sequence,
                                       Count cost,
                                       const Request& request) {
        if (sequence != entry.high()) [[unlikely]]
            entry.note_late();
        if (!entry.needs_mark()) [[likely]]
            return;
        if (changed_.mark(entry)) [[likely]]
            return;
        settle_in_successor(key(request).hashed_request(), sequence, cost);
    }

    Sharing sharing() const { return sharing_; }

    // How many nodes share the limits. Written by the region's thread, read by decisions; relaxed:
    // nothing is published through it.
    NodeCount nodes() const { return nodes_.load(std::memory_order_relaxed); }
    void set_nodes(NodeCount nodes) {
        if (nodes != this->nodes()) nodes_.store(nodes, std::memory_order_relaxed);
    }
    ChangedList& changed() { return changed_; }

    // Lists every entry with counts, for an origin that has lost its data: first those of keys that
    // have spent half of their limits. Goes through up to `buckets` buckets at a time, and returns
    // whether it is at the end. Entries that are made meanwhile are listed by their first cost.
    struct Walk {
        Shard::Relisted which = Shard::Relisted::kNearLimit;
        std::size_t shard = 0;
        std::size_t bucket = 0;
    };
    bool list_again(Walk& walk, std::size_t buckets);

    // The entries of the next buckets, up to `buckets`; `walk` ends behind them, and is done when
    // is_done() says so. The caller holds an EpochPin. An entry that is made meanwhile may be
    // missed.
    std::vector<Entry*> next_entries(Walk& walk, std::size_t buckets);
    bool is_done(const Walk& walk) const { return walk.shard > shard_mask_; }

    // Frees an entry that the changed list returned as retired.
    void dispose(Entry& entry) { shard_at(entry.hash()).dispose(entry); }

    // Of all shards.
    EntryPool::Stats memory() const;

    Tally& tally() { return tally_; }
    const Tally& tally() const { return tally_; }

  private:
    struct Reservation;

    Table(const Config& config, std::unique_ptr<Reservation> buckets);

    // The entry for `key`, made or replaced if need be.
    Entry& ready_entry(HashedRequest request, UnixTime now, Needed needed);
    // Calls visit(shard, first bucket, most buckets), which returns how many there were, until
    // `buckets` were visited. Whether that was the end.
    template <class Visit>
    bool walk_on(Walk& walk, std::size_t buckets, Visit visit);
    // Empties the changed list in a child process, which has no consumer.
    void discard_changes();
    void settle_in_successor(HashedRequest request, Sequence sequence, Count cost) noexcept;

    Shard& shard_at(std::uint64_t hash) { return shards_[(hash >> kShardShift) & shard_mask_]; }
    Shard& shard_of(const LimitKey& key) { return shard_at(key.hash()); }

    static constexpr std::size_t kMaxShards = 16;
    static constexpr int kShardShift = 60;
    // From this many keys on, a sixteenth of the table is large enough to choose evictions from.
    static constexpr std::size_t kShardedFrom = 65'536;

    static std::size_t shards_for(std::size_t max_keys) {
        return max_keys < kShardedFrom ? 1 : kMaxShards;
    }
    static std::size_t buckets_per_shard(std::size_t max_keys);

    const ForkMark made_;
    const KeyHash hash_;
    const std::size_t shard_mask_;
    const Sharing sharing_;
    std::atomic<NodeCount> nodes_{kUnknownNodes};
    Tally tally_;
    ChangedList changed_;
    std::unique_ptr<Reservation> buckets_;
    PageProvisioner memory_;
    std::array<Shard, kMaxShards> shards_;
    ForkSafeMutex discarding_{ForkSafeMutex::Rank::kTable};
    // Constant once threads use the table.
    std::function<void(Entry&)> on_new_key_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_TABLE_H_
