#include "rls/rules.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/utf8.h"
#include "rls/identifier.h"

namespace sluice::rls {
namespace {

std::uint64_t hash_of(std::string_view text) {
    return XXH3_64bits(text.data(), text.size());
}

// A hash of three numbers.
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t hash = (a << 32U ^ b) * 0x9E3779B97F4A7C15U;
    hash = (hash ^ hash >> 32U ^ c) * 0xD6E8FEB86659FD93U;
    return hash ^ hash >> 32U;
}

}  // namespace

std::string composite_key(std::string_view key, std::string_view value) {
    std::string text(key);
    if (!value.empty()) text.append("_").append(value);
    return text;
}

void append_level(MetricLabels& labels,
                  std::size_t depth,
                  std::string_view key,
                  std::string_view value) {
    std::string& label = depth == 0 ? labels.key1 : labels.key2;
    if (depth > 1) label += '.';
    append_utf8(label, key);
    if (value.empty()) return;
    label += '_';
    append_utf8(label, value);
}

std::size_t RuleSet::Texts::place_of(std::uint64_t hash, std::string_view text) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (;; at = (at + 1) & mask) {
        const Slot& slot = slots_[at];
        if (slot.number == kNone) return at;
        if (slot.tag == hash >> 32U && texts_[slot.number] == text) return at;
    }
}

std::uint32_t RuleSet::Texts::find(std::string_view text) const {
    return slots_[place_of(hash_of(text), text)].number;
}

std::uint32_t RuleSet::Texts::add(std::string_view text) {
    if (2 * texts_.size() >= slots_.size()) grow();
    const std::uint64_t hash = hash_of(text);
    Slot& slot = slots_[place_of(hash, text)];
    if (slot.number == kNone) {
        slot = {.tag = static_cast<std::uint32_t>(hash >> 32U),
                .number = static_cast<std::uint32_t>(texts_.size())};
        texts_.push_back(held_.emplace_back(text));
    }
    return slot.number;
}

void RuleSet::Texts::grow() {
    slots_.assign(4 * slots_.size(), Slot{});
    for (std::uint32_t number = 0; number < texts_.size(); ++number) {
        const std::uint64_t hash = hash_of(texts_[number]);
        slots_[place_of(hash, texts_[number])] = {.tag = static_cast<std::uint32_t>(hash >> 32U),
                                                  .number = number};
    }
}

void RuleSet::Children::reserve(std::size_t count) {
    slots_.assign(std::bit_ceil(2 * count + 1), Slot{});  // at most half full
}

void RuleSet::Children::add(const ChildKey& key, std::uint32_t item) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mix(key.parent, key.key, key.value) & mask;
    while (slots_[at].item != kNone)
        at = (at + 1) & mask;
    slots_[at] = {.key = key, .item = item};
}

std::uint32_t RuleSet::Children::find(const ChildKey& key) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = mix(key.parent, key.key, key.value) & mask;; at = (at + 1) & mask) {
        const Slot& slot = slots_[at];
        if (slot.item == kNone || slot.key == key) return slot.item;
    }
}

std::shared_ptr<const RuleSet> RuleSet::none() {
    return std::shared_ptr<const RuleSet>(new RuleSet);
}

std::uint32_t RuleSet::root_of(std::string_view domain) const {
    const std::uint32_t text = texts_.find(domain);
    return text == kNone ? kNone : children_.find({kNone, text, kNone});
}

bool RuleSet::has_domain(std::string_view domain) const {
    return root_of(domain) != kNone;
}

std::uint32_t RuleSet::child(std::uint32_t parent, const DescriptorEntry& entry) const {
    const std::uint32_t key = texts_.find(entry.key);
    if (key == kNone) return kNone;
    const std::uint32_t value = entry.value.empty() ? kNone : texts_.find(entry.value);
    const std::uint32_t exact = value == kNone ? kNone : children_.find({parent, key, value});
    if (exact != kNone) return exact;
    const std::uint32_t found = children_.find({parent, key, kNone});
    if (found == kNone) return kNone;
    const KeyGroup& group = groups_[found];
    for (const Wildcard& wildcard : group.wildcards)
        if (wildcard.glob.matches(entry.value)) return wildcard.node;
    return group.any;
}

const LimitRule* RuleSet::match(std::string_view domain,
                                std::span<const DescriptorEntry> entries,
                                std::string& identifier) const {
    identifier.clear();
    std::uint32_t at = root_of(domain);
    for (const DescriptorEntry& entry : entries) {
        if (at != kNone) at = child(at, entry);
        if (at == kNone) break;
        const Node& node = nodes_[at];
        if (node.shares_threshold) {
            append_shared_entry(identifier, entry.key, texts_[node.value]);
        } else {
            append_entry(identifier, entry);
        }
    }
    if (at == kNone || nodes_[at].rule == kNone) {
        release_large(identifier);
        return nullptr;
    }
    finish_identifier(identifier);
    return &rules_[nodes_[at].rule];
}

void RuleSet::write_labels(const LimitRule& rule,
                           std::string_view domain,
                           std::span<const DescriptorEntry> entries,
                           MetricLabels& labels) const {
    labels.begin(domain);
    std::uint32_t at = root_of(domain);
    for (std::size_t depth = 0; depth < entries.size(); ++depth) {
        at = child(at, entries[depth]);
        const Node& node = nodes_[at];
        const bool by_value =
            !node.shares_threshold && (rule.detailed_metric || node.value_to_metric);
        const std::string_view own = node.value == kNone ? std::string_view() : texts_[node.value];
        append_level(labels, depth, entries[depth].key, by_value ? entries[depth].value : own);
    }
}

}  // namespace sluice::rls
