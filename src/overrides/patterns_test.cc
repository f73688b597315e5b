#include "overrides/patterns.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::overrides {
namespace {

using namespace std::string_literals;

struct Case {
    std::string pattern;
    std::string text;
    bool matches;
};

TEST(Glob, MatchesTheTableOfExamples) {
    for (const Case& c : {
             Case{"alice", "alice", true},
             Case{"alice", "Alice", false},
             Case{"alice", "alice ", false},
             Case{"*", "", true},
             Case{"*", "anything", true},
             Case{"**", "x", true},
             Case{"vip_*", "vip_", true},
             Case{"vip_*", "vip_7", true},
             Case{"vip_*", "vip", false},
             Case{"*@example.com", "bob@example.com", true},
             Case{"*@example.com", "bob@example.com.evil", false},
             Case{"a*a", "a", false},
             Case{"a*a", "aa", true},
             Case{"ab*ba", "aba", false},
             Case{"a*b*c", "a-b-c", true},
             Case{"a*b*c", "abc", true},
             Case{"a*b*c", "acb", false},
             Case{"*ab*ab*", "ab", false},
             Case{"*ab*ab*", "abab", true},
             Case{"*aab*", "aaab", true},
             Case{"a*b", "a\nb", true},
             Case{"a*b", "a\0b"s, true},
             Case{"a\0*"s, "a\0b"s, true},
             Case{"a\0*"s, "ab", false},
             Case{"gr\xC3\xBC*", "gr\xC3\xBC\xC3\x9F", true},
             Case{"\xFF*", "\xFF\xFE", true},
             Case{"a?c", "abc", false},
             Case{"[a]*", "a", false},
             Case{".*", "x", false},
         }) {
        EXPECT_EQ(Glob(c.pattern).matches(c.text), c.matches) << c.pattern << " on " << c.text;
    }
}

TEST(Glob, ReportsItsParts) {
    EXPECT_TRUE(Glob("abc").is_exact());
    EXPECT_FALSE(Glob("abc*").is_exact());
    EXPECT_TRUE(Glob("ab*c").inner().empty());
    EXPECT_TRUE(Glob("ab***c").inner().empty());
    EXPECT_EQ(Glob("a*b*").inner().size(), 1U);
    EXPECT_EQ(Glob("a*b**cd").literal_bytes(), 4U);
    EXPECT_EQ(Glob("a*b**cd").prefix(), "a");
    EXPECT_EQ(Glob("a*b**cd").suffix(), "cd");
}

bool matches_naively(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern.front() == '*') {
        return matches_naively(pattern.substr(1), text) ||
               (!text.empty() && matches_naively(pattern, text.substr(1)));
    }
    return !text.empty() && text.front() == pattern.front() &&
           matches_naively(pattern.substr(1), text.substr(1));
}

// Few letters, so that parts repeat and overlap.
std::string random_text(std::mt19937_64& random, std::string_view letters, std::size_t max_size) {
    std::string text(random() % (max_size + 1), ' ');
    std::ranges::generate(text, [&] { return letters[random() % letters.size()]; });
    return text;
}

TEST(Glob, AgreesWithANaiveMatcherOnRandomPatterns) {
    std::mt19937_64 random(20'240'601);
    int matched = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::string pattern = random_text(random, i % 2 == 0 ? "ab*" : "ab*\n", 8);
        const std::string text = random_text(random, i % 2 == 0 ? "ab" : "ab*\n", 12);
        const bool expected = matches_naively(pattern, text);
        matched += expected ? 1 : 0;
        ASSERT_EQ(Glob(pattern).matches(text), expected) << pattern << " on " << text;
    }
    EXPECT_GT(matched, 10'000) << "too few patterns match for the comparison to mean anything";
}

// Backtracking would not end within a lifetime here. The bound is loose, since the machine may be
// busy.
TEST(Glob, TakesLinearTimeForHostilePatterns) {
    std::string many = "*";
    for (int i = 0; i < 500; ++i) {
        many += "a*";
    }
    many += "b*";
    const std::string almost = "*" + std::string(1'000, 'a') + "b*";
    const std::string text(2'000, 'a');
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) {
        ASSERT_FALSE(Glob(many).matches(text));
        ASSERT_FALSE(Glob(almost).matches(text));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

}  // namespace
}  // namespace sluice::overrides
