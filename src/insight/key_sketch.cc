#include "insight/key_sketch.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/utf8.h"

namespace sluice::insight {
namespace {

constexpr std::size_t kFirstSlots = 16;

std::uint64_t id_of(const KeyParts& parts) {
    std::string whole;
    for (const std::string_view part : {parts.workspace, parts.name_space, parts.identifier})
        whole.append(std::to_string(part.size())).append(" ").append(part);
    const Sha256 digest = sha256_of(whole);
    std::uint64_t id = 0;
    for (std::size_t i = 0; i < sizeof id; ++i)
        id = id << 8U | digest[i];
    return std::max<std::uint64_t>(id & kMaxSum, 1);
}

}  // namespace

std::string shown_text(std::string_view text) {
    std::string shown;
    shown.reserve(std::min(text.size(), kMaxShownBytes));
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        const std::string_view next = length == 0 ? kReplacementCharacter : text.substr(0, length);
        if (shown.size() + next.size() > kMaxShownBytes) break;
        shown += next;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return shown;
}

std::shared_ptr<const KeyText> make_key_text(const KeyParts& parts) {
    KeyText text{.workspace = std::string(parts.workspace),
                 .name_space = shown_text(parts.name_space),
                 .identifier = shown_text(parts.identifier)};
    text.is_namespace_cut = text.name_space != parts.name_space;
    if (text.is_namespace_cut || text.identifier != parts.identifier) text.cut_id = id_of(parts);
    return std::make_shared<const KeyText>(std::move(text));
}

void KeySketch::clear() {
    if (size_ > 0) std::ranges::fill(slots_, Entry{});
    size_ = 0;
    error_ = 0;
}

KeySketch::Entry& KeySketch::insert(std::uint64_t hash, std::uint64_t weight) {
    if (size_ == capacity_) shrink();
    if (2 * (size_ + 1) > slots_.size()) grow();
    Entry& entry = place(hash);
    entry.hash = hash;
    entry.weight = weight;
    ++size_;
    return entry;
}

// Returns a free slot for a key that is not held.
KeySketch::Entry& KeySketch::place(std::uint64_t hash) {
    std::size_t at = hash & mask_;
    while (slots_[at].hash != 0)
        at = (at + 1) & mask_;
    return slots_[at];
}

void KeySketch::grow() {
    std::vector<Entry> old(std::max(kFirstSlots, 2 * slots_.size()));
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (Entry& entry : old) {
        if (entry.hash != 0) place(entry.hash) = std::move(entry);
    }
}

void KeySketch::shrink() {
    weights_.clear();
    for_each([this](const Entry& entry) { weights_.push_back(entry.weight); });
    const auto middle = weights_.begin() + static_cast<std::ptrdiff_t>(weights_.size() / 2);
    std::nth_element(weights_.begin(), middle, weights_.end());
    const std::uint64_t median = *middle;
    error_ = capped_sum(error_, median);
    std::vector<Entry> old(slots_.size());
    old.swap(slots_);
    size_ = 0;
    for (Entry& entry : old) {
        if (entry.weight <= median) continue;
        entry.weight -= median;
        place(entry.hash) = std::move(entry);
        ++size_;
    }
}

}  // namespace sluice::insight
