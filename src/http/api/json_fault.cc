#include "http/api/json_fault.h"

#include <algorithm>
#include <string>

#include "http/wire/characters.h"

namespace sluice::http {
namespace {

bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_within(unsigned char byte, unsigned char low, unsigned char high) {
    return byte >= low && byte <= high;
}

// Reads forward; the first failure stays.
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
    // One value with all that it holds. The levels of nesting are kept in open_ and not on the
    // stack of calls: the sender decides how deep they go.
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

    // A scalar, an empty container, or the start of a container up to where its first value stands.
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

    // What follows a value inside a container: a comma and, in an object, the next name; or the end
    // of it.
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

    // One character in UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
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

    // A byte that no rule allows outside of strings stands for the end, too.
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
