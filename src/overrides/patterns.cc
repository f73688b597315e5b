#include "overrides/patterns.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace sluice::overrides {
namespace {

constexpr std::size_t kNotFound = std::string_view::npos;

// What of `text` follows the first occurrence of `needle`. The C library searches in linear time,
// whatever the two are; std::string_view::find does not.
std::size_t end_of_first(std::string_view needle, std::string_view text) {
    const void* const found = memmem(text.data(), text.size(), needle.data(), needle.size());
    if (found == nullptr) return kNotFound;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + needle.size();
}

}  // namespace

Glob::Glob(std::string_view pattern) : is_exact_(pattern.find('*') == std::string_view::npos) {
    literal_bytes_ = pattern.size() - static_cast<std::size_t>(std::ranges::count(pattern, '*'));
    if (is_exact_) {
        prefix_ = pattern;
        return;
    }
    const std::size_t first = pattern.find('*');
    const std::size_t last = pattern.rfind('*');
    prefix_ = pattern.substr(0, first);
    suffix_ = pattern.substr(last + 1);
    for (std::size_t at = first; at < last;) {
        const std::size_t star = pattern.find('*', at + 1);
        if (star > at + 1) inner_.emplace_back(pattern.substr(at + 1, star - at - 1));
        at = star;
    }
    inner_.shrink_to_fit();
}

bool Glob::matches_ends(std::string_view text) const {
    return text.size() >= literal_bytes_ && text.starts_with(prefix_) && text.ends_with(suffix_);
}

// The two ends are fixed. Between them, taking the first occurrence of each inner literal is right:
// it leaves the most text for those that follow.
bool Glob::matches(std::string_view text) const {
    if (is_exact_) return text == prefix_;
    if (!matches_ends(text)) return false;
    std::string_view rest =
        text.substr(prefix_.size(), text.size() - prefix_.size() - suffix_.size());
    for (const std::string& needle : inner_) {
        const std::size_t end = end_of_first(needle, rest);
        if (end == kNotFound) return false;
        rest.remove_prefix(end);
    }
    return true;
}

// Follows links until a node has a child for the byte. Ends: links lead to shorter prefixes, and to
// the root at last.
TextSearch::NodeNumber TextSearch::step(NodeNumber from, unsigned char byte) const {
    for (NodeNumber at = from;; at = nodes_[at].link) {
        NodeNumber child = nodes_[at].first_child;
        NodeNumber count = nodes_[at + 1].first_child - child;
        for (; count > 1; count -= count / 2) {
            if (nodes_[child + count / 2].byte <= byte) child += count / 2;
        }
        if (count == 1 && nodes_[child].byte == byte) return child;
        if (at == 0) return 0;
    }
}

// The texts that begin with a node's prefix are a range of the sorted texts: first the one that the
// node is, then those of each child. Breadth first, so that what a link leads to is complete.
void TextSearch::build(std::span<const std::string_view> texts) {
    struct Range {
        std::size_t first;
        std::size_t last;
        std::size_t depth;
        NodeNumber parent;
    };
    std::vector<std::size_t> sorted(texts.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::ranges::sort(sorted, {}, [&](std::size_t text) { return texts[text]; });
    ends_.emplace_back();
    nodes_.emplace_back();
    std::vector<Range> ranges{{.first = 0, .last = texts.size(), .depth = 0, .parent = 0}};
    for (NodeNumber number = 0; number < ranges.size(); ++number) {
        auto [at, last, depth, parent] = ranges[number];
        nodes_[number].first_child = static_cast<NodeNumber>(nodes_.size());
        if (depth > 1) nodes_[number].link = step(nodes_[parent].link, nodes_[number].byte);
        nodes_[number].ends = nodes_[nodes_[number].link].ends;
        if (at < last && texts[sorted[at]].size() == depth) {
            ends_.push_back(ends_[nodes_[number].ends]);
            nodes_[number].ends = static_cast<std::uint16_t>(ends_.size() - 1);
        }
        for (; at < last && texts[sorted[at]].size() == depth; ++at)
            ends_.back().set(sorted[at]);
        while (at < last) {
            const std::size_t first = at;
            const char byte = texts[sorted[first]][depth];
            while (at < last && texts[sorted[at]][depth] == byte)
                ++at;
            ranges.push_back({.first = first, .last = at, .depth = depth + 1, .parent = number});
            nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
        }
    }
    nodes_.push_back({.first_child = static_cast<NodeNumber>(nodes_.size())});
    nodes_.shrink_to_fit();
}

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
    build(texts);
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
                wanted_.set(text);
            node = search_.step(node, static_cast<unsigned char>(identifier_[at]));
            const std::uint16_t ends = search_.nodes_[node].ends;
            if (ends == 0) continue;
            const Set ended = search_.ends_[ends] & wanted_;
            for (std::size_t text = ended._Find_first(); text < kMaxTexts;
                 text = ended._Find_next(text))
                complete(static_cast<std::uint16_t>(text), at);
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
        wanted_.reset(text);
        --live_;
        const auto& [bytes, pattern, is_last] = search_.texts_[text];
        if (!is_last) return await(static_cast<std::uint16_t>(text + 1), at + 1);
        const std::size_t room = identifier_.size() - search_.patterns_[pattern].suffix_bytes;
        if (at < room) matched_.set(pattern);
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
        std::ranges::find_if(among, [&](std::uint16_t pattern) { return matching[pattern]; });
    if (first == among.end()) return std::nullopt;
    return *first;
}

}  // namespace sluice::overrides
