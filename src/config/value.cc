#include "config/value.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::config {
namespace {

constexpr std::size_t kLongestQuote = 200;

// Escapes control characters, with which a value could forge a line of the log.
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
    std::string operator()(const UntypedText& value) const { return quoted(value.text); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const UnsupportedValue& value) const {
        return value.text.size() > kLongestQuote ? value.text.substr(0, kLongestQuote) + "..."
                                                 : value.text;
    }
};

// The Levenshtein distance of two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

std::string listed(std::span<const std::string> known) {
    std::string text;
    for (const std::string& word : known)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

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

std::string nearest(std::string_view word, std::span<const std::string> known) {
    constexpr std::size_t kLongestWord = 64;
    std::string best;
    // At most three edits, fewer in a short word: beyond that it is another word.
    std::size_t least = std::clamp<std::size_t>(word.size() * 2 / 5, 1, 3) + 1;
    if (word.size() > kLongestWord) return best;
    for (const std::string& candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance >= std::min(least, candidate.size())) continue;
        least = distance;
        best = candidate;
    }
    return best;
}

std::string not_allowed(const GivenSetting& given, std::string_view allowed) {
    return given.where + ": " + given.setting + " is " + given.value + "; allowed is " +
           std::string(allowed);
}

std::string unknown_setting(const GivenSetting& given, std::span<const std::string> known) {
    const std::string meant = nearest(given.setting, known);
    const std::string hint = meant.empty() ? "" : "did you mean " + meant + "? ";
    return given.where + ": " + given.setting + " is " + given.value +
           ", but there is no such setting; " + hint + (hint.empty() ? "allowed" : "Allowed") +
           " are " + listed(known);
}

bool sounds_secret(std::string_view setting) {
    constexpr std::string_view kWords[] = {
        "token", "secret", "password", "sha256", "TOKEN", "SECRET", "PASSWORD"};
    return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) {
        return setting.find(word) != std::string_view::npos;
    });
}

}  // namespace sluice::config
