#include "overrides/glob.h"

#include <algorithm>

namespace sluice::overrides {

Glob::Needle::Needle(std::string_view needle) : literal(needle), fallback(needle.size(), 0) {
    std::size_t matched = 0;
    for (std::size_t i = 1; i < literal.size(); ++i) {
        while (matched > 0 && literal[i] != literal[matched]) {
            matched = fallback[matched - 1];
        }
        if (literal[i] == literal[matched]) ++matched;
        fallback[i] = static_cast<std::uint16_t>(matched);
    }
}

// Each byte of the text raises `matched` at most once, and each fallback lowers it: at most two
// steps for each byte.
std::size_t Glob::Needle::end_in(std::string_view text) const {
    std::size_t matched = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        while (matched > 0 && text[i] != literal[matched]) {
            matched = fallback[matched - 1];
        }
        if (text[i] == literal[matched]) ++matched;
        if (matched == literal.size()) return i + 1;
    }
    return std::string_view::npos;
}

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
}

// The two ends are fixed. Between them, taking the first occurrence of each inner literal is right:
// it leaves the most text for those that follow.
bool Glob::matches(std::string_view text) const {
    if (is_exact_) return text == prefix_;
    if (text.size() < literal_bytes_) return false;
    if (!text.starts_with(prefix_) || !text.ends_with(suffix_)) return false;
    std::string_view rest =
        text.substr(prefix_.size(), text.size() - prefix_.size() - suffix_.size());
    for (const Needle& needle : inner_) {
        const std::size_t end = needle.end_in(rest);
        if (end == std::string_view::npos) return false;
        rest.remove_prefix(end);
    }
    return true;
}

}  // namespace sluice::overrides
