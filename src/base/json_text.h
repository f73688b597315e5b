// JSON string literals.
#ifndef SLUICE_BASE_JSON_TEXT_H_
#define SLUICE_BASE_JSON_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// Appends `text` in quotes. Quotes and backslashes get a backslash, line feed, carriage return and
// tab become \n, \r and \t, other ASCII control characters \u00XX: the result is one line and a
// TOML string as well. Other bytes are copied unchanged, so the result is JSON only if `text` is
// UTF-8.
inline void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    constexpr std::string_view kNamed = "\n\r\t";
    constexpr std::string_view kLetters = "nrt";
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    const auto needs_escape = [&](char c) { return is_control(c) || c == '"' || c == '\\'; };
    out += '"';
    while (!text.empty()) {
        const auto stop = std::find_if(text.begin(), text.end(), needs_escape);
        out.append(text.begin(), stop);
        if (stop == text.end()) break;
        const auto byte = static_cast<unsigned char>(*stop);
        out += '\\';
        if (const std::size_t letter = kNamed.find(*stop); letter != std::string_view::npos) {
            out += kLetters[letter];
        } else if (is_control(*stop)) {
            out += "u00";
            out += kHex[byte >> 4U];
            out += kHex[byte & 15U];
        } else {
            out += *stop;
        }
        text = {stop + 1, text.end()};
    }
    out += '"';
}

}  // namespace sluice

#endif  // SLUICE_BASE_JSON_TEXT_H_
