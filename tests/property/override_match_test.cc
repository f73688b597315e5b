// Which override applies, against a model that is obviously right.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "overrides/snapshot.h"

namespace sluice::overrides {
namespace {

// Whether `pattern` matches `text`, by the table of all their prefixes.
bool matches_naively(const std::string& pattern, const std::string& text) {
    std::vector<std::vector<bool>> table(pattern.size() + 1, std::vector<bool>(text.size() + 1));
    table[0][0] = true;
    for (std::size_t p = 1; p <= pattern.size(); ++p) {
        for (std::size_t t = 0; t <= text.size(); ++t) {
            if (pattern[p - 1] == '*') {
                table[p][t] = table[p - 1][t] || (t > 0 && table[p][t - 1]);
            } else {
                table[p][t] = t > 0 && pattern[p - 1] == text[t - 1] && table[p - 1][t - 1];
            }
        }
    }
    return table[pattern.size()][text.size()];
}

std::ptrdiff_t literals_of(const std::string& pattern) {
    return static_cast<std::ptrdiff_t>(pattern.size()) - std::ranges::count(pattern, '*');
}

// The pattern that applies, or "none": an exact one, then the most literal bytes, then the oldest.
std::string applied_naively(const std::vector<std::string>& patterns, const std::string& text) {
    std::string best = "none";
    std::ptrdiff_t most = -1;
    for (const std::string& pattern : patterns) {
        const bool is_exact = pattern.find('*') == std::string::npos;
        if (is_exact && pattern == text) return pattern;
        if (is_exact || literals_of(pattern) <= most || !matches_naively(pattern, text)) continue;
        best = pattern;
        most = literals_of(pattern);
    }
    return best;
}

OverrideRules rules_of(const std::vector<std::string>& patterns) {
    std::vector<OverrideRulePointer> rules;
    for (const std::string& pattern : patterns) {
        rules.push_back(std::make_shared<const OverrideRule>(Override{.workspace = "w",
                                                                      .name_space = "n",
                                                                      .identifier = pattern,
                                                                      .id = "id",
                                                                      .value = {},
                                                                      .order = rules.size() + 1}));
    }
    return {std::move(rules), KeyHash(7)};
}

// Few different bytes, so that texts occur, overlap and nearly occur: letters, a newline, a zero,
// and the bytes of a character of UTF-8.
rc::Gen<char> letter() {
    return rc::gen::weightedElement<char>(
        {{8, 'a'}, {4, 'b'}, {1, '\n'}, {1, '\0'}, {1, '\xC3'}, {1, '\xA9'}});
}

rc::Gen<std::string> text_up_to(int bytes) {
    return rc::gen::resize(bytes, rc::gen::container<std::string>(letter()));
}

rc::Gen<std::vector<std::string>> patterns() {
    const auto pattern = rc::gen::nonEmpty(rc::gen::container<std::string>(
        rc::gen::weightedOneOf<char>({{2, letter()}, {1, rc::gen::just('*')}})));
    return rc::gen::resize(12,
                           rc::gen::nonEmpty(rc::gen::unique<std::vector<std::string>>(pattern)));
}

RC_GTEST_PROP(OverrideMatch, IsTheOneThatTheModelFinds, ()) {
    const auto held = *patterns();
    const OverrideRules rules = rules_of(held);
    for (int i = 0; i < 20; ++i) {
        const std::string identifier = *text_up_to(16);
        const Override* const found = rules.match(identifier);
        RC_ASSERT((found == nullptr ? "none" : found->identifier) ==
                  applied_naively(held, identifier));
    }
}

// Each identifier is made from a pattern, so that it matches at least that one.
RC_GTEST_PROP(OverrideMatch, IsTheOneThatTheModelFindsWhereOneMatches, ()) {
    const auto held = *patterns();
    const OverrideRules rules = rules_of(held);
    for (const std::string& chosen : held) {
        std::string identifier;
        for (const char c : chosen)
            identifier += c == '*' ? *text_up_to(4) : std::string(1, c);
        const Override* const found = rules.match(identifier);
        RC_ASSERT(found != nullptr);
        RC_ASSERT(found->identifier == applied_naively(held, identifier));
    }
}

}  // namespace
}  // namespace sluice::overrides
