#include "http/api/json.h"

#include <cstdint>
#include <limits>
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

TEST(JsonFault, NamesTheFirstInvalidByte) {
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

TEST(JsonFault, AcceptsValidJson) {
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

TEST(JsonFault, NamesTheFirstValueBeyondTheLimit) {
    const std::string text = R"({"a":[1,{"b":""},[]],"c":null})";  // has 7 values
    EXPECT_FALSE(find_json_fault(text, 7));
    const auto fault = find_json_fault(text, 6);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, JsonFault::Kind::kTooManyValues);
    EXPECT_EQ(text.substr(fault->position), "null}");
    EXPECT_EQ(find_json_fault("[1,x", 1)->kind, JsonFault::Kind::kTooManyValues);
    EXPECT_EQ(find_json_fault("[x,1", 2)->kind, JsonFault::Kind::kSyntax);
}

// Characters, escapes and faults at every offset from the words and blocks that are scanned at
// once.
TEST(JsonFault, FindsFaultsAtAnyOffset) {
    for (const std::size_t length :
         {0U, 1U, 7U, 8U, 9U, 15U, 16U, 17U, 4090U, 4095U, 4096U, 8200U}) {
        for (const std::string& filler :
             {std::string(length, 'x'),
              std::string("\\u00e9\xC3\xA9") + std::string(length, 'x')}) {
            const std::string start = "\"" + filler;
            EXPECT_FALSE(find_json_fault(start + "\"")) << length;
            for (const auto& [end, at] : {std::pair<std::string, std::size_t>{"\n", 0},
                                          {"\\q", 1},
                                          {"\\", 1},
                                          {"\\u12", 4},
                                          {"\\u12x4", 4},
                                          {"\xFF", 0},
                                          {"\xE2\x82\"", 2},
                                          {"\\\xFF", 1},
                                          {"", 0}}) {
                const auto fault = find_json_fault(start + end);
                ASSERT_TRUE(fault) << length << end;
                EXPECT_EQ(fault->position, start.size() + at) << length << end;
            }
        }
    }
}

TEST(JsonFault, AcceptsAnyDepthOfNesting) {
    const std::size_t depth = 500'000;
    EXPECT_FALSE(find_json_fault(std::string(depth, '[') + std::string(depth, ']')));
    const auto fault = find_json_fault(std::string(depth, '['));
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->position, depth);
}

// Changes, removes or inserts up to three bytes of `text`.
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

TEST(JsonFault, AgreesWithSimdjson) {
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
        // simdjson refuses huge numbers, which are valid JSON.
        if (error == simdjson::NUMBER_ERROR && text.find_first_of("eE") != std::string::npos) {
            continue;
        }
        const auto fault = find_json_fault(text);
        EXPECT_EQ(!fault, error == simdjson::SUCCESS) << text << ": " << error;
        good += fault ? 0 : 1;
    }
    EXPECT_GT(good, 10'000);
}

constexpr std::int64_t kMax = 9'007'199'254'740'991;

TEST(JsonNumber, AcceptsEverySpellingOfAWholeNumber) {
    for (const auto& [token, value] : {
             std::pair<std::string_view, std::int64_t>{"0", 0},
             {"-0", 0},
             {"-0.0", 0},
             {"0e999999999999999999999", 0},
             {"0.000e-5", 0},
             {"1", 1},
             {"-1", -1},
             {"1.0", 1},
             {"1.000000000000000000000000", 1},
             {"1e3", 1000},
             {"1E+3", 1000},
             {"1.5e1", 15},
             {"150e-1", 15},
             {"1000e-3", 1},
             {"0.001e3", 1},
             {"10.0", 10},
             {"120.50e1", 1205},
             {"9007199254740991", kMax},
             {"9007199254740991.0", kMax},
             {"900719925474099.1e1", kMax},
             {"0.9007199254740991e16", kMax},
             {"90071992547409910e-1", kMax},
             {"-9007199254740991", -kMax},
         }) {
        EXPECT_EQ(whole_number(token), value) << token;
    }
}

