// The least that an exact limiter must do for one decision: the yardstick for the real one.
#ifndef SLUICE_BENCH_CORE_FLOOR_H_
#define SLUICE_BENCH_CORE_FLOOR_H_

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "measure/hash.h"
#include "measure/keys.h"

namespace sluice::bench {

// Floor counts the keys 0 to count - 1 up to one fixed limit. A decision is one XXH3, one probe of
// an open-addressing table that never grows, one comparison of the whole key in the record that the
// slot points to, one CAS on the counter in that same record, and one read of the coarse clock.
// There is no window, no removal and no answer beside yes or no.
//
// Thread-safe once constructed.
class Floor {
  public:
    explicit Floor(std::uint32_t count)
        : records_(count), slots_(std::bit_ceil(std::size_t{count} * 2)) {
        for (std::uint32_t number = 0; number < count; ++number) {
            insert(Key(number), records_[number]);
        }
    }

    // Called, not inlined, as a limiter behind an interface is.
    [[gnu::noinline]] bool decide(std::string_view key, std::uint64_t limit) {
        timespec now{};
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        Record* record = find(key);
        return now.tv_sec > 0 && record != nullptr && add_one(*record, limit);
    }

  private:
    // The key and the counter share a cache line.
    struct alignas(64) Record {
        std::atomic<std::uint64_t> count{
            0};  // Written by every decision; guards nothing but itself.
        std::uint32_t size = 0;
        char bytes[48];
    };
    static_assert(sizeof(Record) == 64);

    // A slot is a pointer with 16 bits of the hash above it, or 0 if it is free.
    using Slot = std::uint64_t;
    static constexpr int kTagShift = 48;

    static Record* record_of(Slot slot) {
        return reinterpret_cast<Record*>(slot & ((Slot{1} << kTagShift) - 1));
    }

    static bool holds(const Record& record, std::string_view key) {
        return record.size == key.size() && std::memcmp(record.bytes, key.data(), key.size()) == 0;
    }

    Record* find(std::string_view key) const {
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot slot = slots_[at];
            if (slot == 0) return nullptr;
            if ((slot ^ hash) >> kTagShift != 0) continue;
            if (holds(*record_of(slot), key)) return record_of(slot);
        }
    }

    // Relaxed, because the counter guards no other memory. A try fails only where another thread's
    // try succeeded, so that the threads together always make progress.
    static bool add_one(Record& record, std::uint64_t limit) {
        std::uint64_t count = record.count.load(std::memory_order_relaxed);
        do {
            if (count >= limit) return false;
        } while (!record.count.compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
        return true;
    }

    void insert(const Key& key, Record& record) {
        const std::string_view bytes = key.bytes();
        record.size = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(record.bytes, bytes.data(), bytes.size());
        const std::uint64_t hash = hash_of(bytes);
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at] != 0) {
            at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = reinterpret_cast<Slot>(&record) | (hash >> kTagShift << kTagShift);
    }

    std::vector<Record> records_;
    std::vector<Slot> slots_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_FLOOR_H_
