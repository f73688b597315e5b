#include "grpc/header_values.h"

#include <charconv>
#include <cstdint>

namespace sluice::grpc {

namespace {

// Bytes of a message that are sent; peers limit the size of all header fields, often to 8 KiB.
constexpr std::size_t kLongestMessage = 1024;

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

std::optional<std::chrono::nanoseconds> unit_of(char unit) {
    switch (unit) {
        case 'H':
            return std::chrono::hours{1};
        case 'M':
            return std::chrono::minutes{1};
        case 'S':
            return std::chrono::seconds{1};
        case 'm':
            return std::chrono::milliseconds{1};
        case 'u':
            return std::chrono::microseconds{1};
        case 'n':
            return std::chrono::nanoseconds{1};
        default:
            return std::nullopt;
    }
}

bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '%';
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text) {
    constexpr std::size_t kMostDigits = 8;
    if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
    const auto unit = unit_of(text.back());
    std::uint32_t count = 0;
    const char* const end = text.data() + text.size() - 1;
    const auto [parsed, failed] = std::from_chars(text.data(), end, count);
    if (!unit || failed != std::errc{} || parsed != end) return std::nullopt;
    // A year is as good as any longer time, and can be added to a clock.
    constexpr std::chrono::hours kLongest{24 * 365};
    if (std::chrono::nanoseconds{kLongest} / *unit <= static_cast<std::int64_t>(count))
        return kLongest;
    return *unit * static_cast<std::int64_t>(count);
}

bool is_grpc_content_type(std::string_view text) {
    constexpr std::string_view kType = "application/grpc";
    if (!text.starts_with(kType)) return false;
    text.remove_prefix(kType.size());
    if (text.starts_with("+proto")) text.remove_prefix(6);
    return text.empty() || text.front() == ';';
}

std::string percent_encode(std::string_view message) {
    std::string out;
    for (const char c : message.substr(0, kLongestMessage)) {
        if (is_plain(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += kHexDigits[byte >> 4U];
        out += kHexDigits[byte & 15U];
    }
    return out;
}

std::string percent_decode(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        std::uint8_t byte = 0;
        const char* const digits = text.data() + 1;
        const bool is_encoded = text.front() == '%' && text.size() >= 3 &&
                                std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
        out += is_encoded ? static_cast<char>(byte) : text.front();
        text.remove_prefix(is_encoded ? 3 : 1);
    }
    return out;
}

}  // namespace sluice::grpc