TEST(JsonNumber, RejectsFractionsAndNumbersOutOfRange) {
    for (const std::string_view token : {"0.5",
                                         "-0.5",
                                         "1.5",
                                         "1e-1",
                                         "15e-1",
                                         "1e-400",
                                         "0.1e-99999999999999999999",
                                         "0.999999999999999999999",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "-9007199254740992",
                                         "9007199254740991.5",
                                         "1e16",
                                         "1e21",
                                         "1e+21",
                                         "1e400",
                                         "1e99999999999999999999",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "18446744073709551617",
                                         "99999999999999999999999999999999999999",
                                         "-1e400"}) {
        EXPECT_EQ(whole_number(token), std::nullopt) << token;
    }
}

TEST(JsonNumber, HandlesManyZerosWithALargeExponent) {
    const std::string zeros(1'000'000, '0');
    EXPECT_EQ(whole_number("1" + zeros + "e-1000000"), 1);
    EXPECT_EQ(whole_number("1" + zeros + "e-1000001"), std::nullopt);
    EXPECT_EQ(whole_number("1" + zeros + "e-9999999999"), std::nullopt);
    EXPECT_EQ(whole_number("0." + zeros + "1e1000001"), 1);
    EXPECT_EQ(whole_number("0." + zeros + "1e1000000"), std::nullopt);
}

// A naive model: writes the number without an exponent and checks its digits.
std::optional<std::int64_t> naive(bool negative,
                                  std::string whole,
                                  std::string fraction,
                                  int exponent) {
    for (; exponent > 0; --exponent) {
        whole += fraction.empty() ? '0' : fraction.front();
        if (!fraction.empty()) fraction.erase(0, 1);
    }
    for (; exponent < 0; ++exponent) {
        fraction.insert(0, 1, whole.empty() ? '0' : whole.back());
        if (!whole.empty()) whole.pop_back();
    }
    if (fraction.find_first_not_of('0') != std::string::npos) return std::nullopt;
    whole.erase(0, whole.find_first_not_of('0'));
    if (whole.empty()) return 0;
    const std::string most = std::to_string(kMax);
    if (whole.size() > most.size() || (whole.size() == most.size() && whole > most)) {
        return std::nullopt;
    }
    return negative ? -std::stoll(whole) : std::stoll(whole);
}

TEST(JsonNumber, AgreesWithANaiveModel) {
    std::mt19937 random(4);  // NOLINT: the same numbers in each run
    const auto digits = [&random](std::size_t most) {
        std::string text;
        for (std::size_t n = random() % (most + 1); n > 0; --n) {
            text += random() % 2 == 0 ? '0' : static_cast<char>('0' + random() % 10);
        }
        return text;
    };
    for (int i = 0; i < 200'000; ++i) {
        const bool negative = random() % 4 == 0;
        std::string whole = digits(18);
        whole.erase(0, whole.find_first_not_of('0'));
        if (whole.empty()) whole = "0";
        const std::string fraction = digits(6);
        const int exponent = random() % 2 == 0 ? 0 : static_cast<int>(random() % 40) - 20;
        std::string token = (negative ? "-" : "") + whole;
        if (!fraction.empty()) token += "." + fraction;
        if (exponent != 0) token += "e" + std::to_string(exponent);
        EXPECT_EQ(whole_number(token), naive(negative, whole, fraction, exponent)) << token;
    }
}

std::string text(std::string_view value) {
    std::string out;
    JsonWriter(out).text(value);
    return out;
}

TEST(JsonWriter, EscapesQuotesBackslashesAndControlCharacters) {
    EXPECT_EQ(text(""), R"("")");
    EXPECT_EQ(text("plain"), R"("plain")");
    EXPECT_EQ(text(R"(a"b\c/d)"), R"("a\"b\\c/d")");
    EXPECT_EQ(text("\n\r\t\b"), R"("\n\r\t\u0008")");
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
