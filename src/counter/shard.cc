// Changes of a shard, under its lock: entries are made, removed and evicted, and buckets are split.

#include <algorithm>
#include <compare>
#include <optional>
#include <utility>

#include "counter/table.h"

namespace sluice {
namespace {

// Below this many keys, memory is not worth forgetting anything for.
constexpr std::size_t kSweepFrom = 1'024;

// How many entries an eviction examines: at least the first number, and up to the second (or that
// many buckets) as long as all that it has seen are close to their limits.
constexpr std::size_t kSample = 8;
constexpr std::size_t kLargeSample = 128;

constexpr int kEvictionsPerInsertion = 8;

// The cost of evicting an entry, for comparison. Entries that have used less than half of it are
// compared by the part that they have used; the others by what they have spent, so that many small
// limits, each used up by one request, don't displace a large one. Between equals, the one that was
// used last stays. Those with unsynced counts go last.
struct EvictionCost {
    bool needed;
    bool unsynced;
    bool close_to_limit;
    Count amount;
    UnixTime last_used;

    bool is_low() const { return !needed && !unsynced && !close_to_limit; }
    friend auto operator<=>(const EvictionCost&, const EvictionCost&) = default;
};

EvictionCost eviction_cost(const Entry& entry, UnixTime now, Needed needed) {
    const Duration duration = entry.duration();
    Instant at = instant_at(now, duration);
    const Sequence high = entry.high();
    if (at.sequence < high) at = {.sequence = high, .elapsed = Duration::zero()};
    const Count spent = std::min(
        kMaxCount,
        entry.spent(at.sequence) + weighted(entry.spent(at.sequence - 1), at.elapsed, duration));
    const Count limit = std::max<Count>(entry.last_limit(), 1);
    const bool close = entry.last_limit() != 0 && spent >= limit - limit / 2;
    constexpr Count kFine = 1'024;  // 2^53 * 2^10 still is a 64-bit number
    return {.needed = std::ranges::find(needed, &entry) != needed.end(),
            .unsynced = entry.is_unsynced(),
            .close_to_limit = close,
            .amount = close ? spent : spent * kFine / limit,
            .last_used = entry.last_used()};
}

}  // namespace

void Shard::attach(const Buckets& buckets, Tally& tally, PageProvisioner& memory) {
    const MutexLock lock(mutex_);
    buckets_ = buckets;
    tally_ = &tally;
    memory_ = &memory;
    pool_.attach(memory);
    first_ = reinterpret_cast<char*>(buckets.first);
    end_.store(std::uint64_t{1} << offset_bits(), std::memory_order_relaxed);
}

Shard::~Shard() {
    // An entry in the queue may still be in a bucket, and is destroyed with that.
    leaving_.for_each([](Entry& entry) {
        if (entry.leaving_.is_given_back) entry.~Entry();
    });
    for (std::size_t i = 0; i < bucket_count(); ++i) {
        bucket_at(i).for_each([](Entry& entry) { entry.~Entry(); });
    }
}

Entry& Shard::find_or_make(const LimitKey& key, UnixTime now, Sharing sharing, Needed needed) {
    const MutexLock lock(mutex_);
    std::optional<Sequence> left;
    if (Entry* const held = find_held(key, now, left)) return *held;
    Entry& entry = make(key, now, sharing);
    if (left) entry.note_leap(*left);
    try {
        make_room(now, needed);
    } catch (...) {
        pool_.unmake(entry);
        throw;
    }
    insert(entry);
    Epoch::confirm_made();
    Tally::add(tally_->created);
    return entry;
}

Entry* Shard::find_held(const LimitKey& key, UnixTime now, std::optional<Sequence>& left) {
    // All counts of an entry that `now` has outgrown are dead. It is closed before another one
    // takes its place, as a thread with another time may have found it, and would move it on.
    // Ends: an entry that can't be closed has just been moved on by such a thread.
    for (Entry* held = find(key); held != nullptr; held = find(key)) {
        if (held->must_start_over(now)) {
            drop_if_ahead(*held, now);
        } else if (held->outgrown(now)) {
            left = held->high();
            drop_if_dead(*held, now);
        } else {
            return held;
        }
    }
    return nullptr;
}

Entry& Shard::make(const LimitKey& key, UnixTime now, Sharing sharing) {
    const UnixTime forgotten_until = forgotten_.until(key.duration(), now);
    // A removal of this key while its counts mattered was counted, so the number is new to it. One
    // by a clock that was ahead is counted now.
    if (forgotten_.is_behind(key.duration(), now)) ++removals_;
    return pool_.make(key, now, forgotten_until, sharing, removals_);
}

void Shard::insert(Entry& entry) {
    bucket_of(entry.hash()).insert(entry);
    ++size_;
    split();
}

std::vector<Entry*> Shard::entries_with_hash(std::uint64_t hash) {
    std::vector<Entry*> found;
    const MutexLock lock(mutex_);
    bucket_of(hash).for_each([&](Entry& entry) {
        if (entry.hash() == hash) found.push_back(&entry);
    });
    Epoch::confirm_made();
    return found;
}

std::size_t Shard::add_entries(std::size_t from,
                               std::size_t buckets,
                               std::vector<Entry*>& entries) {
    const MutexLock lock(mutex_);
    const std::size_t end = std::min(from + buckets, bucket_count());
    for (std::size_t i = from; i < end; ++i)
        bucket_at(i).for_each([&](Entry& entry) { entries.push_back(&entry); });
    Epoch::confirm_made();
    return end - from;
}

void Shard::dispose(Entry& entry) {
    const MutexLock lock(mutex_);
    give_back(entry);
}

EntryPool::Stats Shard::memory() const {
    const MutexLock lock(mutex_);
    EntryPool::Stats stats = pool_.stats();
    stats.examined += leaving_.examined();
    return stats;
}

std::size_t Shard::list_again(std::size_t from,
                              std::size_t buckets,
                              Relisted which,
                              ChangedList& changed) {
    const MutexLock lock(mutex_);
    const std::size_t end = std::min(from + buckets, bucket_count());
    for (std::size_t i = from; i < end; ++i) {
        bucket_at(i).for_each([&](Entry& entry) {
            const Sequence high = entry.high();
            const Count spent = entry.spent(high) + entry.spent(high - 1);
            if (spent == 0 || (which == Relisted::kNearLimit && spent < entry.last_limit() / 2))
                return;
            entry.clear_synced();  // until the answer to an earlier call comes
            entry.note_late();
            // False for one that was removed a moment ago, which needs no listing.
            static_cast<void>(changed.mark(entry));
        });
    }
    return end - from;
}

void Shard::make_room(UnixTime now, Needed needed) {
    clean(now);
    // A few at the most: after a time in which nothing could be evicted, many insertions share the
    // backlog.
    for (int evictions = 0; !tally_->try_hold_key(); ++evictions) {
        const bool may_evict = evictions < kEvictionsPerInsertion && !tally_->will_have_room();
        if (may_evict && evict(now, needed)) continue;
        // The key takes the place of one that is leaving. Or all that was examined is unsynced, and
        // is not evicted before it is flushed.
        tally_->hold_key_beyond_cap();
        return;
    }
}

void Shard::clean(UnixTime now) {
    if (tally_->held() >= kSweepFrom) sweep(now);
    finish_leaving();
}

// Removes entries whose grace period is over. Looks at up to eight, which keeps up with those that
// come and catches up with those that a sleeping thread has kept.
void Shard::finish_leaving() {
    leaving_.poll(8, [this](Entry& entry) {
        mutex_.assert_held();
        leave_queue(entry);
    });
}

void Shard::leave_queue(Entry& entry) {
    const Entry::Leaving was = std::exchange(entry.leaving_, {});
    if (was.is_unlinked) {
        if (was.is_given_back) pool_.give_back(entry);
        return;
    }
    tally_->end_leaving();
    if (!ChangedList::retire_leaving(entry)) return;  // it was used again
    count_eviction();
    unlink(entry);
    pool_.give_back(entry);
}

// Its memory may be used again, once it is in no queue and no reader can see it.
void Shard::give_back(Entry& entry) {
    if (entry.leaving_.is_queued) {
        entry.leaving_.is_given_back = true;
    } else {
        pool_.give_back(entry);
    }
}

// Looks at one bucket. Each insertion does, so a table in use is gone through about twice while it
// is filled once.
void Shard::sweep(UnixTime now) {
    next_bucket().for_each([&](Entry& entry) {
        mutex_.assert_held();
        drop_if_dead(entry, now);
    });
}

bool Shard::evict(UnixTime now, Needed needed) {
    Entry* victim = nullptr;
    EvictionCost least{};
    std::size_t seen = 0;
    // An origin that is unavailable for long must not cost all memory there is.
    const bool takes_unsynced = tally_->is_far_beyond_cap();
    for (std::size_t buckets = 0; buckets < kLargeSample && seen < kLargeSample; ++buckets) {
        if (seen >= kSample && victim != nullptr && least.is_low()) break;
        next_bucket().for_each([&](Entry& entry) {
            ++seen;
            if ((entry.is_unsynced() && !takes_unsynced) || entry.leaving_.is_queued) return;
            const EvictionCost cost = eviction_cost(entry, now, needed);
            if (victim != nullptr && least <= cost) return;
            victim = &entry;
            least = cost;
        });
    }
    if (victim == nullptr) return false;
    if (drop_if_dead(*victim, now) || drop(*victim)) return true;
    if (!takes_unsynced) return false;
    count_eviction();
    Tally::add(tally_->evicted_unsynced);
    remove(*victim);
    return true;
}

// Removes an entry whose counts have expired, synced or not. They stay forgotten for a clock that
// steps back. False if they have not.
bool Shard::drop_if_dead(Entry& entry, UnixTime now) {
    const auto dead_from = entry.close_if_dead(now);
    if (!dead_from) return false;
    forgotten_.add(entry.duration(), *dead_from, now);
    Tally::add(tally_->expired);
    remove(entry);
    return true;
}

// Removes an entry that must start over, synced or not: its counts are of windows to come.
void Shard::drop_if_ahead(Entry& entry, UnixTime now) {
    const Sequence high = entry.high();
    if (!entry.must_start_over(now) || !entry.close(high)) return;
    ++removals_;
    Tally::add(tally_->started_over);
    remove(entry);
}

// The consumer of the changed list disposes of it if it holds it; else it is freed here.
void Shard::remove(Entry& entry) {
    unlink(entry);
    if (entry.leaving_.is_queued) {
        entry.leaving_.is_unlinked = true;
        tally_->end_leaving();
    }
    if (ChangedList::retire(entry)) give_back(entry);
}

// Removes an entry whose counts may be in use; its key starts anew. If they are shared, that takes
// a grace period. Returns whether there is a place, or will be one.
bool Shard::drop(Entry& entry) {
    if (!ChangedList::leave(entry)) return false;
    if (entry.is_tracked()) {
        // The epoch is read after the state was set: a thread that found the entry before is pinned
        // in this epoch or an earlier one.
        try {
            leaving_.add(entry, EntryPool::lifetime(entry));
        } catch (...) {
            ChangedList::stay(entry);
            throw;
        }
        entry.leaving_.is_queued = true;
        tally_->begin_leaving();
        return true;
    }
    count_eviction();
    unlink(entry);
    pool_.give_back(entry);
    return true;
}

void Shard::count_eviction() {
    ++removals_;
    Tally::add(tally_->evicted);
}

void Shard::unlink(Entry& entry) {
    bucket_of(entry.hash()).remove(entry);
    --size_;
    tally_->drop_key();
}

Bucket& Shard::next_bucket() {
    hand_ = hand_ + 1 < bucket_count() ? hand_ + 1 : 0;
    return bucket_at(hand_);
}

// Adds one bucket and moves to it what belongs there, out of the one bucket that held it so far. An
// entry is found in a slot of the new bucket before it leaves the old one. Where the slots don't
// suffice, a lookup may miss an entry on its way from chain to chain, and finds it under the lock.
void Shard::split() {
    const std::size_t count = bucket_count();
    if (size_ <= count * kAverage || count == buckets_.count) return;
    Bucket& from = bucket_at(count - std::bit_floor(count));
    Bucket& to = bucket_at(count);
    const std::uint64_t mask = (std::bit_ceil(count + 1) - 1) << offset_bits();
    const std::uint64_t offset = count << offset_bits();
    const auto moves = [=](const Entry& entry) { return (entry.hash() & mask) == offset; };
    from.for_each([&](Entry& entry) {
        if (moves(entry)) to.insert_in_slot(entry);
    });
    offset_mask_.store(mask, std::memory_order_seq_cst);
    end_.store((count + 1) << offset_bits(), std::memory_order_seq_cst);
    memory_->note_use((count + 1) << offset_bits());
    from.for_each([&](Entry& entry) {
        if (!moves(entry)) return;
        from.remove(entry);
        if (!to.has_in_slot(entry)) to.insert(entry);
    });
}

}  // namespace sluice
