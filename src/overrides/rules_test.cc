#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "overrides/snapshot.h"

namespace sluice::overrides {
namespace {

constexpr std::uint64_t kSeed = 7;

// The order of creation is the order of the patterns.
OverrideRules rules_of(const std::vector<std::string>& patterns) {
    std::vector<OverrideRulePointer> rules;
    for (const std::string& pattern : patterns) {
        rules.push_back(std::make_shared<const OverrideRule>(Override{.workspace = "w",
                                                                      .name_space = "n",
                                                                      .identifier = pattern,
                                                                      .id = "id of " + pattern,
                                                                      .value = {},
                                                                      .order = rules.size() + 1}));
    }
    return {std::move(rules), KeyHash(kSeed)};
}

// The pattern that applies, or "none".
std::string applied(const OverrideRules& rules, std::string_view identifier) {
    const Override* found = rules.match(identifier);
    return found == nullptr ? "none" : found->identifier;
}

TEST(OverrideRules, AnExactOneBeatsEveryPattern) {
    const OverrideRules rules = rules_of({"*", "alic*", "alice", "*lice"});
    EXPECT_EQ(applied(rules, "alice"), "alice");
}

TEST(OverrideRules, TheLongerLiteralPartBeatsTheShorter) {
    const OverrideRules rules = rules_of({"*", "a*", "al*", "*e", "a*e*"});
    EXPECT_EQ(applied(rules, "alice"), "al*");
    EXPECT_EQ(applied(rules, "ae"), "a*e*");
    EXPECT_EQ(applied(rules, "zoe"), "*e");
    EXPECT_EQ(applied(rules, "bob"), "*");
}

TEST(OverrideRules, OfTwoEquallyLongTheOlderApplies) {
    EXPECT_EQ(applied(rules_of({"al*", "*ce"}), "alice"), "al*");
    EXPECT_EQ(applied(rules_of({"*ce", "al*"}), "alice"), "*ce");
    EXPECT_EQ(applied(rules_of({"a**", "a*"}), "alice"), "a**");
}

TEST(OverrideRules, WithoutAMatchNoneApplies) {
    const OverrideRules rules = rules_of({"bob", "al*x"});
    EXPECT_EQ(applied(rules, "alice"), "none");
    EXPECT_EQ(applied(rules, ""), "none");
}

TEST(OverrideRules, AnIdentifierWithAStarIsAnOrdinaryText) {
    const OverrideRules rules = rules_of({"a*", "b"});
    EXPECT_EQ(applied(rules, "a*"), "a*");
    EXPECT_EQ(applied(rules, "*"), "none");
}

TEST(OverrideRules, APatternIsFoundByItsOwnTextOnly) {
    const OverrideRules rules = rules_of({"a*"});
    ASSERT_NE(rules.find("a*"), nullptr);
    EXPECT_EQ(rules.find("ab"), nullptr);
}

TEST(OverrideRules, AreListedByAge) {
    const OverrideRules rules = rules_of({"c", "a", "b"});
    EXPECT_EQ(rules.in_order()[0]->entry.identifier, "c");
    ASSERT_EQ(rules.after(1).size(), 2U);
    EXPECT_EQ(rules.after(1)[0]->entry.identifier, "a");
    EXPECT_TRUE(rules.after(3).empty());
}

// The least processor time, in nanoseconds, of several tries to match an identifier. Time during
// which other threads run does not count.
std::int64_t time_of(const OverrideRules& rules, std::string_view identifier) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    auto least = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 50; ++i) {
        const std::int64_t began = now();
        for (int k = 0; k < 5; ++k)
            EXPECT_EQ(applied(rules, identifier), "none");
        least = std::min(least, now() - began);
    }
    return least;
}

