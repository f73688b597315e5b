// A sketch of bounded size that finds the heaviest keys of a stream.
#ifndef SLUICE_INSIGHT_KEY_SKETCH_H_
#define SLUICE_INSIGHT_KEY_SKETCH_H_

#include <sluice/time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::insight {

// Sums stop at kMaxSum, which JSON readers still represent exactly.
inline constexpr std::uint64_t kMaxSum = (std::uint64_t{1} << 53U) - 1;

// Requires terms of at most kMaxSum.
constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
    return std::min(a + b, kMaxSum);
}

// The texts of a key, as they are shown: valid UTF-8, and those that a client chooses cut at
// kMaxShownBytes.
struct KeyText {
    std::string workspace;  // from the settings, never cut
    std::string name_space;
    std::string identifier;
    bool is_namespace_cut = false;  // also where bytes were replaced
    // Where either text is cut: a hash of the whole texts, the same at all nodes, which
    // distinguishes the key from others that are shown as the same. At most kMaxSum; otherwise 0.
    std::uint64_t cut_id = 0;

    bool is_cut() const { return cut_id != 0; }
};
inline constexpr std::size_t kMaxShownBytes = 256;

// A namespace as it is shown.
struct ShownNamespace {
    std::string_view workspace;
    std::string_view name;
    bool is_cut = false;  // other namespaces may be shown as the same
};
inline ShownNamespace namespace_of(const KeyText& key) {
    return {key.workspace, key.name_space, key.is_namespace_cut};
}

struct KeyParts {
    std::string_view workspace;
    std::string_view name_space;
    std::string_view identifier;
};
std::shared_ptr<const KeyText> make_key_text(const KeyParts& parts);

// Returns `text` in valid UTF-8 and at most kMaxShownBytes; each invalid byte becomes U+FFFD.
std::string shown_text(std::string_view text);

// Sums the weights of keys, which are known by their hashes, up to kMaxSum. It holds at most
// `capacity` keys. When a further one comes, the median of the weights held is subtracted from all
// of them, and what is left with nothing is dropped (Misra and Gries, in the form of Anderson et
// al., "A high-performance algorithm for identifying frequent items in data streams", 2017).
//
// With W the sum of all weights added:
// 1. The true weight of a key is between the weight that is held (0 if none) and that plus error().
// 2. error() is at most 2 W / capacity: each subtraction of m removes at least m from half of the
//    keys.
// So every key with more than 2 W / capacity is held.
//
// Two keys with the same 64-bit hash count as one; the caller seeds the hash.
//
// Thread-compatible. Allocates only when it holds more keys than ever before.
class KeySketch {
  public:
    struct Entry {
        std::uint64_t hash = 0;  // 0: no key
        std::uint64_t weight = 0;
        double variance = 0;  // of the weight, where it was sampled
        // Of the key's last request, unspecified until the caller sets them.
        std::int64_t limit = 0;
        std::chrono::milliseconds duration{};
        UnixTime last{};
        std::shared_ptr<const KeyText> text;  // null for a new entry
    };
    static_assert(sizeof(Entry) == 64);

    explicit KeySketch(std::size_t capacity) : capacity_(capacity) {}

    // Adds to the weight of a key, and returns its entry, which is valid until the next call.
    // `hash` is not 0, and `weight` at most kMaxSum.
    Entry& add(std::uint64_t hash, std::uint64_t weight) {
        if (Entry* const held = find(hash)) [[likely]] {
            held->weight = capped_sum(held->weight, weight);
            return *held;
        }
        return insert(hash, weight);
    }

    // Null if the key is not held.
    Entry* find(std::uint64_t hash) {
        if (slots_.empty()) return nullptr;
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            if (slots_[at].hash == hash) return &slots_[at];
            if (slots_[at].hash == 0) return nullptr;
        }
    }

    std::size_t size() const { return size_; }
    std::uint64_t error() const { return error_; }

    template <class Visit>
    void for_each(Visit visit) const {
        if (size_ == 0) return;
        for (const Entry& entry : slots_) {
            if (entry.hash != 0) visit(entry);
        }
    }

    // Forgets all keys, and keeps the memory of the table.
    void clear();

  private:
    Entry& insert(std::uint64_t hash, std::uint64_t weight);
    Entry& place(std::uint64_t hash);
    void grow();
    void shrink();

    const std::size_t capacity_;
    std::vector<Entry> slots_;  // linear probing; at least half are free
    std::size_t mask_ = 0;
    std::size_t size_ = 0;
    std::uint64_t error_ = 0;
    std::vector<std::uint64_t> weights_;  // scratch memory of shrink()
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_KEY_SKETCH_H_
