#include "cli/answer_reader.h"

#include <algorithm>
#include <charconv>

namespace sluice::cli {
namespace {

constexpr std::size_t kLongestHead = 16U << 10U;
constexpr std::size_t kLongestBody = 16U << 20U;

char lower(char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_text(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return lower(x) == lower(y);
    });
}

// The value of `name` in a head; empty if it has none.
std::string_view field(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        const std::size_t end = std::min(head.find("\r\n"), head.size());
        const std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(end + 2, head.size()));
        const bool has_name = line.size() > name.size() && line[name.size()] == ':' &&
                              same_text(line.substr(0, name.size()), name);
        if (!has_name) continue;
        const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
        return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
    }
    return {};
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

AnswerFound find_answer(std::string_view received) {
    constexpr std::string_view kStart = "HTTP/1.";
    const AnswerFound malformed{AnswerFault::kMalformed, {}};
    const std::size_t head_end = received.find("\r\n\r\n");
    if (head_end == std::string_view::npos) {
        const bool is_hopeless = received.size() > kLongestHead ||
                                 !received.starts_with(kStart.substr(0, received.size()));
        return is_hopeless ? malformed : AnswerFound{AnswerFault::kMore, {}};
    }
    const std::string_view head = received.substr(0, head_end);
    if (!head.starts_with(kStart) || head.size() < 12) return malformed;
    const auto status = number_in<int>(head.substr(9, 3));
    const auto length = number_in<std::size_t>(field(head, "Content-Length"));
    if (!status || !length || *length > kLongestBody) return malformed;
    const std::size_t size = head_end + 4 + *length;
    if (received.size() < size) return {AnswerFault::kMore, {}};
    return {AnswerFault::kNone, {*status, size, same_text(field(head, "Connection"), "close")}};
}

}  // namespace sluice::cli
