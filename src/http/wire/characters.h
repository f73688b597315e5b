// The character classes of HTTP's grammar, and comparison without case.
#ifndef SLUICE_HTTP_WIRE_CHARACTERS_H_
#define SLUICE_HTTP_WIRE_CHARACTERS_H_

#include <cstddef>
#include <string_view>

namespace sluice::http {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// Valid in the value of a field: all but control characters.
constexpr bool is_text_char(char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

// Valid in a method and in the name of a field.
constexpr bool is_token_char(char c) {
    if (is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

constexpr bool equal_in_any_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) return false;
    }
    return true;
}

constexpr std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_CHARACTERS_H_
