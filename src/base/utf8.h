// UTF-8 in texts of any origin.
#ifndef SLUICE_BASE_UTF8_H_
#define SLUICE_BASE_UTF8_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// U+FFFD, which stands for a byte that is not part of UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// The length of the UTF-8 sequence at the start of `text`, which is not empty; 0 if there is none.
inline std::size_t utf8_sequence_length(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || length > text.size()) return 0;
    const auto is_continuation = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    };
    if (!std::ranges::all_of(text.substr(1, length - 1), is_continuation)) return 0;
    // Overlong forms, surrogates, and what is beyond U+10FFFF.
    const auto second = static_cast<unsigned char>(length > 2 ? text[1] : 0x80);
    const bool is_excluded = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                             (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return is_excluded ? 0 : length;
}

// Appends `text` with a replacement character for each byte that is not part of UTF-8.
inline void append_utf8(std::string& out, std::string_view text) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    for (;;) {
        const auto stop = std::ranges::find_if_not(text, is_ascii);
        out.append(text.begin(), stop);
        text = {stop, text.end()};
        if (text.empty()) return;
        const std::size_t length = utf8_sequence_length(text);
        out += length == 0 ? kReplacementCharacter : text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

inline std::string to_utf8(std::string_view text) {
    std::string valid;
    append_utf8(valid, text);
    return valid;
}

}  // namespace sluice

#endif  // SLUICE_BASE_UTF8_H_
