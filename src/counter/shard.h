// A part of the table: a hash table that grows bucket by bucket, with its own lock for changes.
#ifndef SLUICE_COUNTER_SHARD_H_
#define SLUICE_COUNTER_SHARD_H_

#include <sluice/time.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "counter/bucket.h"
#include "counter/entry_pool.h"
#include "counter/epoch.h"
#include "counter/forgotten_counts.h"
#include "counter/tally.h"

namespace sluice {

class ChangedList;

// The entries that a batch has found so far, and is about to spend in.
using Needed = std::span<Entry* const>;

// Shard is a table by linear hashing. It starts with one bucket and splits one more, in turn, when
// the average bucket grows past kAverage: an insertion moves the entries of one bucket at the most,
// and nothing is ever rehashed as a whole. The buckets of all shards take turns in one stretch of
// reserved addresses, of which the system fills only what was touched: apart, the shards' first
// buckets would compete for the same places in the processor's caches.
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

    // The entry for `key`, made if there is none. An entry that `now` has outgrown is replaced. The
    // entries in `needed` are evicted last of all.
    Entry& find_or_make(const LimitKey& key, UnixTime now, Sharing sharing, Needed needed);

    // The same for what other regions have spent. nullptr if the table is at its cap, and one would
    // have to go that a request asked for.
    Entry* find_or_import(const LimitKey& key, UnixTime now, Sharing sharing);

    // All entries whose keys have that hash. The caller is pinned.
    std::vector<Entry*> entries_with_hash(std::uint64_t hash);

    // Disposes of an entry that the changed list returned as retired.
    void dispose(Entry& entry);

    // Lists the entries of up to `buckets` buckets, from the bucket `from` on, that hold anything
    // of their own that matters at `now`. Returns how many buckets there were. A bucket that is
    // split meanwhile moves entries to a later one.
    std::size_t list_again(std::size_t from,
                           std::size_t buckets,
                           UnixTime now,
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

    // The entries that an eviction may choose from.
    enum class Evicts { kAny, kUnrequested };

    Entry* find_held(const LimitKey& key, UnixTime now) SLUICE_REQUIRES(mutex_);
    Entry& make(const LimitKey& key, UnixTime now, Sharing sharing) SLUICE_REQUIRES(mutex_);
    void insert(Entry& entry) SLUICE_REQUIRES(mutex_);
    void make_room(UnixTime now, Needed needed) SLUICE_REQUIRES(mutex_);
    bool make_room_for_import(UnixTime now) SLUICE_REQUIRES(mutex_);
    void clean(UnixTime now) SLUICE_REQUIRES(mutex_);
    void sweep(UnixTime now) SLUICE_REQUIRES(mutex_);
    bool evict(UnixTime now, Needed needed, Evicts evicts) SLUICE_REQUIRES(mutex_);
    bool drop_if_dead(Entry& entry, UnixTime now) SLUICE_REQUIRES(mutex_);
    bool drop(Entry& entry) SLUICE_REQUIRES(mutex_);
    void finish_leaving() SLUICE_REQUIRES(mutex_);
    void leave_queue(Entry& entry) SLUICE_REQUIRES(mutex_);
    void give_back(Entry& entry) SLUICE_REQUIRES(mutex_);
    void remove(Entry& entry) SLUICE_REQUIRES(mutex_);
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
    std::size_t hand_ SLUICE_GUARDED_BY(mutex_) =
        0;  // the bucket that was looked at last for removals
    // Entries being removed. Some may have been used again since, and stay; some may have expired.
    GraceQueue leaving_ SLUICE_GUARDED_BY(mutex_);
    ForgottenCounts forgotten_ SLUICE_GUARDED_BY(mutex_);
    EntryPool pool_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_SHARD_H_
