// Patterns in which `*` stands for any run of bytes: one (Glob), and many at once (TextSearch).
#ifndef SLUICE_OVERRIDES_PATTERNS_H_
#define SLUICE_OVERRIDES_PATTERNS_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::overrides {

// Glob is prepared once from its pattern and then matches without going back in the text: the time
// is linear in the text, whatever the pattern. Every byte but `*` stands for itself, newlines and
// zeros too; `*` also stands for nothing.
//
// Immutable, hence thread-safe.
class Glob {
  public:
    static constexpr std::size_t kMaxBytes = 4096;

    // `pattern` is at most kMaxBytes long.
    explicit Glob(std::string_view pattern);

    bool matches(std::string_view text) const;
    // Whether a text begins and ends as the pattern asks, and is long enough for it.
    bool matches_ends(std::string_view text) const;

    // Without a `*`, a pattern names one text only.
    bool is_exact() const { return is_exact_; }
    // How many bytes of a text the pattern itself names.
    std::size_t literal_bytes() const { return literal_bytes_; }

    // What each match begins and ends with.
    std::string_view prefix() const { return prefix_; }
    std::string_view suffix() const { return suffix_; }

    // The texts between two `*`, in their order; none is empty.
    std::span<const std::string> inner() const { return inner_; }

  private:
    bool is_exact_;
    std::size_t literal_bytes_ = 0;
    std::string prefix_;  // the whole pattern if it is exact
    std::string suffix_;
    std::vector<std::string> inner_;
};

// TextSearch finds the inner texts of many patterns in one pass over an identifier: an Aho-Corasick
// automaton over these texts, with the order of each pattern's texts on top. first_match() takes
// time linear in the identifier plus the number of texts, whatever the patterns and the identifier
// are: each byte takes two steps on average, each a search among
// the children of a node, and each text is completed at most once. Memory is
// about 12 bytes for each byte of the texts.
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
    class Run;
    using Set = std::bitset<kMaxTexts>;  // of texts, or of patterns, by number
    using NodeNumber = std::uint32_t;

    // A prefix of the texts. Nodes are in breadth-first order, so the children of node n are those
    // from its first_child up to the first_child of node n + 1, sorted by byte.
    struct Node {
        NodeNumber first_child = 0;
        NodeNumber link = 0;     // the longest proper suffix that is a node
        std::uint16_t ends = 0;  // the texts that end here, in ends_
        unsigned char byte = 0;  // leads here from the parent
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

    void build(std::span<const std::string_view> texts);
    NodeNumber step(NodeNumber from, unsigned char byte) const;

    std::vector<Pattern> patterns_;
    std::vector<Text> texts_;  // those of a pattern one after the other
    std::vector<Node> nodes_;  // the root first; one more at the end bounds the last children
    std::vector<Set> ends_;    // the first is empty
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_PATTERNS_H_
