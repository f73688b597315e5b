#include "insight/key_sketch.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace sluice::insight {
namespace {

std::uint64_t weight_of(KeySketch& sketch, std::uint64_t hash) {
    const KeySketch::Entry* const entry = sketch.find(hash);
    return entry == nullptr ? 0 : entry->weight;
}

TEST(KeySketch, IsExactUpToItsCapacity) {
    KeySketch sketch(100);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        for (std::uint64_t hash = 1; hash <= 100; ++hash)
            sketch.add(hash, hash);
    }
    EXPECT_EQ(sketch.size(), 100U);
    EXPECT_EQ(sketch.error(), 0U);
    for (std::uint64_t hash = 1; hash <= 100; ++hash)
        EXPECT_EQ(weight_of(sketch, hash), 3 * hash);
}

TEST(KeySketch, DropsTheLighterHalfWhenItIsFull) {
    KeySketch sketch(4);
    for (std::uint64_t hash = 1; hash <= 4; ++hash)
        sketch.add(hash, 10 * hash);
    sketch.add(5, 7);
    EXPECT_EQ(sketch.error(), 30U);  // the median
    EXPECT_EQ(sketch.size(), 2U);
    EXPECT_EQ(weight_of(sketch, 4), 10U);
    EXPECT_EQ(weight_of(sketch, 5), 7U);
    EXPECT_EQ(weight_of(sketch, 1), 0U);
}

TEST(KeySketch, StartsOverWhenItIsCleared) {
    KeySketch sketch(2);
    for (std::uint64_t hash = 1; hash <= 5; ++hash)
        sketch.add(hash, hash);
    sketch.clear();
    EXPECT_EQ(sketch.size(), 0U);
    EXPECT_EQ(sketch.error(), 0U);
    EXPECT_EQ(sketch.add(9, 3).weight, 3U);
}

TEST(ShownText, ReplacesWhatIsNotUtf8) {
    EXPECT_EQ(shown_text("plain"), "plain");
    EXPECT_EQ(shown_text("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"),
              "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
    const std::string replaced(kReplacementCharacter);
    EXPECT_EQ(shown_text("a\xFFz"), "a" + replaced + "z");
    EXPECT_EQ(shown_text("\xC3"), replaced);
    EXPECT_EQ(shown_text("\xC0\xAF"), replaced + replaced) << "overlong";
    EXPECT_EQ(shown_text(shown_text("\xFF")), replaced) << "twice is once";
}

TEST(ShownText, CutsLongTextsBetweenCharacters) {
    EXPECT_EQ(shown_text(std::string(300, 'x')), std::string(kMaxShownBytes, 'x'));
    const std::string odd = "x" + [] {
        std::string text;
        for (int i = 0; i < 200; ++i)
            text += "\xC3\xBC";
        return text;
    }();
    EXPECT_EQ(shown_text(odd), odd.substr(0, 255));
    EXPECT_TRUE(make_key_text({"w", "n", odd})->is_cut());
    EXPECT_FALSE(make_key_text({"w", "n", "i"})->is_cut());
    EXPECT_EQ(make_key_text({std::string(999, 'w'), "n", "i"})->workspace.size(), 999U);
}

}  // namespace
}  // namespace sluice::insight
