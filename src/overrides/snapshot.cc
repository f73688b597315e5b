#include "overrides/snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace sluice::overrides {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

constexpr std::array kAmounts{&Usage::overrides,
                              &Usage::patterns,
                              &Usage::pattern_bytes,
                              &Usage::searched,
                              &Usage::inner_texts};

std::uint64_t word_of(const std::array<char, kWordBytes>& bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), kWordBytes);
    return word;
}

// The first bytes of `text` at the front of a word, zeros behind.
std::uint64_t first_word(std::string_view text) {
    std::array<char, kWordBytes> bytes{};
    std::copy_n(text.begin(), std::min(text.size(), kWordBytes), bytes.begin());
    return word_of(bytes);
}

// The last bytes of `text` at the end of a word, zeros before.
std::uint64_t last_word(std::string_view text) {
    std::array<char, kWordBytes> bytes{};
    std::copy_n(text.rbegin(), std::min(text.size(), kWordBytes), bytes.rbegin());
    return word_of(bytes);
}

std::string_view ones(std::size_t size) {
    static constexpr std::string_view kOnes = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
    return kOnes.substr(0, std::min(size, kWordBytes));
}

std::uint64_t order_in(const OverrideRulePointer& rule) {
    return rule->entry.order;
}

// None for a pattern without a `*`.
std::optional<Glob> glob_of(std::string_view pattern) {
    if (pattern.find('*') == std::string_view::npos) return std::nullopt;
    return Glob(pattern);
}

NamespaceKey key_of(const OverrideRules& rules) {
    return rules.in_order().front()->entry.key().namespace_key();
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) {
    for (const auto amount : kAmounts)
        this->*amount += other.*amount;
    return *this;
}

Usage& Usage::operator-=(const Usage& other) {
    for (const auto amount : kAmounts)
        this->*amount -= other.*amount;
    return *this;
}

Usage usage_of(std::string_view pattern) {
    const auto glob = glob_of(pattern);
    if (!glob) return {.overrides = 1};
    const std::size_t texts = glob->inner().size();
    return {.overrides = 1,
            .patterns = 1,
            .pattern_bytes = pattern.size(),
            .searched = texts == 0 ? 0U : 1U,
            .inner_texts = texts};
}

OverrideRule::OverrideRule(Override held)
    : entry(std::move(held)), glob(glob_of(entry.identifier)) {}

OverrideRules::Pattern::Pattern(const OverrideRule& held)
    : first(first_word(held.glob->prefix())),
      first_mask(first_word(ones(held.glob->prefix().size()))),
      last(last_word(held.glob->suffix())),
      last_mask(last_word(ones(held.glob->suffix().size()))),
      rule(&held) {}

OverrideRules::OverrideRules(std::vector<OverrideRulePointer> in_order, const KeyHash& hash)
    : in_order_(std::move(in_order)), by_pattern_(in_order_.size(), TextHash{hash}) {
    SLUICE_CHECK(!in_order_.empty());
    for (const OverrideRulePointer& rule : in_order_) {
        by_pattern_.emplace(rule->entry.identifier, rule.get());
        usage_ += usage_of(rule->entry.identifier);
        if (rule->glob) patterns_.emplace_back(*rule);
    }
    // Stable: of two with equally many literal bytes, the older stays in front.
    std::ranges::stable_sort(patterns_, std::ranges::greater{}, [](const Pattern& pattern) {
        return pattern.rule->glob->literal_bytes();
    });
    if (usage_.searched > kMaxUnindexed) index_inner_texts();
}

void OverrideRules::index_inner_texts() {
    std::vector<const Glob*> globs;
    std::size_t texts = 0;
    for (Pattern& pattern : patterns_) {
        const Glob& glob = *pattern.rule->glob;
        if (glob.inner().empty()) continue;
        texts += glob.inner().size();
        if (texts > TextSearch::kMaxTexts) break;
        pattern.searched = static_cast<std::uint16_t>(globs.size());
        globs.push_back(&glob);
        in_search_.push_back(pattern.rule);
    }
    if (!globs.empty()) search_.emplace(globs);
}

const Override* OverrideRules::match(std::string_view identifier) const {
    const auto same = by_pattern_.find(identifier);
    if (same != by_pattern_.end() && !same->second->glob) return &same->second->entry;
    const OverrideRule* const pattern = match_pattern(identifier);
    return pattern == nullptr ? nullptr : &pattern->entry;
}

