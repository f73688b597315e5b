#include "overrides/glob.h"

#include <algorithm>
#include <cstring>

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

}  // namespace sluice::overrides
