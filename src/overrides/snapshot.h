// Immutable lookup structures: the overrides of one namespace (OverrideRules), and all of them
// (Snapshot).
#ifndef SLUICE_OVERRIDES_SNAPSHOT_H_
#define SLUICE_OVERRIDES_SNAPSHOT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "counter/limit_key.h"
#include "overrides/patterns.h"
#include "overrides/store.h"

namespace sluice::overrides {

// The amounts that are bounded, of a namespace or a workspace.
struct Usage {
    std::size_t overrides = 0;
    std::size_t patterns = 0;  // overrides with a `*`
    std::size_t pattern_bytes = 0;
    std::size_t searched = 0;  // overrides with text between two `*`
    std::size_t inner_texts = 0;

    Usage& operator+=(const Usage& other);
    Usage& operator-=(const Usage& other);
};

// The usage of one override.
Usage usage_of(std::string_view pattern);

// An override with its pattern prepared. One without a `*` needs no more than its text.
struct OverrideRule {
    explicit OverrideRule(Override held);

    const Override entry;
    const std::optional<Glob> glob;
};

using OverrideRulePointer = std::shared_ptr<const OverrideRule>;

// The overrides of one namespace, arranged for lookup. Never empty.
//
// match() takes one hash lookup and a comparison of two words for each pattern. The ends of those
// that pass are compared in full, and the inner texts of all that remain are found in one pass over
// the identifier. Up to kMaxUnindexed patterns with inner texts are matched one by one instead,
// each in linear time: an automaton would take more memory than it saves time. Patterns beyond
// TextSearch::kMaxTexts inner texts, which only a shared store can hold, are matched one by one as
// well.
//
// Immutable, hence thread-safe.
class OverrideRules {
  public:
    // The most patterns with inner texts that are matched without an automaton.
    static constexpr std::size_t kMaxUnindexed = 8;

    // In the order of their creation.
    OverrideRules(std::vector<OverrideRulePointer> in_order, const KeyHash& hash);

    // The one that applies to `identifier`; null if none does. An exact one before a pattern, more
    // literal bytes before fewer, the older before the younger.
    const Override* match(std::string_view identifier) const;
    // The one that was set under exactly this pattern; null if there is none.
    const Override* find(std::string_view pattern) const;

    // The oldest first.
    std::span<const OverrideRulePointer> in_order() const { return in_order_; }
    // Those that are younger than the one with this order.
    std::span<const OverrideRulePointer> after(std::uint64_t order) const;
    const Usage& usage() const { return usage_; }

  private:
    struct TextHash {
        KeyHash hash;
        std::size_t operator()(std::string_view text) const { return hash(0, text); }
    };
    // The first and the last bytes that a pattern prescribes, up to eight each, as words with the
    // bytes that count set in the mask. These two comparisons rule out nearly all patterns that
    // don't match.
    struct Pattern {
        explicit Pattern(const OverrideRule& held);

        std::uint64_t first;
        std::uint64_t first_mask;
        std::uint64_t last;
        std::uint64_t last_mask;
        const OverrideRule* rule;
        std::uint16_t searched = kNotSearched;  // its number in search_
    };
    static constexpr std::uint16_t kNotSearched = 0xFFFF;

    void index_inner_texts();
    const OverrideRule* match_pattern(std::string_view identifier) const;

    const std::vector<OverrideRulePointer> in_order_;
    std::unordered_map<std::string_view, const OverrideRule*, TextHash> by_pattern_;
    // Those with a `*`. The first that matches is the one that applies.
    std::vector<Pattern> patterns_;
    Usage usage_;
    std::optional<TextSearch> search_;  // none up to kMaxUnindexed patterns with inner texts
    std::vector<const OverrideRule*> in_search_;  // by the number there
};

// All overrides at one point of time. with() and without() make a changed copy, which shares the
// rules and the namespaces that stay as they are: they copy 1/256 of the list of namespaces.
//
// Immutable, hence thread-safe.
class Snapshot {
  public:
    // `overrides` in the order of their creation.
    Snapshot(std::vector<Override> overrides, std::uint64_t hash_seed);

    // The rules of a namespace; null if it has none.
    const OverrideRules* rules(const NamespaceKey& key) const;
    // As those of OverrideRules.
    const Override* match(const OverrideKey& key) const {
        if (size_ == 0) return nullptr;
        const OverrideRules* const rules = this->rules(key.namespace_key());
        return rules == nullptr ? nullptr : rules->match(key.identifier);
    }
    const Override* find(const OverrideKey& key) const {
        const OverrideRules* const rules = this->rules(key.namespace_key());
        return rules == nullptr ? nullptr : rules->find(key.identifier);
    }
    std::size_t size() const { return size_; }

    // Adds the override where its order puts it, instead of the one with the same key if there is
    // one.
    std::shared_ptr<const Snapshot> with(Override entry) const;
    // The key names an override that is there.
    std::shared_ptr<const Snapshot> without(const OverrideKey& key) const;

  private:
    struct Namespace {
        std::uint64_t hash;
        std::shared_ptr<const OverrideRules> rules;
    };
    // Sorted by hash. A change copies one bucket.
    using Bucket = std::vector<Namespace>;
    static constexpr std::size_t kBuckets = 256;

    static Bucket::const_iterator find(const Bucket& bucket,
                                       std::uint64_t hash,
                                       const NamespaceKey& key);
    // The rules of the key's namespace without the one that has the key.
    std::vector<OverrideRulePointer> others_than(const OverrideKey& key) const;
    // A copy in which the namespace has these rules.
    std::shared_ptr<const Snapshot> changed(const NamespaceKey& key,
                                            std::vector<OverrideRulePointer> rules) const;

    KeyHash hash_;
    std::size_t size_ = 0;
    std::array<std::shared_ptr<const Bucket>, kBuckets> buckets_;  // null: empty
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_SNAPSHOT_H_
