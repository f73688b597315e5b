#include "http/api/body_reader.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/sanitizer.h"
#include "http/api/body_shapes.h"
#include "http/api/json.h"

namespace sluice::http {
namespace {

constexpr std::string_view kText = "a string of 1 to 512 characters";
constexpr std::string_view kCount = "a whole number from 0 to 9007199254740991";

// "location message" for each error.
using Lines = std::vector<std::string>;

Lines lines(const FieldErrors& errors) {
    Lines all;
    for (const FieldError& error : errors.kept()) {
        all.push_back(error.location + " " + error.message);
    }
    return all;
}

class BodyReaderTest : public testing::Test {
  protected:
    Lines read(std::string_view body) {
        fields_ = {};
        errors_.clear();
        reader_.read_object(body, kDecisionSchema, fields_, errors_);
        return lines(errors_);
    }

    Lines read_many(std::string_view body) {
        errors_.clear();
        reader_.read_array(body, kBatchItemSchema, items_, errors_);
        return lines(errors_);
    }

    // A valid body, except that the field `name` has `value`.
    static std::string with(std::string_view name, std::string_view value) {
        std::string body = "{";
        for (const auto& [own, good] :
             {std::pair<std::string_view, std::string_view>{"namespace", R"("n")"},
              {"identifier", R"("i")"},
              {"limit", "10"},
              {"duration", "60000"},
              {"cost", "1"}}) {
            if (body.size() > 1) body += ",";
            body += "\"" + std::string(own) + "\":" + std::string(own == name ? value : good);
        }
        return body + "}";
    }

