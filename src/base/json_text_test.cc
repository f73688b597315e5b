#include "base/json_text.h"

#include <string>

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace sluice {
namespace {

std::string json_of(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

TEST(JsonText, EscapesQuotesBackslashesAndControlCharacters) {
    EXPECT_EQ(json_of(""), R"("")");
    EXPECT_EQ(json_of("a \"b\" \\"), R"("a \"b\" \\")");
    EXPECT_EQ(json_of(std::string_view("\n\r\t\0\x1f\x7f", 6)), R"("\n\r\t\u0000\u001f\u007f")");
}

TEST(JsonText, KeepsCharactersOfUtf8) {
    for (const std::string text : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "a\xC3\xA9z"})
        EXPECT_EQ(json_of(text), "\"" + text + "\"");
}

TEST(JsonText, ReplacesEachByteThatIsNotUtf8) {
    const std::string mark(kReplacementCharacter);
    EXPECT_EQ(json_of("\xFF"), "\"" + mark + "\"");
    EXPECT_EQ(json_of("a\xC3"), "\"a" + mark + "\"") << "cut off";
    EXPECT_EQ(json_of("\xC0\xAFx"), "\"" + mark + mark + "x\"") << "overlong";
    EXPECT_EQ(json_of("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"") << "a surrogate";
    EXPECT_EQ(json_of("\xE2\x82\""), "\"" + mark + mark + "\\\"\"") << "a quote is no part of it";
}

}  // namespace
}  // namespace sluice
