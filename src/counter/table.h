// The table of all entries: finds the entry of a LimitKey in one lookup.
#ifndef SLUICE_COUNTER_TABLE_H_
#define SLUICE_COUNTER_TABLE_H_

#include <sluice/result.h>
#include <sluice/time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "counter/changed.h"
#include "counter/entry.h"
#include "counter/limit_key.h"
#include "counter/page_provisioner.h"
#include "counter/shard.h"
#include "counter/tally.h"
#include "window/sharing.h"

namespace sluice {

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

    // Borrows `request`.
    [[gnu::always_inline]] LimitKey key(const Request& request) const { return {request, hash_}; }

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

    // The entry for the key of `request`, made if need be, for counts of other regions at about
    // `now`. nullptr if the table is at its cap, and all entries it examined are used by requests
    // here: those are not evicted for keys that no request uses. If one does later, the next full
    // import brings the counts.
    Entry* entry_for_import(const Request& request, UnixTime now);

    // Calls `made` with each entry that a request made whose texts have more bytes than this,
    // together, perhaps more than once. Before other threads use the table.
    void watch_long_keys(std::size_t bytes, std::function<void(Entry&)> made) {
        watched_bytes_ = bytes;
        on_long_key_ = std::move(made);
    }

    // nullptr if the key is not held.
    [[gnu::always_inline]] Entry* find(const LimitKey& key) { return shard_of(key).find(key); }

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

    // Lists every entry with local counts that have not expired at `now`, for an origin that has
    // lost its data. Goes through up to `buckets` buckets at a time, and returns whether it is at
    // the end. Entries that are made meanwhile are listed by their first cost.
    struct Walk {
        std::size_t shard = 0;
        std::size_t bucket = 0;
    };
    bool list_again(Walk& walk, std::size_t buckets, UnixTime now);

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
    std::size_t watched_bytes_ = std::numeric_limits<std::size_t>::max();
    std::function<void(Entry&)> on_long_key_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_TABLE_H_
