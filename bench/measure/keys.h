// The keys of all benchmarks, and the random order of requests.
#ifndef SLUICE_BENCH_MEASURE_KEYS_H_
#define SLUICE_BENCH_MEASURE_KEYS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::bench {

inline constexpr std::string_view kWorkspace = "default";
inline constexpr std::string_view kNamespace = "api";
inline constexpr std::chrono::milliseconds kDuration{60'000};

// A Key is one limit key of the form ("default", "api", "user_0000123", 60 s), laid out as one
// string of bytes.
class Key {
  public:
    static constexpr std::size_t kIdentifierSize = 12;

    // `number` is below 10,000,000.
    explicit Key(std::uint32_t number);

    // All four parts, one after another.
    std::string_view bytes() const { return {bytes_.data(), size_}; }

    // The third part alone: what a Request carries beside the constants above.
    std::string_view identifier() const {
        return {bytes_.data() + kWorkspace.size() + kNamespace.size(), kIdentifierSize};
    }

    friend bool operator==(const Key& a, const Key& b) { return a.bytes() == b.bytes(); }

  private:
    std::array<char, 31> bytes_;
    std::uint8_t size_;
};
static_assert(sizeof(Key) == 32);

// What a key itself takes: the characters of its three names.
inline constexpr std::size_t kOwnBytes =
    kWorkspace.size() + kNamespace.size() + Key::kIdentifierSize;

// A part of the keys 0 to count - 1: part `index` of `of` equal parts.
struct Share {
    std::uint32_t count;
    std::uint32_t index = 0;
    std::uint32_t of = 1;
};

// The share's keys in random order, each equally often, and at least 8,192 entries in all. The
// entries are read from front to back, so that the memory behind a request never misses the cache
// and what is measured is the table.
std::vector<Key> random_order(Share share);

// The keys 0 to count - 1, one after another.
std::vector<Key> in_turn(std::uint32_t count);

// Walks an order for ever.
class Cursor {
  public:
    explicit Cursor(const std::vector<Key>& order) : order_(order) {}

    const Key& next() {
        if (at_ == order_.size()) at_ = 0;
        return order_[at_++];
    }

  private:
    const std::vector<Key>& order_;
    std::size_t at_ = 0;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_MEASURE_KEYS_H_
