#include "http/api/json_number.h"

#include <algorithm>
#include <cstddef>

namespace sluice::http {
namespace {

constexpr std::uint64_t kMaxMagnitude = (std::uint64_t{1} << 53) - 1;
constexpr std::int64_t kMaxDigits = 16;

// More than any body has digits, so that an exponent that is cut off here can't be made up for by
// zeros.
constexpr std::int64_t kMaxExponent = std::int64_t{1} << 40;

struct Decimal {
    std::string_view digits;  // without leading and trailing zeros; may hold the point
    std::int64_t exponent;    // of the last digit
};

std::int64_t parse_exponent(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    std::int64_t exponent = 0;
    for (const char c : text) {
        exponent = std::min(exponent * 10 + (c - '0'), kMaxExponent);
    }
    return negative ? -exponent : exponent;
}

Decimal split(std::string_view token) {
    const std::size_t mark = token.find_first_of("eE");
    std::int64_t exponent = 0;
    if (mark != std::string_view::npos) {
        exponent = parse_exponent(token.substr(mark + 1));
        token = token.substr(0, mark);
    }
    const std::size_t point = token.find('.');
    if (point != std::string_view::npos) {
        exponent -= static_cast<std::int64_t>(token.size() - point - 1);
    }
    while (!token.empty() && (token.back() == '0' || token.back() == '.')) {
        if (token.back() == '0') ++exponent;
        token.remove_suffix(1);
    }
    const std::size_t first = token.find_first_not_of("0.");
    token.remove_prefix(std::min(first, token.size()));
    return {.digits = token, .exponent = exponent};
}

std::optional<std::uint64_t> magnitude(const Decimal& decimal) {
    if (decimal.digits.empty()) return 0;
    if (decimal.exponent < 0) return std::nullopt;
    if (static_cast<std::int64_t>(decimal.digits.size()) + decimal.exponent > kMaxDigits + 1) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char c : decimal.digits) {
        if (c != '.') value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    for (std::int64_t i = 0; i < decimal.exponent; ++i) {
        value *= 10;
    }
    if (value > kMaxMagnitude) return std::nullopt;
    return value;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view token) {
    const bool negative = token.starts_with('-');
    if (negative) token.remove_prefix(1);
    const auto value = magnitude(split(token));
    if (!value) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(*value);
    return negative ? -whole : whole;
}

}  // namespace sluice::http