// Patterns with inner texts are set aside until one without is found, which beats all behind it.
// Both lists are in the order of precedence, so the first that matches applies.
const OverrideRule* OverrideRules::match_pattern(std::string_view identifier) const {
    const std::uint64_t first = first_word(identifier);
    const std::uint64_t last = last_word(identifier);
    const bool may_search = identifier.size() <= TextSearch::kMaxIdentifierBytes;
    std::array<std::uint16_t, TextSearch::kMaxTexts> aside;
    std::size_t count = 0;
    const OverrideRule* found = nullptr;
    for (const Pattern& pattern : patterns_) {
        const std::uint64_t differing = ((first ^ pattern.first) & pattern.first_mask) |
                                        ((last ^ pattern.last) & pattern.last_mask);
        if (differing != 0 || !pattern.rule->glob->matches_ends(identifier)) continue;
        if (pattern.searched != kNotSearched && may_search) {
            aside[count++] = pattern.searched;
        } else if (pattern.rule->glob->matches(identifier)) {
            found = pattern.rule;
            break;
        }
    }
    if (count == 0) return found;
    const auto searched = search_->first_match(identifier, std::span(aside).first(count));
    return searched ? in_search_[*searched] : found;
}

const Override* OverrideRules::find(std::string_view pattern) const {
    const auto found = by_pattern_.find(pattern);
    return found == by_pattern_.end() ? nullptr : &found->second->entry;
}

std::span<const OverrideRulePointer> OverrideRules::after(std::uint64_t order) const {
    return {std::ranges::upper_bound(in_order_, order, {}, order_in), in_order_.end()};
}

Snapshot::Snapshot(std::vector<Override> overrides, std::uint64_t hash_seed)
    : hash_(hash_seed), size_(overrides.size()) {
    const auto hash = [this](const NamespaceKey& key) { return hash_of(key, hash_); };
    std::unordered_map<NamespaceKey, std::vector<OverrideRulePointer>, decltype(hash)> grouped(
        0, hash);
    for (Override& entry : overrides) {
        auto rule = std::make_shared<const OverrideRule>(std::move(entry));
        grouped[rule->entry.key().namespace_key()].push_back(rule);
    }
    std::array<Bucket, kBuckets> buckets;
    for (auto& [key, rules] : grouped) {
        buckets[hash(key) % kBuckets].push_back(
            {hash(key), std::make_shared<const OverrideRules>(std::move(rules), hash_)});
    }
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (buckets[i].empty()) continue;
        std::ranges::sort(buckets[i], {}, &Namespace::hash);
        buckets_[i] = std::make_shared<const Bucket>(std::move(buckets[i]));
    }
}

// The namespace of the key, or the first that would follow it.
Snapshot::Bucket::const_iterator Snapshot::find(const Bucket& bucket,
                                                std::uint64_t hash,
                                                const NamespaceKey& key) {
    auto at = std::ranges::lower_bound(bucket, hash, {}, &Namespace::hash);
    while (at != bucket.end() && at->hash == hash && key_of(*at->rules) != key)
        ++at;
    return at;
}

const OverrideRules* Snapshot::rules(const NamespaceKey& key) const {
    const std::uint64_t hash = hash_of(key, hash_);
    const Bucket* const bucket = buckets_[hash % kBuckets].get();
    if (bucket == nullptr) return nullptr;
    const auto found = find(*bucket, hash, key);
    return found == bucket->end() || found->hash != hash ? nullptr : found->rules.get();
}

std::shared_ptr<const Snapshot> Snapshot::with(Override entry) const {
    const auto rule = std::make_shared<const OverrideRule>(std::move(entry));
    std::vector<OverrideRulePointer> next = others_than(rule->entry.key());
    next.insert(std::ranges::upper_bound(next, rule->entry.order, {}, order_in), rule);
    return changed(rule->entry.key().namespace_key(), std::move(next));
}

std::shared_ptr<const Snapshot> Snapshot::without(const OverrideKey& key) const {
    return changed(key.namespace_key(), others_than(key));
}

std::vector<OverrideRulePointer> Snapshot::others_than(const OverrideKey& key) const {
    std::vector<OverrideRulePointer> others;
    if (const OverrideRules* const held = rules(key.namespace_key()))
        others.assign(held->in_order().begin(), held->in_order().end());
    std::erase_if(others,
                  [&](const auto& rule) { return rule->entry.identifier == key.identifier; });
    return others;
}

std::shared_ptr<const Snapshot> Snapshot::changed(const NamespaceKey& key,
                                                  std::vector<OverrideRulePointer> rules) const {
    auto next = std::make_shared<Snapshot>(*this);
    const std::uint64_t hash = hash_of(key, hash_);
    auto& held = next->buckets_[hash % kBuckets];
    auto bucket = held == nullptr ? std::make_shared<Bucket>() : std::make_shared<Bucket>(*held);
    auto at = find(*bucket, hash, key);
    if (at != bucket->end() && at->hash == hash) {
        next->size_ -= at->rules->in_order().size();
        at = bucket->erase(at);
    }
    next->size_ += rules.size();
    if (!rules.empty())
        bucket->insert(at, {hash, std::make_shared<const OverrideRules>(std::move(rules), hash_)});
    held = std::move(bucket);
    return next;
}

}  // namespace sluice::overrides
