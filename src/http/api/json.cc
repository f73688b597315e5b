#include "http/api/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include <simdjson.h>

#include "base/json_text.h"
#include "base/utf8.h"

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

// Bytes by the sets that they belong to.
enum : std::uint8_t { kSpace = 1, kDigit = 2, kHex = 4, kEscapable = 8 };

constexpr std::array<std::uint8_t, 256> kSets = [] {
    std::array<std::uint8_t, 256> sets{};
    const auto add = [&sets](std::string_view bytes, std::uint8_t set) {
        for (const char byte : bytes)
            sets[static_cast<unsigned char>(byte)] |= set;
    };
    add(" \t\n\r", kSpace);
    add("0123456789", kDigit);
    add("0123456789abcdefABCDEF", kHex);
    add("\"\\/bfnrt", kEscapable);
    return sets;
}();

bool is_in(std::uint8_t set, char c) {
    return (kSets[static_cast<unsigned char>(c)] & set) != 0;
}

// A state of scanning a string, within the quotes.
enum class InString : std::uint8_t {
    kText,
    kEscape,  // behind a backslash
    kHex1,    // before each of the digits behind \u
    kHex2,
    kHex3,
    kHex4,
    kEnd,  // behind the closing quote, or behind a byte that is not allowed
    kFault,
};

constexpr InString after(InString state, unsigned char byte) {
    const auto next = [](InString from) {
        return static_cast<InString>(static_cast<std::uint8_t>(from) + 1);
    };
    switch (state) {
        case InString::kText:
            return byte == '"'    ? InString::kEnd
                   : byte == '\\' ? InString::kEscape
                   : byte < 0x20  ? InString::kFault
                                  : InString::kText;
        case InString::kEscape:
            return (kSets[byte] & kEscapable) != 0 ? InString::kText
                   : byte == 'u'                   ? InString::kHex1
                                                   : InString::kFault;
        case InString::kHex4:
            return (kSets[byte] & kHex) != 0 ? InString::kText : InString::kFault;
        default:
            return (kSets[byte] & kHex) != 0 ? next(state) : InString::kFault;
    }
}

// The transitions of InString by byte: six bits for each state, which hold six times the next one.
// So a step is one shift, whatever the byte: a sender can't make it slow by bytes that no branch
// prediction foresees.
constexpr unsigned kStateBits = 6;
constexpr std::array<std::uint64_t, 256> kTransitions = [] {
    std::array<std::uint64_t, 256> rows{};
    for (std::size_t byte = 0; byte < rows.size(); ++byte) {
        for (unsigned state = 0; state < static_cast<unsigned>(InString::kEnd); ++state) {
            const auto next = after(static_cast<InString>(state), static_cast<unsigned char>(byte));
            rows[byte] |= std::uint64_t{kStateBits} * static_cast<std::uint64_t>(next)
                          << (kStateBits * state);
        }
    }
    return rows;
}();

using Word = std::uint64_t;
constexpr Word kOnes = 0x0101010101010101U;
constexpr Word kTops = 0x80U * kOnes;

Word word_at(const char* from) {
    Word word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
}

// Not zero if a byte of the word is less than `low`, which is at most 0x80.
constexpr Word has_less(Word word, std::uint8_t low) {
    return (word - low * kOnes) & ~word & kTops;
}

// Whether all bytes of a word continue a text in a string.
bool is_plain(Word word) {
    return (has_less(word, 0x20) | has_less(word ^ '"' * kOnes, 1) |
            has_less(word ^ '\\' * kOnes, 1)) == 0;
}

bool is_digits(Word word) {
    return ((word & 0xF0U * kOnes) | (((word + 0x06U * kOnes) & 0xF0U * kOnes) >> 4U)) ==
           0x33U * kOnes;
}

