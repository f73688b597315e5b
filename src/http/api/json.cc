#include "http/api/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/json_text.h"
#include "http/wire/characters.h"

namespace sluice::http {

JsonWriter& JsonWriter::text(std::string_view value) {
    append_json_string(out_, value);
    return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written before it is read
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
    return *this;
}

namespace {

constexpr std::uint64_t kMaxMagnitude = (std::uint64_t{1} << 53) - 1;
constexpr std::int64_t kMaxDigits = 16;

// More than any body has digits: zeros can't compensate an exponent that is clamped to this.
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

namespace {

bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_within(unsigned char byte, unsigned char low, unsigned char high) {
    return byte >= low && byte <= high;
}

// A validating scan that stops at the first error.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::optional<JsonFault> scan() {
        if (scan_values()) {
            skip_space();
            if (at_ < text_.size()) fail("the end of the body");
        }
        return fault_;
    }

  private:
    // Scans one value with its content. Nesting is tracked in open_ rather than by recursion, since
    // the sender decides how deep it goes.
    bool scan_values() {
        do {
            skip_space();
            if (!scan_value_start()) return false;
            while (!awaits_value_ && !open_.empty()) {
                if (!scan_after_value()) return false;
            }
        } while (awaits_value_);
        return true;
    }

    // Scans a scalar, an empty container, or a container up to its first value.
    bool scan_value_start() {
        awaits_value_ = false;
        switch (peek()) {
            case '{':
                return open('{');
            case '[':
                return open('[');
            case '"':
                return scan_string();
            case 't':
                return scan_word("true");
            case 'f':
                return scan_word("false");
            case 'n':
                return scan_word("null");
            default:
                return scan_number();
        }
    }

    bool open(char bracket) {
        ++at_;
        skip_space();
        if (peek() == closing(bracket)) {
            ++at_;
            return true;
        }
        open_.push_back(bracket);
        awaits_value_ = true;
        return bracket == '[' || scan_key("a name in quotes or '}'");
    }

    // Scans what follows a value inside a container: its end, or a comma and, in an object, the
    // next name.
    bool scan_after_value() {
        const char bracket = open_.back();
        skip_space();
        if (peek() == closing(bracket)) {
            ++at_;
            open_.pop_back();
            return true;
        }
        if (peek() != ',') return fail(bracket == '{' ? "',' or '}'" : "',' or ']'");
        ++at_;
        awaits_value_ = true;
        skip_space();
        return bracket == '[' || scan_key("a name in quotes");
    }

    bool scan_key(std::string_view expected) {
        if (peek() != '"') return fail(expected);
        if (!scan_string()) return false;
        skip_space();
        if (peek() != ':') return fail("':'");
        ++at_;
        return true;
    }

    bool scan_string() {
        ++at_;
        while (at_ < text_.size()) {
            const auto byte = static_cast<unsigned char>(text_[at_]);
            if (byte == '"') {
                ++at_;
                return true;
            }
            if (byte < 0x20) return fail("an escape such as \\n, not a bare control character");
            if (byte == '\\' ? !scan_escape() : !scan_character(byte)) return false;
        }
        return fail("the quote that ends the string");
    }

    bool scan_escape() {
        ++at_;
        if (peek() == 'u') {
            ++at_;
            for (int i = 0; i < 4; ++i, ++at_) {
                if (!is_hex(peek())) return fail("four hexadecimal digits after \\u");
            }
            return true;
        }
        constexpr std::string_view kEscapes = "\"\\/bfnrt";
        if (at_ == text_.size() || kEscapes.find(text_[at_]) == std::string_view::npos) {
            return fail("one of \" \\ / b f n r t u after a backslash");
        }
        ++at_;
        return true;
    }

    // Scans one UTF-8 character: no overlong forms, no surrogates, nothing beyond U+10FFFF.
    bool scan_character(unsigned char lead) {
        if (lead < 0x80) {
            ++at_;
            return true;
        }
        if (!is_within(lead, 0xC2, 0xF4)) return fail("UTF-8");
        const int following = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        ++at_;
        for (int i = 0; i < following; ++i, ++at_) {
            const auto byte = static_cast<unsigned char>(peek());
            if (!is_within(byte, i == 0 ? low : 0x80, i == 0 ? high : 0xBF)) return fail("UTF-8");
        }
        return true;
    }

    bool scan_number() {
        const bool negative = peek() == '-';
        if (negative) ++at_;
        if (!is_digit(peek())) return fail(negative ? "a digit" : "a value");
        if (peek() == '0') {
            ++at_;
        } else {
            skip_digits();
        }
        if (peek() == '.') {
            ++at_;
            if (!scan_digits()) return false;
        }
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            return scan_digits();
        }
        return true;
    }

    bool scan_digits() {
        if (!is_digit(peek())) return fail("a digit");
        skip_digits();
        return true;
    }

    void skip_digits() {
        while (is_digit(peek())) {
            ++at_;
        }
    }

    bool scan_word(std::string_view word) {
        for (const char c : word) {
            if (peek() != c) return fail(word);
            ++at_;
        }
        return true;
    }

    void skip_space() {
        constexpr std::string_view kSpace = " \t\n\r";
        at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    }

    static char closing(char bracket) { return bracket == '{' ? '}' : ']'; }

    // Returns NUL at the end; NUL is not valid anywhere outside of strings either.
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool fail(std::string_view expected) {
        fault_ = {.position = at_, .expected = expected};
        return false;
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    bool awaits_value_ = false;
    std::string open_;
    std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text) {
    return Scanner(text).scan();
}

}  // namespace sluice::http
