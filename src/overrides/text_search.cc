#include "overrides/text_search.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"

namespace sluice::overrides {

template <class Visit>
void TextSearch::Set::for_each_common(const Set& other, Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
        for (std::uint64_t left = words_[i] & other.words_[i]; left != 0; left &= left - 1)
            visit(i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
    }
}

// Makes the automaton: the tree of the sorted texts in preorder, then links and rows in the order
// of depth, since a node's link is less deep.
class TextSearch::Builder {
  public:
    Builder(TextSearch& search, std::span<const std::string_view> texts)
        : nodes_(search.nodes_), rows_(search.rows_), ends_(search.ends_), texts_(texts) {}

    void build() {
        ends_.emplace_back();
        add_node(0, 0, 0);
        add_texts();
        label_nodes();
        links_.resize(nodes_.size());
        for (const NodeNumber node : by_depth())
            complete(node);
        nodes_.shrink_to_fit();
        rows_.shrink_to_fit();
        ends_.shrink_to_fit();
    }

  private:
    struct Origin {
        NodeNumber parent;
        std::uint16_t depth;
        unsigned char byte;  // that leads here from the parent
    };

    void add_node(NodeNumber parent, std::uint16_t depth, unsigned char byte) {
        nodes_.emplace_back();
        origins_.push_back({parent, depth, byte});
        own_ends_.push_back(0);
    }

    // In sorted order, what a text shares with those before it is what it shares with the last.
    void add_texts() {
        std::vector<std::size_t> sorted(texts_.size());
        std::iota(sorted.begin(), sorted.end(), 0);
        std::ranges::sort(sorted, {}, [&](std::size_t text) { return texts_[text]; });
        std::vector<NodeNumber> path{0};  // the nodes of the last text
        std::string_view last;
        for (const std::size_t number : sorted) {
            const std::string_view text = texts_[number];
            const auto differs = std::ranges::mismatch(text, last).in1;
            const auto shared = static_cast<std::size_t>(differs - text.begin());
            path.resize(shared + 1);
            for (std::size_t i = shared; i < text.size(); ++i) {
                add_node(path.back(),
                         static_cast<std::uint16_t>(i + 1),
                         static_cast<unsigned char>(text[i]));
                path.push_back(static_cast<NodeNumber>(nodes_.size() - 1));
            }
            add_end(path.back(), number);
            last = text;
        }
    }

    void add_end(NodeNumber node, std::size_t text) {
        if (own_ends_[node] == 0) {
            own_ends_[node] = static_cast<std::uint16_t>(ends_.size());
            ends_.emplace_back();
        }
        ends_[own_ends_[node]].add(text);
    }

    // The root is always a branch, so that following links ends there.
    void label_nodes() {
        nodes_[0].label = Node::kBranch;
        for (NodeNumber node = 1; node < nodes_.size(); ++node) {
            Node& parent = nodes_[origins_[node].parent];
            const bool is_first = parent.label == Node::kLeaf;
            parent.label = is_first ? origins_[node].byte : Node::kBranch;
        }
        for (NodeNumber node = 1; node < nodes_.size(); ++node) {
            if (nodes_[origins_[node].parent].label == Node::kBranch) branched_.push_back(node);
        }
        std::ranges::stable_sort(
            branched_, {}, [&](NodeNumber node) { return origins_[node].parent; });
    }

    std::vector<NodeNumber> by_depth() const {
        std::vector<NodeNumber> nodes(nodes_.size());
        std::iota(nodes.begin(), nodes.end(), 0);
        std::ranges::stable_sort(nodes, {}, [&](NodeNumber node) { return origins_[node].depth; });
        return nodes;
    }

    // All nodes that are less deep are complete.
    void complete(NodeNumber number) {
        const auto& [parent, depth, byte] = origins_[number];
        Node& node = nodes_[number];
        const NodeNumber link = depth <= 1 ? 0 : step(links_[parent], byte);
        links_[number] = link;
        node.ends = ends_of(number, link);
        if (node.label != Node::kBranch) {
            node.link = link;
            return;
        }
        node.link = static_cast<std::uint32_t>(rows_.size());
        rows_.push_back(row_of(number, link));
    }

    NodeNumber step(NodeNumber from, unsigned char byte) const {
        for (NodeNumber at = from;;) {
            if (nodes_[at].label == byte) return at + 1;
            if (nodes_[at].label == Node::kBranch) return rows_[nodes_[at].link][byte];
            at = links_[at];
        }
    }

    // What ends here is what ends at the link, and the text that the node is.
    std::uint16_t ends_of(NodeNumber number, NodeNumber link) {
        const std::uint16_t inherited = number == 0 ? 0 : nodes_[link].ends;
        if (own_ends_[number] == 0) return inherited;
        ends_[own_ends_[number]].add(ends_[inherited]);
        return own_ends_[number];
    }