// Each of these nearly matches at every byte. One by one, 25 times as many would take 25 times as
// long.
TEST(OverrideRules, ManyHostilePatternsTakeOnePassOverTheIdentifier) {
    const std::string identifier(2'000, 'a');
    const auto hostile = [](int count) {
        std::vector<std::string> patterns;
        for (int i = 0; i < count; ++i)
            patterns.push_back("*" + std::string(100, 'a') + "b" + std::to_string(i) + "*");
        return rules_of(patterns);
    };
    EXPECT_LT(time_of(hostile(250), identifier), 10 * time_of(hostile(10), identifier));
}

TEST(OverrideRules, TextsThatOverlapAreNotCountedTwice) {
    EXPECT_EQ(applied(rules_of({"*ab*ba*"}), "aba"), "none");
    EXPECT_EQ(applied(rules_of({"*ab*ba*"}), "abba"), "*ab*ba*");
    EXPECT_EQ(applied(rules_of({"ab*b*ba"}), "abba"), "none");
    EXPECT_EQ(applied(rules_of({"ab*b*ba"}), "abbba"), "ab*b*ba");
    EXPECT_EQ(applied(rules_of({"*aa*aa*aa*"}), "aaaaa"), "none");
    EXPECT_EQ(applied(rules_of({"*aa*aa*aa*"}), "aaaaaa"), "*aa*aa*aa*");
}

// As a shared store may hold.
TEST(OverrideRules, BeyondTheMostThatAreIndexedTheyStillApply) {
    std::vector<std::string> patterns;
    for (int i = 0; i < 300; ++i)
        patterns.push_back("*" + std::to_string(1'000 + i) + "*");
    const OverrideRules rules = rules_of(patterns);
    for (const std::string& pattern : patterns)
        EXPECT_EQ(applied(rules, "x" + pattern.substr(1, 4) + "y"), pattern);
    EXPECT_EQ(applied(rules, "x1300y"), "none");
    const std::string too_long(5'000, 'x');
    EXPECT_EQ(applied(rules, too_long + "1007"), "*1007*");
    EXPECT_EQ(applied(rules, too_long), "none");
}

// The rule as the documentation states it, with no index and no preparation.
std::string applied_naively(const std::vector<std::string>& patterns, std::string_view identifier) {
    const auto exact = std::ranges::find(patterns, identifier);
    if (exact != patterns.end() && exact->find('*') == std::string::npos) return *exact;
    const auto literals = [](const std::string& text) {
        return static_cast<std::ptrdiff_t>(text.size()) - std::ranges::count(text, '*');
    };
    std::string best = "none";
    std::ptrdiff_t most = -1;
    for (const std::string& pattern : patterns) {
        if (!Glob(pattern).matches(identifier) || literals(pattern) <= most) continue;
        best = pattern;
        most = literals(pattern);
    }
    return best;
}

std::string random_text(std::mt19937_64& random, std::string_view letters, std::size_t max_size) {
    std::string text(1 + random() % max_size, ' ');
    std::ranges::generate(text, [&] { return letters[random() % letters.size()]; });
    return text;
}

TEST(OverrideRules, AgreeWithANaiveSearchOnRandomPatterns) {
    std::mt19937_64 random(99);
    int applied_at_all = 0;
    int automata = 0;
    for (int round = 0; round < 2'000; ++round) {
        std::vector<std::string> patterns;
        const int count = round % 2 == 0 ? 10 : 40;  // without and with a TextSearch
        for (int i = 0; i < count; ++i) {
            std::string pattern = random_text(random, std::string_view("ab*\0", 4), 12);
            if (std::ranges::find(patterns, pattern) == patterns.end()) patterns.push_back(pattern);
        }
        const OverrideRules rules = rules_of(patterns);
        automata += rules.usage().searched > OverrideRules::kMaxUnindexed ? 1 : 0;
        for (int i = 0; i < 20; ++i) {
            const std::string text = random_text(random, std::string_view("ab*\0", 4), 14);
            const std::string expected = applied_naively(patterns, text);
            applied_at_all += expected == "none" ? 0 : 1;
            ASSERT_EQ(applied(rules, text), expected) << text;
        }
    }
    EXPECT_GT(applied_at_all, 1'000);
    EXPECT_GT(automata, 500);
    EXPECT_LT(automata, 1'500);
}

}  // namespace
}  // namespace sluice::overrides
