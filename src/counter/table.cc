#include "counter/table.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <span>
#include <string>

#include <sys/mman.h>

#include "base/check.h"

namespace sluice {

std::uint64_t Bucket::word_for(const Entry& entry) {
    const auto address = reinterpret_cast<std::uintptr_t>(&entry);
    SLUICE_CHECK((address & ~kAddressMask) == 0);
    return tag_of(entry.hash()) | address;
}

std::uint64_t Bucket::word_in_chain(const Entry* entry) {
    return reinterpret_cast<std::uintptr_t>(entry);
}

std::uint64_t Bucket::find_slot(std::uint64_t hash) const {
    std::uint64_t least = kAddressMask;
    for (const auto& slot : slots())
        least = std::min(least, below_address(slot, hash));
    return least;
}

Entry* Bucket::find_elsewhere(HashedRequest request) const {
    const LimitKey key(request);
    Entry* found = nullptr;
    while (!try_find_elsewhere(key, found)) {  // ends: repeats only after the epoch has moved on
    }
    return found;
}

bool Bucket::try_find_elsewhere(const LimitKey& key, Entry*& found) const {
    const std::uint64_t hash = key.hash();
    for (const auto& slot : slots()) {
        const std::uint64_t below = below_address(slot, hash);
        if (below >= kAddressMask) continue;
        found = address_in(below + 1);
        if (!Epoch::confirm()) return false;
        if (found->has_key(key)) return true;
    }
    found = address_in(chain().load(std::memory_order_seq_cst));
    while (found != nullptr) {
        // An entry that was removed leads to one that may have been removed later, and even used
        // again if it was made after this thread's interval: then this fails.
        if (!Epoch::confirm()) return false;
        if (found->hash() == hash && found->has_key(key)) return true;
        found = found->next_in_bucket_.load(std::memory_order_seq_cst);
    }
    return true;
}

bool Bucket::insert_in_slot(const Entry& entry) {
    const std::size_t home = home_of(entry.hash());
    for (std::size_t i = 0; i < kPlaces; ++i) {
        auto& slot = places_[(home + i) % kPlaces];
        if (&slot == &chain()) continue;
        if (slot.load(std::memory_order_relaxed) != 0) continue;
        slot.store(word_for(entry), std::memory_order_seq_cst);
        return true;
    }
    return false;
}

bool Bucket::has_in_slot(const Entry& entry) const {
    return std::ranges::any_of(slots(), [word = word_for(entry)](const auto& slot) {
        return slot.load(std::memory_order_relaxed) == word;
    });
}

void Bucket::insert(Entry& entry) {
    if (insert_in_slot(entry)) return;
    entry.next_in_bucket_.store(address_in(chain().load(std::memory_order_relaxed)),
                                std::memory_order_seq_cst);
    chain().store(word_in_chain(&entry), std::memory_order_seq_cst);
}

// A removed entry keeps its own link: a lookup that stands on it finds its way out.
void Bucket::remove(Entry& entry) {
    for (auto& slot : slots()) {
        if (slot.load(std::memory_order_relaxed) != word_for(entry)) continue;
        slot.store(0, std::memory_order_seq_cst);
        return;
    }
    Entry* const next = entry.next_in_bucket_.load(std::memory_order_relaxed);
    Entry* linked = address_in(chain().load(std::memory_order_relaxed));
    if (linked == &entry) return chain().store(word_in_chain(next), std::memory_order_seq_cst);
    while (linked != nullptr) {
        Entry* const behind = linked->next_in_bucket_.load(std::memory_order_relaxed);
        if (behind == &entry) return linked->next_in_bucket_.store(next, std::memory_order_seq_cst);
        linked = behind;
    }
}

// A stretch of addresses that reads as zeros and costs memory only where it was written to. It
// begins on a large page.
struct Table::Reservation {
    explicit Reservation(std::size_t size)
        : bytes(size),
          mapped(mmap(nullptr,
                      size + PageProvisioner::kBlockBytes,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1,
                      0)) {}
    ~Reservation() {
        if (mapped != MAP_FAILED) munmap(mapped, bytes + PageProvisioner::kBlockBytes);
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    std::span<std::byte> all() const {
        const std::size_t before = PageProvisioner::bytes_to_large_page(mapped);
        return {static_cast<std::byte*>(mapped) + before, bytes};
    }

    const std::size_t bytes;
    void* const mapped;
};

// A quarter more than an even spread needs: shards are never quite even.
std::size_t Table::buckets_per_shard(std::size_t max_keys) {
    return max_keys / shards_for(max_keys) / Shard::kAverage * 5 / 4 + 16;
}

Result<std::unique_ptr<Table>> Table::create(const Config& config) {
    const std::size_t bytes =
        shards_for(config.max_keys) * buckets_per_shard(config.max_keys) * sizeof(Bucket);
    auto buckets = std::make_unique<Reservation>(bytes);
    if (buckets->mapped == MAP_FAILED) {
        return Error{kOutOfMemory,
                     "max_keys is " + std::to_string(config.max_keys) + ": the system refused " +
                         std::to_string(bytes) + " bytes of address space for the table"};
    }
    return std::unique_ptr<Table>(new Table(config, std::move(buckets)));
}

Table::Table(const Config& config, std::unique_ptr<Reservation> buckets)
    : hash_(config.seed),
      shard_mask_(shards_for(config.max_keys) - 1),
      sharing_(config.sharing),
      tally_(config.max_keys),
      buckets_(std::move(buckets)),
      memory_(buckets_->all()) {
    const std::size_t each = buckets_per_shard(config.max_keys);
    auto* start = reinterpret_cast<Bucket*>(buckets_->all().data());
    const int stride_bits = std::popcount(shard_mask_);
    for (std::size_t i = 0; i <= shard_mask_; ++i) {
        shards_[i].attach(
            {.first = start + i, .stride_bits = stride_bits, .count = each}, tally_, memory_);
    }
    if (config.max_keys * sizeof(Entry) > PageProvisioner::kSmall * PageProvisioner::kChunkBytes)
        memory_.start();
}

Table::~Table() {
    for (Entry* entry : changed_.take().retired)
        dispose(*entry);
}

Entry& Table::ready_entry(HashedRequest request, UnixTime now, Needed needed) {
    const LimitKey key(request);
    Entry* const entry = find(key);
    if (entry != nullptr && !entry->outgrown(now) && !entry->must_start_over(now)) return *entry;
    const bool is_in_child = made_.is_in_child();
    if (is_in_child && sharing_ != Sharing::kAlone) discard_changes();
    Entry& made = shard_of(key).find_or_make(key, now, sharing_, needed);
    // Unsynced entries can't be evicted: have them flushed soon.
    if (tally_.is_beyond_cap()) changed_.request_flush();
    if (on_new_key_ && !is_in_child) on_new_key_(made);
    return made;
}

// Else entries would stay unsynced for ever, and could not be evicted.
void Table::discard_changes() {
    const MutexLock lock(discarding_);
    const ChangedList::Taken taken = changed_.take();
    for (Entry* entry : taken.retired)
        dispose(*entry);
    for (Entry* entry : taken.changed)
        if (!changed_.release(*entry, Components(*entry))) dispose(*entry);
}

Entry* Table::find_exactly(const LimitKey& key) {
    if (Entry* const entry = find(key)) return entry;
    const std::vector<Entry*> all = entries_with_hash(key.hash());
    const auto found = std::ranges::find_if(all, [&](Entry* entry) { return entry->has_key(key); });
    return found == all.end() ? nullptr : *found;
}

template <class Visit>
bool Table::walk_on(Walk& walk, std::size_t buckets, Visit visit) {
    while (!is_done(walk)) {
        const std::size_t seen = visit(shards_[walk.shard], walk.bucket, buckets);
        walk.bucket += seen;
        if (seen == buckets) return false;
        buckets -= seen;
        walk = {.which = walk.which, .shard = walk.shard + 1, .bucket = 0};
    }
    return true;
}

bool Table::list_again(Walk& walk, std::size_t buckets) {
    const auto list = [&](Shard& shard, std::size_t from, std::size_t most) {
        return shard.list_again(from, most, walk.which, changed_);
    };
    if (!walk_on(walk, buckets, list)) return false;
    if (walk.which == Shard::Relisted::kAll) return true;
    walk = {.which = Shard::Relisted::kAll};
    return false;
}

std::vector<Entry*> Table::next_entries(Walk& walk, std::size_t buckets) {
    std::vector<Entry*> entries;
    walk_on(walk, buckets, [&](Shard& shard, std::size_t from, std::size_t most) {
        return shard.add_entries(from, most, entries);
    });
    return entries;
}

EntryPool::Stats Table::memory() const {
    EntryPool::Stats sum{};
    for (const Shard& shard : shards_) {
        const EntryPool::Stats stats = shard.memory();
        sum.allocated += stats.allocated;
        sum.examined += stats.examined;
    }
    return sum;
}

// Must not throw: a batch is in the middle of settling its costs. Without memory for the successor
// the cost stays unsynced, as that of a key evicted at twice the cap does.
void Table::settle_in_successor(HashedRequest request, Sequence sequence, Count cost) noexcept try {
    for (;;) {  // ends: each repetition follows another removal of the same key
        const Entry* const held = find_exactly(LimitKey(request));
        if (held != nullptr && sequence < held->high() - 2) return;  // dead in the successor, too
        const UnixTime then = start_of(sequence, request.request.duration);
        Entry& entry = ready_entry(request, then, {});
        if (!entry.admitted(sequence).add(sequence, cost)) return;
        entry.note_late();
        if (changed_.mark(entry)) return;
    }
} catch (const std::bad_alloc&) {
    Tally::add(tally_.evicted_unsynced);
}

}  // namespace sluice
