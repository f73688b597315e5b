#include "http/api/json_fault.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

namespace sluice::http {
namespace {

struct Case {
    std::string text;
    std::size_t position;
    std::string_view expected;
};

TEST(JsonFault, NamesTheFirstByteThatCanNotBeThere) {
    for (const Case& c : {
             Case{"", 0, "a value"},
             Case{"  ", 2, "a value"},
             Case{"hello", 0, "a value"},
             Case{"\xEF\xBB\xBF{}", 0, "a value"},
             Case{"{", 1, "a name in quotes or '}'"},
             Case{"{limit:1}", 1, "a name in quotes or '}'"},
             Case{"{'limit':1}", 1, "a name in quotes or '}'"},
             Case{R"({"limit" 1})", 9, "':'"},
             Case{R"({"limit":})", 9, "a value"},
             Case{R"({"limit":1)", 10, "',' or '}'"},
             Case{R"({"limit":1 "cost":2})", 11, "',' or '}'"},
             Case{R"({"limit":1,})", 11, "a name in quotes"},
             Case{R"({"limit":1]})", 10, "',' or '}'"},
             Case{"[1,]", 3, "a value"},
             Case{"[1 2]", 3, "',' or ']'"},
             Case{"[1}", 2, "',' or ']'"},
             Case{"{} {}", 3, "the end of the body"},
             Case{"1,2", 1, "the end of the body"},
             Case{"tru", 3, "true"},
             Case{"nul1", 3, "null"},
             Case{"[fAlse]", 2, "false"},
             Case{"-", 1, "a digit"},
             Case{"-a", 1, "a digit"},
             Case{"+1", 0, "a value"},
             Case{".5", 0, "a value"},
             Case{"1.", 2, "a digit"},
             Case{"[1.e3]", 3, "a digit"},
             Case{"1e", 2, "a digit"},
             Case{"1e+", 3, "a digit"},
             Case{"01", 1, "the end of the body"},
             Case{"0x1", 1, "the end of the body"},
             Case{"NaN", 0, "a value"},
             Case{"Infinity", 0, "a value"},
             Case{R"("abc)", 4, "the quote that ends the string"},
             Case{"\"a\nb\"", 2, "an escape such as \\n, not a bare control character"},
             Case{std::string("\"a\0b\"", 5),
                  2,
                  "an escape such as \\n, not a bare control character"},
             Case{R"("\q")", 2, "one of \" \\ / b f n r t u after a backslash"},
             Case{"\"\\", 2, "one of \" \\ / b f n r t u after a backslash"},
             Case{R"("\u12g4")", 5, "four hexadecimal digits after \\u"},
             Case{R"("\u12)", 5, "four hexadecimal digits after \\u"},
             Case{"\"a\xFF\"", 2, "UTF-8"},
             Case{"\"\x80\"", 1, "UTF-8"},
             Case{"\"\xC0\x80\"", 1, "UTF-8"},
             Case{"\"\xE0\x80\x80\"", 2, "UTF-8"},
             Case{"\"\xED\xA0\x80\"", 2, "UTF-8"},
             Case{"\"\xF4\x90\x80\x80\"", 2, "UTF-8"},
             Case{"\"\xF5\x80\x80\x80\"", 1, "UTF-8"},
             Case{"\"\xE2\x82\"", 3, "UTF-8"},
             Case{"\"\xE2\x82", 3, "UTF-8"},
             Case{std::string("{}\0", 3), 2, "the end of the body"},
             Case{std::string("\0", 1), 0, "a value"},
         }) {
        const auto fault = find_json_fault(c.text);
        ASSERT_TRUE(fault) << c.text;
        EXPECT_EQ(fault->position, c.position) << c.text;
        EXPECT_EQ(fault->expected, c.expected) << c.text;
    }
}

TEST(JsonFault, FindsNoneInJson) {
    for (const std::string_view text : {"{}",
                                        "[]",
                                        " [ ] ",
                                        "0",
                                        "-0",
                                        "-0.0e-0",
                                        "1E+3",
                                        "\"\"",
                                        "true",
                                        "false",
                                        "null",
                                        "[[],{},\"\"]",
                                        R"({"a":{"b":[1,2,{"c":null}]},"a":1})",
                                        R"("\"\\\/\b\f\n\r\t\u00e9\ud800")",
                                        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEE\x80\x80\x7F\"",
                                        "\t\r\n{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }\n"}) {
        const auto fault = find_json_fault(text);
        EXPECT_FALSE(fault) << text << ": " << (fault ? fault->position : 0);
    }
}

TEST(JsonFault, ClimbsDownAnyDepth) {
    const std::size_t depth = 500'000;
    EXPECT_FALSE(find_json_fault(std::string(depth, '[') + std::string(depth, ']')));
    const auto fault = find_json_fault(std::string(depth, '['));
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->position, depth);
}

// A text that was JSON before some of its bytes were changed, removed or doubled.
std::string mutate(std::string text, std::mt19937& random) {
    constexpr std::string_view kBytes = "{}[]:,\"\\ \n019-+.eEtfnu\x80\xC3\xA9\xE2\xED\xF0/a";
    for (std::size_t n = random() % 4; n > 0 && !text.empty(); --n) {
        const std::size_t at = random() % text.size();
        switch (random() % 3) {
            case 0:
                text[at] = kBytes[random() % kBytes.size()];
                break;
            case 1:
                text.erase(at, 1 + random() % 3);
                break;
            default:
                text.insert(at, 1, kBytes[random() % kBytes.size()]);
        }
    }
    return text;
}

TEST(JsonFault, AgreesWithAnotherParserOnWhatIsJson) {
    constexpr std::array<std::string_view, 5> kTexts = {
        R"({"namespace":"n","cost":1,"duration":60000,"identifier":"i","limit":10})",
        R"([{"a":"\u00e9\n\\"},[1.5e3,-0.25,0],true,false,null,"x"])",
        "{\"k\":\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\",\"l\":[[],{}]}",
        R"(  [ 1 , 2 , { "a" : [ ] } ]  )",
        R"({"":{"":{"":[[[0]]]}}})",
    };
    std::mt19937 random(7);  // NOLINT: the same texts in each run
    simdjson::dom::parser parser;
    int good = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::string text = mutate(std::string(kTexts[random() % kTexts.size()]), random);
        const auto error = parser.parse(text).error();
        // Huge numbers are JSON all the same.
        if (error == simdjson::NUMBER_ERROR && text.find_first_of("eE") != std::string::npos) {
            continue;
        }
        const auto fault = find_json_fault(text);
        EXPECT_EQ(!fault, error == simdjson::SUCCESS) << text << ": " << error;
        good += fault ? 0 : 1;
    }
    EXPECT_GT(good, 10'000);
}

}  // namespace
}  // namespace sluice::http