    BodyReader reader_;
    FieldErrors errors_;
    Fields fields_;
    std::vector<Fields> items_;
};

TEST_F(BodyReaderTest, ReadsWhatThePublishedClientsSend) {
    EXPECT_EQ(read(R"({"namespace":"n","cost":2,"duration":60000,"identifier":"i","limit":10})"),
              Lines{});
    EXPECT_EQ(fields_.name_space, "n");
    EXPECT_EQ(fields_.identifier, "i");
    EXPECT_EQ(fields_.cost, 2);
    EXPECT_EQ(fields_.duration, 60'000);
    EXPECT_EQ(fields_.limit, 10);
}

TEST_F(BodyReaderTest, ReadsFieldsInAnyOrderWithSpaceAndEscapes) {
    EXPECT_EQ(read(" {\n\"limit\" : 10 , \"l\\u0064entifier\":1}").size(), 4U);
    EXPECT_EQ(
        read("\t{ \"limit\" : 10 , \"\\u0069dentifier\" : \"a\\u00e9\\n\\ud83d\\ude00\\u0000\" ,"
             "\"duration\":1000,\"namespace\":\"\xC3\xA9\"}\r\n"),
        Lines{});
    EXPECT_EQ(fields_.identifier, std::string_view("a\xC3\xA9\n\xF0\x9F\x98\x80\0", 9));
    EXPECT_EQ(fields_.name_space, "\xC3\xA9");
    EXPECT_EQ(fields_.cost, 1) << "the default";
}

TEST_F(BodyReaderTest, ReportsEveryErrorInTheOrderOfTheBody) {
    EXPECT_EQ(
        read(
            R"({"namespace":"","identifier":7,"limit":-1,"duration":999,"cost":1.5,"costs":{"a":[1]}})"),
        (Lines{"body.namespace is empty; allowed: a string of 1 to 512 characters",
               "body.identifier is a number; allowed: a string of 1 to 512 characters",
               "body.limit is -1; allowed: a whole number from 0 to 9007199254740991",
               "body.duration is 999; allowed: a whole number from 1000 to 31622400000",
               "body.cost is 1.5; allowed: a whole number from 0 to 9007199254740991",
               "body.costs is unknown; allowed: namespace, cost, duration, identifier, limit, "
               "debit"}));
    EXPECT_EQ(read("{}"),
              (Lines{"body.namespace is missing; allowed: a string of 1 to 512 characters",
                     "body.duration is missing; allowed: a whole number from 1000 to 31622400000",
                     "body.identifier is missing; allowed: a string of 1 to 512 characters",
                     "body.limit is missing; allowed: a whole number from 0 to 9007199254740991"}));
}

TEST_F(BodyReaderTest, AFieldMayAppearOnce) {
    EXPECT_EQ(
        read(
            R"({"namespace":"n","identifier":"i","limit":1,"limit":{"x":2},"duration":1000,"limit":1})"),
        (Lines{"body.limit is given twice", "body.limit is given twice"}));
}

TEST_F(BodyReaderTest, NumbersAreComparedByValue) {
    for (const auto& [token, value] : {std::pair<std::string_view, std::int64_t>{"0", 0},
                                       {"-0", 0},
                                       {"1.0", 1},
                                       {"1e3", 1000},
                                       {"1E+3", 1000},
                                       {"15e-1 ", -1},
                                       {"1.5e1", 15},
                                       {"9007199254740991", 9'007'199'254'740'991},
                                       {"9007199254740991.0", 9'007'199'254'740'991},
                                       {"9007199254740992", -1},
                                       {"9007199254740993", -1},
                                       {"18446744073709551615", -1},
                                       {"18446744073709551616", -1},
                                       {"-9223372036854775808", -1},
                                       {"-9223372036854775809", -1},
                                       {"1e21", -1},
                                       {"1e400", -1},
                                       {"1e-400", -1},
                                       {"0.1", -1},
                                       {"-1", -1}}) {
        const Lines found = read(with("limit", token));
        if (value >= 0) {
            EXPECT_EQ(found, Lines{}) << token;
            EXPECT_EQ(fields_.limit, value) << token;
        } else {
            const std::string own(token.substr(0, token.find(' ')));
            EXPECT_EQ(found, Lines{"body.limit is " + own + "; allowed: " + std::string(kCount)});
        }
    }
}

TEST_F(BodyReaderTest, RangesIncludeTheirEnds) {
    for (const auto& [name, token] : {std::pair{"duration", "1000"},
                                      {"duration", "31622400000"},
                                      {"cost", "0"},
                                      {"cost", "9007199254740991"},
                                      {"limit", "0"}}) {
        EXPECT_EQ(read(with(name, token)), Lines{}) << name << token;
    }
    for (const auto& [name, token] : {std::pair{"duration", "999"},
                                      {"duration", "31622400001"},
                                      {"duration", "0"},
                                      {"cost", "-1"},
                                      {"cost", "9007199254740992"}}) {
        EXPECT_EQ(read(with(name, token)).size(), 1U) << name << token;
    }
}

TEST_F(BodyReaderTest, LongNumbersAreEchoedShortened) {
    const Lines found = read(with("limit", std::string(1000, '9')));
    EXPECT_EQ(
        found,
        Lines{"body.limit is " + std::string(64, '9') + "...; allowed: " + std::string(kCount)});
}

TEST_F(BodyReaderTest, AValueOfAnotherTypeIsNamed) {
    for (const auto& [value, name] : {std::pair{"null", "null"},
                                      {"true", "a boolean"},
                                      {"[1]", "an array"},
                                      {"{\"a\":1}", "an object"}}) {
        EXPECT_EQ(
            read(with("limit", value)),
            Lines{"body.limit is " + std::string(name) + "; allowed: " + std::string(kCount)});
        EXPECT_EQ(read(with("cost", value)),
                  Lines{"body.cost is " + std::string(name) + "; allowed: " + std::string(kCount)});
        EXPECT_EQ(
            read(with("identifier", value)),
            Lines{"body.identifier is " + std::string(name) + "; allowed: " + std::string(kText)});
    }
    EXPECT_EQ(read(with("limit", R"("10")")),
              Lines{"body.limit is a string; allowed: " + std::string(kCount)});
}

TEST_F(BodyReaderTest, LengthCountsCharactersNotBytes) {
    const auto quoted = [](std::string_view character, int times) {
        std::string text = "\"";
        for (int i = 0; i < times; ++i) {
            text += character;
        }
        return text + "\"";
    };
    for (const std::string_view character :
         {"a", "\xC3\xA9", "\xF0\x9F\x98\x80", "\\n", "\\ud83d\\ude00", "*"}) {
        EXPECT_EQ(read(with("identifier", quoted(character, 512))), Lines{}) << character;
        EXPECT_EQ(read(with("identifier", quoted(character, 513))),
                  Lines{"body.identifier is 513 characters long; allowed: " + std::string(kText)})
            << character;
    }
}

TEST_F(BodyReaderTest, HalfASurrogatePairIsInvalid) {
    for (const std::string_view value : {R"("\ud800")",
                                         R"("a\ud800b")",
                                         R"("\udc00")",
                                         R"("\ud800\ud800")",
                                         R"("\ud800\n")",
                                         R"("\udc00\ud800")",
                                         R"("\ud800\u0041")"}) {
        EXPECT_EQ(
            read(with("identifier", value)),
            Lines{"body.identifier is not Unicode: it has half of a surrogate pair; allowed: " +
                  std::string(kText)})
            << value;
    }
    const Lines found =
        read(R"({"\ud800":1,"namespace":"n","identifier":"i","limit":1,"duration":1000})");
    EXPECT_EQ(found, Lines{"body has a field whose name is not Unicode"});
}

TEST_F(BodyReaderTest, SyntaxErrorsNameTheirPosition) {
    EXPECT_EQ(read(""), Lines{"body is empty at byte 0; expected: a value"});
    EXPECT_EQ(read("hello"), Lines{"body is not JSON at byte 0; expected: a value"});
    EXPECT_EQ(read(R"({"limit":1)"), Lines{"body ends too early at byte 10; expected: ',' or '}'"});
    EXPECT_EQ(read(R"({"unknown":tru})"), Lines{"body is not JSON at byte 14; expected: true"});
    EXPECT_EQ(read(with("limit", "01")),
              Lines{"body is not JSON at byte 43; expected: ',' or '}'"});
    EXPECT_EQ(read(with("limit", "10") + "x"),
              Lines{"body is not JSON at byte 71; expected: the end of the body"});
    EXPECT_EQ(read(with("limit", "10") + "{}"),
              Lines{"body is not JSON at byte 71; expected: the end of the body"});
    EXPECT_EQ(read(with("identifier", "\"\xFF\"")),
              Lines{"body is not JSON at byte 31; expected: UTF-8"});
    EXPECT_EQ(read(with("identifier", "\"\n\"")),
              Lines{"body is not JSON at byte 31; expected: an escape such as \\n, not a bare "
                    "control character"});
    EXPECT_EQ(
        read(with("identifier", R"("\x")")),
        Lines{
            "body is not JSON at byte 32; expected: one of \" \\ / b f n r t u after a backslash"});
}

TEST_F(BodyReaderTest, ABodyOfAnotherTypeIsNamed) {
    EXPECT_EQ(read("[]"), Lines{"body is an array; allowed: an object"});
    EXPECT_EQ(read("5"), Lines{"body is a number; allowed: an object"});
    EXPECT_EQ(read("null"), Lines{"body is null; allowed: an object"});
    EXPECT_EQ(read("\"x\""), Lines{"body is a string; allowed: an object"});
    EXPECT_EQ(read_many("{}"), Lines{"body is an object; allowed: an array of 1 to 100 objects"});
    EXPECT_EQ(read_many("true"), Lines{"body is a boolean; allowed: an array of 1 to 100 objects"});
}

TEST_F(BodyReaderTest, ErrorsOfABatchNameTheItem) {
    const std::string good = with("limit", "10");
    EXPECT_EQ(read_many("[" + good + "," + good + "]"), Lines{});
    ASSERT_EQ(items_.size(), 2U);
    EXPECT_EQ(items_[1].identifier, "i");
    EXPECT_EQ(read_many("[" + good + ",7,[]," + with("cost", "-1") + "," +
                        with("namespace", "\"\"") + "]"),
              (Lines{"body[1] is a number; allowed: an object",
                     "body[2] is an array; allowed: an object",
                     "body[3].cost is -1; allowed: " + std::string(kCount),
                     "body[4].namespace is empty; allowed: " + std::string(kText)}));
    EXPECT_EQ(read_many("[" + good + ",]"),
              Lines{"body is not JSON at byte 73; expected: a value"});
}

TEST_F(BodyReaderTest, ABatchHasOneToAHundredItems) {
    const auto batch = [](int count) {
        std::string body = "[";
        for (int i = 0; i < count; ++i) {
            body += (i == 0 ? "" : ",") + with("limit", std::to_string(i));
        }
        return body + "]";
    };
    EXPECT_EQ(read_many("[]"), Lines{"body has 0 items; allowed: 1 to 100"});
    EXPECT_EQ(read_many(batch(1)), Lines{});
    EXPECT_EQ(read_many(batch(100)), Lines{});
    EXPECT_EQ(items_.back().limit, 99);
    EXPECT_EQ(read_many(batch(101)), Lines{"body has 101 items; allowed: 1 to 100"});
    EXPECT_EQ(items_.size(), 100U);
}

TEST_F(BodyReaderTest, ErrorsBeyondTheMaximumAreOnlyCounted) {
    std::string body = "{";
    for (int i = 0; i < 5000; ++i) {
        body += "\"" + std::string(200, 'x') + std::to_string(i) + "\":0,";
    }
    body += "\"x\":0}";
    EXPECT_EQ(read(body).size(), FieldErrors::kMaxKept);
    EXPECT_EQ(errors_.found(), 5005U);
    EXPECT_EQ(errors_.kept()[0].location, "body." + std::string(64, 'x') + "...");
}

TEST_F(BodyReaderTest, ErrorsBeyondTheMaximumAreNotDescribed) {
    std::size_t described = 0;
    for (std::size_t i = 0; i < FieldErrors::kMaxCounted; ++i) {
        EXPECT_FALSE(errors_.is_full());
        errors_.add([&] {
            ++described;
            return FieldError{"body", "is wrong"};
        });
    }
    EXPECT_EQ(described, FieldErrors::kMaxKept);
    EXPECT_TRUE(errors_.is_full());
}

TEST_F(BodyReaderTest, ReadsNoFieldsBeyondThoseThatAreCounted) {
    EXPECT_EQ(read(filled(100'000, "{", R"("a":0,)", R"("a":0})")).size(), FieldErrors::kMaxKept);
    EXPECT_EQ(errors_.found(), FieldErrors::kMaxCounted);
    EXPECT_EQ(read_many(batch_of(60'000, "{", R"("":0,)", R"("":0})")).size(),
              FieldErrors::kMaxKept);
    EXPECT_EQ(errors_.found(), FieldErrors::kMaxCounted);
}

TEST_F(BodyReaderTest, ABodyWithIgnoredFieldsHasABoundedNumberOfValues) {
    const std::string start =
        R"({"namespace":"n","identifier":"i","limit":1,"duration":1000,"meta":[0)";
    const auto body_with = [&](std::size_t more) {
        std::string body = start;
        for (std::size_t i = 0; i < more; ++i)
            body += ",{}";
        return body + "]}";
    };
    const auto read_v1 = [&](const std::string& body) {
        errors_.clear();
        reader_.read_object(body, kV1DecisionSchema, fields_, errors_);
        return lines(errors_);
    };
    constexpr std::size_t kOthers = 7;  // the body, four fields, the list and its first item
    EXPECT_EQ(read_v1(body_with(kMaxValues - kOthers)), Lines{});
    EXPECT_EQ(read_v1(body_with(kMaxValues - kOthers + 1)),
              Lines{"body has more values; allowed: up to 20000"});
}

TEST_F(BodyReaderTest, CountsItemsUpToAMaximum) {
    EXPECT_EQ(read_many(filled(10'001, "[0", ",0", "]")).back(),
              "body has 5000 items; allowed: 1 to 100");
    EXPECT_EQ(read_many(filled(30'000, "[0", ",0", "]")).back(),
              "body has more than 10000 items; allowed: 1 to 100");
}

TEST_F(BodyReaderTest, OverlongValuesAreNotEvaluated) {
    EXPECT_EQ(
        read(with("identifier", filled(9'000, "\"", "x", "\""))),
        Lines{"body.identifier is more than 512 characters long; allowed: " + std::string(kText)});
    EXPECT_EQ(read(with("identifier", "\"i\"" + std::string(9'000, ' '))), Lines{});
    EXPECT_EQ(read(with("cost", filled(2'000, "1.", "0", ""))).front().substr(0, 20),
              "body.cost is 1.00000");
    EXPECT_EQ(read(with("cost", filled(1'000, "1.", "0", ""))), Lines{});
    EXPECT_EQ(read(with("cost", "1,\"\\u0061" + std::string(200, 'b') + "\":1")).front(),
              "body.\\u0061" + std::string(58, 'b') +
                  "... is unknown; allowed: namespace, cost, duration, identifier, limit, debit");
    const std::string space(200, ' ');
    EXPECT_EQ(read(R"({"namespace":"n","identifier":"i","limit":1,"\u0064uration")" + space + ":" +
                   space + "1000}"),
              Lines{});
}

// Milliseconds of this thread: other processes may share the machine. The fastest of a few rounds.
double time_to_read(BodyReader& reader, const BodyShape& shape) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    };
    double fastest = std::numeric_limits<double>::max();
    for (int round = 0; round < 3; ++round) {
        FieldErrors errors;
        Fields fields;
        std::vector<Fields> items;
        const double start = now();
        if (shape.schema.empty()) {
            reader.read_array(shape.body, kBatchItemSchema, items, errors);
        } else {
            reader.read_object(shape.body, shape.schema, fields, errors);
        }
        fastest = std::min(fastest, now() - start);
    }
    return fastest;
}

// Of a harmless body each byte is looked at once, too: it has a long text of escapes. A sanitizer
// slows simdjson's headers down, but not the part of it that is in its library.
TEST_F(BodyReaderTest, NoShapeTakesMuchLongerThanAHarmlessOne) {
    constexpr std::size_t kSize = std::size_t{1} << 20U;
    constexpr double kTimes = SLUICE_ASAN ? 30 : 5;
    const double harmless = time_to_read(reader_, harmless_shape(kSize));
    for (const BodyShape& shape : body_shapes(kSize))
        EXPECT_LT(time_to_read(reader_, shape), kTimes * harmless) << shape.name;
}

TEST_F(BodyReaderTest, AnEchoedNameEndsWithAWholeCharacter) {
    std::string name = "x";
    for (int i = 0; i < 40; ++i) {
        name += "\xC3\xA9";
    }
    const Lines found = read("{\"" + name + "\":1}");
    EXPECT_TRUE(found[0].starts_with("body." + name.substr(0, 63) + "... is unknown")) << found[0];
}

// A body with up to three of its bytes changed or added.
std::string mutate(std::string body, std::mt19937& random) {
    constexpr std::string_view kBytes = "{}[]:,\"\\ \n019-+.eEtfnu\x80\xC3\xA9\xE2/a";
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
        const std::size_t at = random() % body.size();
        const char byte = kBytes[random() % kBytes.size()];
        if (random() % 2 == 0) {
            body[at] = byte;
        } else {
            body.insert(at, 1, byte);
        }
    }
    return body;
}

// simdjson skips ignored values. The reader must reject them all the same if they are not JSON.
TEST_F(BodyReaderTest, RejectsEveryMutationThatIsNotJson) {
    const std::array bodies = {with("limit", "10"),
                               with("identifier", R"("\u00e9\n")"),
                               with("cost", "1.0e2"),
                               "[" + with("limit", "10") + " , " + with("duration", "1000 ") + "]"};
    std::mt19937 random(11);  // NOLINT: the same bodies in each run
    int accepted = 0;
    for (int i = 0; i < 40'000; ++i) {
        const std::string body = mutate(bodies[random() % bodies.size()], random);
        const Lines found = body[0] == '[' ? read_many(body) : read(body);
        const auto fault = find_json_fault(body);
        if (!fault) {
            accepted += found.empty() ? 1 : 0;
            EXPECT_EQ(std::ranges::count(found, "body can't be read"), 0) << body;
            continue;
        }
        ASSERT_EQ(found.size(), 1U) << body;
        EXPECT_NE(found[0].find("at byte " + std::to_string(fault->position)), std::string::npos)
            << body;
    }
    EXPECT_GT(accepted, 1'000);
}

}  // namespace
}  // namespace sluice::http