    // Where each byte leads: to a child, or to where it leads from the link. The row of the next
    // branch on the way to the root holds all that the nodes before it don't change.
    Row row_of(NodeNumber number, NodeNumber link) const {
        Row row{};
        if (number != 0) {
            std::vector<NodeNumber> changing;
            NodeNumber at = link;
            for (; nodes_[at].label != Node::kBranch; at = links_[at])
                changing.push_back(at);
            row = rows_[nodes_[at].link];
            for (auto node = changing.rbegin(); node != changing.rend(); ++node) {
                if (nodes_[*node].label != Node::kLeaf) row[nodes_[*node].label] = *node + 1;
            }
        }
        auto child = std::ranges::lower_bound(
            branched_, number, {}, [&](NodeNumber node) { return origins_[node].parent; });
        for (; child != branched_.end() && origins_[*child].parent == number; ++child)
            row[origins_[*child].byte] = *child;
        return row;
    }

    std::vector<Node>& nodes_;
    std::vector<Row>& rows_;
    std::vector<Set>& ends_;
    const std::span<const std::string_view> texts_;
    std::vector<Origin> origins_;
    std::vector<std::uint16_t> own_ends_;
    std::vector<NodeNumber> links_;     // of all nodes, branches too
    std::vector<NodeNumber> branched_;  // whose parent is a branch, by parent
};

TextSearch::TextSearch(std::span<const Glob* const> patterns) {
    std::vector<std::string_view> texts;
    for (const Glob* pattern : patterns) {
        const auto inner = pattern->inner();
        SLUICE_CHECK(!inner.empty());
        const auto number = static_cast<std::uint16_t>(patterns_.size());
        patterns_.push_back({.first_text = static_cast<std::uint16_t>(texts.size()),
                             .prefix_bytes = static_cast<std::uint16_t>(pattern->prefix().size()),
                             .suffix_bytes = static_cast<std::uint16_t>(pattern->suffix().size())});
        for (const std::string& text : inner) {
            texts.push_back(text);
            texts_.push_back({.bytes = static_cast<std::uint16_t>(text.size()),
                              .pattern = number,
                              .is_last = &text == &inner.back()});
        }
    }
    SLUICE_CHECK(texts.size() <= kMaxTexts);
    Builder(*this, texts).build();
}

// One pass over an identifier. A text counts from the first byte at which it can end behind the one
// before it: until then it waits in the list of that byte. Taking the first occurrence of each is
// right: it leaves the most room for those that follow.
class TextSearch::Run {
  public:
    Run(const TextSearch& search, std::string_view identifier)
        : search_(search), identifier_(identifier) {
        std::fill_n(waiting_.begin(), identifier.size(), kNone);
    }

    void begin(const Pattern& pattern) { await(pattern.first_text, pattern.prefix_bytes); }

    Set finish() {
        NodeNumber node = 0;
        for (std::size_t at = 0; at < identifier_.size() && live_ > 0; ++at) {
            for (std::uint16_t text = waiting_[at]; text != kNone; text = next_[text])
                wanted_.add(text);
            node = search_.step(node, static_cast<unsigned char>(identifier_[at]));
            const std::uint16_t ends = search_.nodes_[node].ends;
            if (ends == 0) continue;
            search_.ends_[ends].for_each_common(
                wanted_, [&](std::size_t text) { complete(static_cast<std::uint16_t>(text), at); });
        }
        return matched_;
    }

  private:
    static constexpr std::uint16_t kNone = kMaxTexts;

    // The text must begin at `from` or later.
    void await(std::uint16_t text, std::size_t from) {
        const std::size_t first_end = from + search_.texts_[text].bytes - 1;
        if (first_end >= identifier_.size()) return;
        next_[text] = std::exchange(waiting_[first_end], text);
        ++live_;
    }

    void complete(std::uint16_t text, std::size_t at) {
        wanted_.remove(text);
        --live_;
        const auto& [bytes, pattern, is_last] = search_.texts_[text];
        if (!is_last) return await(static_cast<std::uint16_t>(text + 1), at + 1);
        const std::size_t room = identifier_.size() - search_.patterns_[pattern].suffix_bytes;
        if (at < room) matched_.add(pattern);
    }

    const TextSearch& search_;
    const std::string_view identifier_;
    std::size_t live_ = 0;  // texts that are wanted or wait
    Set wanted_;
    Set matched_;
    // By the byte of the identifier from which they count: the first text of a list, and by text
    // the next one.
    std::array<std::uint16_t, kMaxIdentifierBytes> waiting_;
    std::array<std::uint16_t, kMaxTexts> next_;
};

std::optional<std::uint16_t> TextSearch::first_match(std::string_view identifier,
                                                     std::span<const std::uint16_t> among) const {
    SLUICE_CHECK(identifier.size() <= kMaxIdentifierBytes);
    Run run(*this, identifier);
    for (const std::uint16_t pattern : among)
        run.begin(patterns_[pattern]);
    const Set matching = run.finish();
    const auto first =
        std::ranges::find_if(among, [&](std::uint16_t pattern) { return matching.has(pattern); });
    if (first == among.end()) return std::nullopt;
    return *first;
}

}  // namespace sluice::overrides
