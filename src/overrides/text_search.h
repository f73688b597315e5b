// Finds the inner texts of many patterns in one pass over an identifier.
#ifndef SLUICE_OVERRIDES_TEXT_SEARCH_H_
#define SLUICE_OVERRIDES_TEXT_SEARCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "overrides/glob.h"

namespace sluice::overrides {

// TextSearch is an Aho-Corasick automaton over the texts that stand between two `*` in a set of
// patterns, with the order of each pattern's texts on top. first_match() takes time linear in the
// identifier plus the number of texts, whatever the patterns and the identifier are: each byte
// takes two steps on average, and each text is completed at most once.
//
// Memory is about 8 bytes for each byte of the texts, and 1 KiB for each place where they branch,
// of which there are fewer than texts.
//
// Immutable, hence thread-safe.
class TextSearch {
  public:
    static constexpr std::size_t kMaxTexts = 256;  // of all patterns together
    static constexpr std::size_t kMaxIdentifierBytes = 2048;

    // Patterns are numbered in the order given. Each has inner texts, kMaxTexts in all at most.
    explicit TextSearch(std::span<const Glob* const> patterns);

    // The first of the patterns `among` that matches, given that the ends of all of them do: each
    // of its texts occurs between its prefix and its suffix, after the one before. The identifier
    // has at most kMaxIdentifierBytes.
    std::optional<std::uint16_t> first_match(std::string_view identifier,
                                             std::span<const std::uint16_t> among) const;

  private:
    class Builder;
    class Run;

    // A bit for each text or pattern, by its number.
    class Set {
      public:
        void add(std::size_t number) { words_[number / 64] |= std::uint64_t{1} << (number % 64); }
        void remove(std::size_t number) {
            words_[number / 64] &= ~(std::uint64_t{1} << (number % 64));
        }
        bool has(std::size_t number) const {
            return (words_[number / 64] >> (number % 64) & 1U) != 0;
        }
        void add(const Set& other) {
            for (std::size_t i = 0; i < words_.size(); ++i)
                words_[i] |= other.words_[i];
        }
        // Calls `visit` with each number in both, the lowest first.
        template <class Visit>
        void for_each_common(const Set& other, Visit visit) const;

      private:
        std::array<std::uint64_t, kMaxTexts / 64> words_{};
    };

    using NodeNumber = std::uint32_t;
    using Row = std::array<NodeNumber, 256>;  // by the next byte

    // A prefix of the texts. Nodes are in preorder, so an only child follows its parent.
    struct Node {
        static constexpr std::uint16_t kLeaf = 256;
        static constexpr std::uint16_t kBranch = 257;

        std::uint32_t link = 0;  // the longest proper suffix that is a node; the row of a kBranch
        std::uint16_t label = kLeaf;  // the only child's byte, or what the node is instead
        std::uint16_t ends = 0;       // the texts that end here, in ends_
    };

    struct Text {
        std::uint16_t bytes;
        std::uint16_t pattern;
        bool is_last;  // of its pattern
    };

    struct Pattern {
        std::uint16_t first_text;
        std::uint16_t prefix_bytes;
        std::uint16_t suffix_bytes;
    };

    NodeNumber step(NodeNumber from, unsigned char byte) const {
        for (NodeNumber at = from;;) {  // ends: links lead towards the root, which is a kBranch
            const Node& node = nodes_[at];
            if (node.label == byte) return at + 1;
            if (node.label == Node::kBranch) return rows_[node.link][byte];
            at = node.link;
        }
    }

    std::vector<Pattern> patterns_;
    std::vector<Text> texts_;  // those of a pattern one after the other
    std::vector<Node> nodes_;
    std::vector<Row> rows_;
    std::vector<Set> ends_;  // the first is empty
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_TEXT_SEARCH_H_
