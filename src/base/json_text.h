// JSON string literals.
#ifndef SLUICE_BASE_JSON_TEXT_H_
#define SLUICE_BASE_JSON_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sluice {

// Appends `text` in quotes: JSON whatever bytes it holds, on one line, and a TOML string as well.
// Quotes and backslashes get a backslash, line feed, carriage return and tab become \n, \r and \t,
// other ASCII control characters \u00XX. Each byte that is not part of UTF-8 becomes U+FFFD.
inline void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    constexpr std::string_view kNamed = "\n\r\t";
    constexpr std::string_view kLetters = "nrt";
    const auto is_copied = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
    };
    out += '"';
    for (;;) {
        const auto stop = std::find_if_not(text.begin(), text.end(), is_copied);
        out.append(text.begin(), stop);
        text = {stop, text.end()};
        if (text.empty()) break;
        const auto byte = static_cast<unsigned char>(text.front());
        std::size_t length = 1;
        if (byte >= 0x80) {
            length = utf8_sequence_length(text);
            out += length == 0 ? kReplacementCharacter : text.substr(0, length);
        } else if (const std::size_t letter = kNamed.find(text.front());
                   letter != std::string_view::npos) {
            (out += '\\') += kLetters[letter];
        } else if (byte < 0x20 || byte == 0x7f) {
            ((out += "\\u00") += kHex[byte >> 4U]) += kHex[byte & 15U];
        } else {
            (out += '\\') += text.front();
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    out += '"';
}

}  // namespace sluice

#endif  // SLUICE_BASE_JSON_TEXT_H_
