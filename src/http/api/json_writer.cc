#include "http/api/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::http {
namespace {

bool must_escape(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

void append_escaped(std::string& out, char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    switch (c) {
        case '"':
            out.append("\\\"");
            return;
        case '\\':
            out.append("\\\\");
            return;
        case '\n':
            out.append("\\n");
            return;
        case '\r':
            out.append("\\r");
            return;
        case '\t':
            out.append("\\t");
            return;
        default:
            const auto byte = static_cast<unsigned char>(c);
            out.append("\\u00").push_back(kHex[byte >> 4U]);
            out.push_back(kHex[byte & 0xFU]);
    }
}

}  // namespace

JsonWriter& JsonWriter::text(std::string_view value) {
    out_.push_back('"');
    while (!value.empty()) {
        const auto stop = std::ranges::find_if(value, must_escape);
        out_.append(value.begin(), stop);
        if (stop == value.end()) break;
        append_escaped(out_, *stop);
        value = {stop + 1, value.end()};
    }
    out_.push_back('"');
    return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
    std::array<char, 20>
        digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
    return *this;
}

}  // namespace sluice::http
