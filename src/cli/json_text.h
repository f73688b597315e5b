// Text as a JSON string.
#ifndef SLUICE_CLI_JSON_TEXT_H_
#define SLUICE_CLI_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace sluice::cli {

// In quotes. What is not UTF-8 stays as it is, for the server to refuse.
inline std::string json_text(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20) {
            out += "\\u00";
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 15U];
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

}  // namespace sluice::cli

#endif  // SLUICE_CLI_JSON_TEXT_H_
