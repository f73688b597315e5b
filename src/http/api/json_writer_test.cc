#include "http/api/json_writer.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "http/api/json_fault.h"

namespace sluice::http {
namespace {

std::string text(std::string_view value) {
    std::string out;
    JsonWriter(out).text(value);
    return out;
}

TEST(JsonWriter, EscapesWhatAStringCanNotHold) {
    EXPECT_EQ(text(""), R"("")");
    EXPECT_EQ(text("plain"), R"("plain")");
    EXPECT_EQ(text(R"(a"b\c/d)"), R"("a\"b\\c/d")");
    EXPECT_EQ(text("\n\r\t"), R"("\u000a\u000d\u0009")");
    EXPECT_EQ(text(std::string_view("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\\u007f\"");
    EXPECT_EQ(text("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\"");
    EXPECT_EQ(text("\"\""), R"("\"\"")");
}

TEST(JsonWriter, WritesJsonForEveryAsciiCharacter) {
    for (int c = 0; c < 128; ++c) {
        const std::string value = {'a', static_cast<char>(c), 'b', static_cast<char>(c)};
        EXPECT_FALSE(find_json_fault(text(value))) << c;
    }
}

TEST(JsonWriter, AppendsNumbersBooleansAndPunctuation) {
    std::string out = "x";
    JsonWriter(out).raw("{").number(0).raw(",").number(-1).raw(",").boolean(true).raw(",").boolean(
        false);
    EXPECT_EQ(out, "x{0,-1,true,false");
    out.clear();
    JsonWriter(out)
        .number(std::numeric_limits<std::int64_t>::min())
        .raw(" ")
        .number((std::int64_t{1} << 53) - 1);
    EXPECT_EQ(out, "-9223372036854775808 9007199254740991");
}

}  // namespace
}  // namespace sluice::http
