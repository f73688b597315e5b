// JSON strings.
#ifndef SLUICE_BASE_JSON_TEXT_H_
#define SLUICE_BASE_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace sluice {

// Appends `text` in quotes, with quotes, backslashes and control characters escaped. All other
// bytes stay as they are: text that is not UTF-8 gives JSON that is not UTF-8.
inline void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 15U];
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    out += '"';
}

}  // namespace sluice

#endif  // SLUICE_BASE_JSON_TEXT_H_
