#include "base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Utf8, KeepsWhatIsValid) {
    for (const std::string text : {"",
                                   "plain",
                                   "gr\xC3\xBC\xC3\x9F",
                                   "\xE2\x82\xAC",
                                   "\xF0\x9F\x98\x80",
                                   "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(to_utf8(text), text);
}

TEST(Utf8, ReplacesEachByteThatIsNot) {
    const std::string replaced(kReplacementCharacter);
    for (const std::string text : {"\xFF", "\x80", "\xC3", "\xC1"})
        EXPECT_EQ(to_utf8("a" + text + "b\xC3\xBC"), "a" + replaced + "b\xC3\xBC") << text;
    const std::string three = replaced + replaced + replaced;
    EXPECT_EQ(to_utf8("\xED\xA0\x80"), three) << "a surrogate";
    EXPECT_EQ(to_utf8("\xE0\x80\x80"), three) << "an overlong form";
    EXPECT_EQ(to_utf8("\xF4\x90\x80\x80"), three + replaced) << "beyond U+10FFFF";
    EXPECT_EQ(to_utf8("\xE2\x82"), replaced + replaced) << "cut short";
}

}  // namespace
}  // namespace sluice