// The position at which `text` stops being UTF-8: of the first byte of the first character that is
// malformed. The size of the text if there is none.
std::size_t end_of_utf8(std::string_view text) {
    constexpr std::size_t kBlock = 4096;
    std::size_t at = 0;
    while (text.size() - at > kBlock) {
        std::size_t end = at + kBlock;  // between two characters
        while (end > at && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
            --end;
        if (end == at || !simdjson::validate_utf8(text.data() + at, end - at)) break;
        at = end;
    }
    if (text.size() - at <= kBlock && simdjson::validate_utf8(text.data() + at, text.size() - at))
        return text.size();
    while (at < text.size()) {
        const std::size_t length = utf8_sequence_length(text.substr(at));
        if (length == 0) break;
        at += length;
    }
    return at;
}

// A validating scan that stops at the first error. The cost per byte is that of a few instructions,
// but for the first byte of a value or of an escape.
class Scanner {
  public:
    Scanner(std::string_view text, std::size_t max_values)
        : text_(text), max_values_(max_values), utf8_end_(end_of_utf8(text)) {}

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
        if (values_++ == max_values_) return fail_by_size();
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
        constexpr std::size_t kStride = 16;  // bytes between attempts to skip words
        constexpr std::uint64_t kEnd = kStateBits * static_cast<std::uint64_t>(InString::kEnd);
        constexpr std::uint64_t kMask = (1U << kStateBits) - 1;
        ++at_;
        std::uint64_t state = 0;  // times kStateBits
        while (at_ < utf8_end_) {
            if (state == 0) skip_plain_words();
            const std::size_t stop = std::min(at_ + kStride, utf8_end_);
            std::uint64_t next = state;
            while (at_ < stop) {
                next = kTransitions[static_cast<unsigned char>(text_[at_])] >> state & kMask;
                if (next >= kEnd) break;
                state = next;
                ++at_;
            }
            if (next == kEnd) {
                ++at_;
                return true;
            }
            if (next > kEnd) break;
        }
        return fail_in_string(static_cast<InString>(state / kStateBits));
    }

    void skip_plain_words() {
        while (at_ + sizeof(Word) <= utf8_end_ && is_plain(word_at(&text_[at_])))
            at_ += sizeof(Word);
    }

    // What was read so far has led to `state`; what follows does not fit it, or there is no more.
    bool fail_in_string(InString state) {
        if (state == InString::kEscape) return fail("one of \" \\ / b f n r t u after a backslash");
        if (state != InString::kText) return fail("four hexadecimal digits after \\u");
        if (at_ == text_.size()) return fail("the quote that ends the string");
        if (at_ == utf8_end_) return fail_by_character();
        return fail("an escape such as \\n, not a bare control character");
    }

    // Finds the wrong byte of the malformed character at at_: no overlong forms, no surrogates,
    // nothing beyond U+10FFFF.
    bool fail_by_character() {
        const auto lead = static_cast<unsigned char>(peek());
        if (lead < 0xC2 || lead > 0xF4) return fail("UTF-8");
        const int following = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        ++at_;
        for (int i = 0; i < following; ++i, ++at_) {
            const auto byte = static_cast<unsigned char>(peek());
            if (byte < (i == 0 ? low : 0x80) || byte > (i == 0 ? high : 0xBF)) break;
        }
        return fail("UTF-8");
    }

    bool scan_number() {
        const bool negative = peek() == '-';
        if (negative) ++at_;
        if (!is_in(kDigit, peek())) return fail(negative ? "a digit" : "a value");
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
        if (!is_in(kDigit, peek())) return fail("a digit");
        skip_digits();
        return true;
    }

    void skip_digits() {
        while (at_ + sizeof(Word) <= text_.size() && is_digits(word_at(&text_[at_])))
            at_ += sizeof(Word);
        while (is_in(kDigit, peek()))
            ++at_;
    }

    bool scan_word(std::string_view word) {
        for (const char c : word) {
            if (peek() != c) return fail(word);
            ++at_;
        }
        return true;
    }

    void skip_space() {
        while (is_in(kSpace, peek()))
            ++at_;
    }

    static char closing(char bracket) { return bracket == '{' ? '}' : ']'; }

    // Returns NUL at the end; NUL is not valid anywhere outside of strings either.
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool fail(std::string_view expected) {
        fault_ = {.kind = JsonFault::Kind::kSyntax, .position = at_, .expected = expected};
        return false;
    }
    bool fail_by_size() {
        fault_ = {.kind = JsonFault::Kind::kTooManyValues, .position = at_, .expected = {}};
        return false;
    }

    const std::string_view text_;
    const std::size_t max_values_;
    const std::size_t utf8_end_;
    std::size_t at_ = 0;
    std::size_t values_ = 0;
    bool awaits_value_ = false;
    std::string open_;
    std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text, std::size_t max_values) {
    return Scanner(text, max_values).scan();
}

}  // namespace sluice::http
