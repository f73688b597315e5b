#include "config/value.h"

#include <cstddef>

namespace sluice::config {
namespace {

constexpr std::size_t kLongestQuote = 200;

// A control character would let a value forge a line of the log.
void append_escaped(std::string& out, char c) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
        out += "\\x";
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 15U];
    } else {
        out += c;
    }
}

struct Quote {
    std::string operator()(const Text& value) const { return quoted(value.text); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const Unfit& value) const {
        return value.text.size() > kLongestQuote ? value.text.substr(0, kLongestQuote) + "..."
                                                 : value.text;
    }
};

}  // namespace

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text.substr(0, kLongestQuote))
        append_escaped(out, c);
    return out + (text.size() > kLongestQuote ? "...\"" : "\"");
}

std::string as_written(const Value& value) {
    return std::visit(Quote{}, value);
}

}  // namespace sluice::config
