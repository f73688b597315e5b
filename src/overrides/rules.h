// The overrides of one namespace, arranged for lookup.
#ifndef SLUICE_OVERRIDES_RULES_H_
#define SLUICE_OVERRIDES_RULES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "overrides/glob.h"
#include "overrides/override.h"
#include "overrides/text_hash.h"
#include "overrides/text_search.h"

namespace sluice::overrides {

// An override with its pattern prepared. One without a `*` needs no more than its text.
struct Rule {
    explicit Rule(Override held);

    const Override entry;
    const std::optional<Glob> glob;
};

using RulePointer = std::shared_ptr<const Rule>;

// Rules is never empty and never changes: with() and without() make another one, which shares the
// rules that stay.
//
// match() takes one hash lookup and a comparison of two words for each pattern. The ends of those
// that pass are compared in full, and the inner texts of all that remain are found in one pass over
// the identifier. Up to kMaxUnindexed patterns with inner texts are matched one by one instead,
// each in linear time: an automaton takes up to 1 KiB for each text, which is too much for a
// namespace with a single override. Patterns beyond TextSearch::kMaxTexts inner texts, which only a
// store that others write to can hold, are matched one by one as well.
//
// Immutable, hence thread-safe.
class Rules {
  public:
    // The most patterns with inner texts that are matched without an automaton.
    static constexpr std::size_t kMaxUnindexed = 8;

    // In the order of their creation.
    Rules(std::vector<RulePointer> in_order, std::uint64_t hash_seed);

    // The one that applies to `identifier`; null if none does.
    const Override* match(std::string_view identifier) const;
    // The one that was set under exactly this pattern; null if there is none.
    const Override* find(std::string_view pattern) const;

    // The oldest first.
    std::span<const RulePointer> in_order() const { return in_order_; }
    // Those that are younger than the one with this order.
    std::span<const RulePointer> after(std::uint64_t order) const;

    // How many have a `*`, and how long their patterns are together.
    std::size_t patterns() const { return patterns_.size(); }
    std::size_t pattern_bytes() const { return pattern_bytes_; }
    // How many have text between two `*`, and how many such texts there are.
    std::size_t searched() const { return searched_; }
    std::size_t inner_texts() const { return inner_texts_; }

    // Adds the rule where its order puts it, instead of the one with the same pattern if there is
    // one.
    std::shared_ptr<const Rules> with(RulePointer rule) const;
    // Null if nothing is left.
    std::shared_ptr<const Rules> without(std::string_view pattern) const;

  private:
    // The first and the last bytes that a pattern prescribes, up to eight each, as words with the
    // bytes that count set in the mask. Nearly all patterns that don't match are told by these two
    // comparisons, side by side in memory.
    struct Pattern {
        explicit Pattern(const Rule& held);

        std::uint64_t first;
        std::uint64_t first_mask;
        std::uint64_t last;
        std::uint64_t last_mask;
        const Rule* rule;
        std::uint16_t searched = kNotSearched;  // its number in search_
    };
    static constexpr std::uint16_t kNotSearched = 0xFFFF;

    void count_inner_texts();
    void index_inner_texts();
    const Rule* match_pattern(std::string_view identifier) const;

    const std::uint64_t hash_seed_;
    const std::vector<RulePointer> in_order_;
    std::unordered_map<std::string_view, const Rule*, TextHash> by_pattern_;
    // Those with a `*`. The first that matches is the one that applies.
    std::vector<Pattern> patterns_;
    std::size_t pattern_bytes_ = 0;
    std::size_t searched_ = 0;
    std::size_t inner_texts_ = 0;
    std::optional<TextSearch> search_;    // none up to kMaxUnindexed patterns with inner texts
    std::vector<const Rule*> in_search_;  // by the number there
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_RULES_H_
