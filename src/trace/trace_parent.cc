#include "trace/trace_parent.h"

#include <algorithm>

namespace sluice::trace {
namespace {

// 00-<trace id>-<span id>-<flags>
constexpr std::size_t kLength = 55;

bool is_hex(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
}

bool is_id(std::string_view text) {
    return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceParent> parse_trace_parent(std::string_view text) {
    if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-')
        return std::nullopt;
    const std::string_view version = text.substr(0, 2);
    const std::string_view trace_id = text.substr(3, 32);
    const std::string_view span_id = text.substr(36, 16);
    const std::string_view flags = text.substr(53, 2);
    if (!is_hex(version) || version == "ff" || !is_id(trace_id) || !is_id(span_id) ||
        !is_hex(flags))
        return std::nullopt;
    // Later versions may add fields behind a dash.
    if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
    const char last = flags[1];
    const int digit = last <= '9' ? last - '0' : last - 'a' + 10;
    return TraceParent{.trace_id = std::string(trace_id),
                       .span_id = std::string(span_id),
                       .is_sampled = digit % 2 == 1};
}

}  // namespace sluice::trace
