// Request bodies of one size and many shapes, for tests and benchmarks of the body reader.
#ifndef SLUICE_HTTP_API_BODY_SHAPES_H_
#define SLUICE_HTTP_API_BODY_SHAPES_H_

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "http/api/body_reader.h"

namespace sluice::http {

struct BodyShape {
    std::string_view name;
    std::string body;
    Schema schema = kDecisionSchema;  // empty: an array of items
};

// `head`, as many times `unit` as fit, and `tail`.
inline std::string filled(std::size_t size,
                          std::string_view head,
                          std::string_view unit,
                          std::string_view tail) {
    std::string body(head);
    while (body.size() + unit.size() + tail.size() <= size)
        body += unit;
    return body.append(tail);
}

// `opening` and `closing` around a 0, as deep as fits.
inline std::string nested(std::size_t size,
                          std::string_view head,
                          std::string_view opening,
                          std::string_view closing,
                          std::string_view tail) {
    const std::size_t depth =
        (size - head.size() - tail.size() - 1) / (opening.size() + closing.size());
    std::string body(head);
    for (std::size_t i = 0; i < depth; ++i)
        body += opening;
    body += '0';
    for (std::size_t i = 0; i < depth; ++i)
        body += closing;
    return body.append(tail);
}

// A batch of 100 items, each filled like that.
inline std::string batch_of(std::size_t size,
                            std::string_view head,
                            std::string_view unit,
                            std::string_view tail) {
    std::string body = "[";
    for (std::size_t i = 0; i < kMaxItems; ++i)
        body += (i == 0 ? "" : ",") + filled(size / kMaxItems - 1, head, unit, tail);
    return body + "]";
}

// `head`, units in a random order, which no branch prediction foresees, and `tail`.
inline std::string shuffled(std::size_t size,
                            std::string_view head,
                            const std::vector<std::string_view>& units,
                            std::string_view tail) {
    std::mt19937 random(1);  // NOLINT: the same body in each run
    std::string body(head);
    for (;;) {
        const std::string_view unit = units[random() % units.size()];
        if (body.size() + unit.size() + tail.size() > size) return body.append(tail);
        body += unit;
    }
}

// A valid one, of the version whose requests may have any value in `meta`: a long text of escapes.
inline BodyShape harmless_shape(std::size_t size) {
    return {"harmless",
            filled(size,
                   R"({"namespace":"n","identifier":"i","limit":1,"duration":1000,"meta":")",
                   R"(\u00e9)",
                   "\"}"),
            kV1DecisionSchema};
}

// Shapes that a hostile client might send.
inline std::vector<BodyShape> body_shapes(std::size_t size) {
    constexpr std::string_view kGood =
        R"({"namespace":"n","identifier":"i","limit":1,"duration":1000,)";
    const std::string meta = std::string(kGood) + R"("meta":)";
    const std::string unknown = std::string(kGood) + R"("unknown":)";
    const std::string identifier = R"({"identifier":")";
    const auto fill = [size](std::string_view head, std::string_view unit, std::string_view tail) {
        return filled(size, head, unit, tail);
    };
    return {
        {"valid, with a long text",
         fill(meta + "\"", "All work and no play. ", "\"}"),
         kV1DecisionSchema},
        {"valid, with many numbers", fill(meta + "[0", ",0", "]}"), kV1DecisionSchema},
        {"valid, with many empty arrays", fill(meta + "[[]", ",[]", "]}"), kV1DecisionSchema},
        {"valid, with many empty objects", fill(meta + "[{}", ",{}", "]}"), kV1DecisionSchema},
        {"valid, with many empty texts", fill(meta + R"(["")", R"(,"")", "]}"), kV1DecisionSchema},
        {"valid, with many fields", fill(meta + "{", R"("":0,)", R"("":0}})"), kV1DecisionSchema},
        {"valid, deeply nested", nested(size, meta, "[", "]", "}"), kV1DecisionSchema},
        {"valid, deeply nested objects",
         nested(size, meta, R"({"":)", "}", "}"),
         kV1DecisionSchema},
        {"valid, with much space", fill(kGood, " ", R"("cost":1})")},
        {"valid, with words", fill(meta + "[null", ",true", "]}"), kV1DecisionSchema},
        {"valid, with values of any kind",
         shuffled(size, meta + "[0", {",1", ",[]", ",{}", R"(,"")", R"(,"\n")", ",null"}, "]}"),
         kV1DecisionSchema},
        {"valid, with values of any length",
         shuffled(size,
                  meta + "[0",
                  {",1", ",12345678901234567890", R"(,"a text of some length")", ",  -1.5e3"},
                  "]}"),
         kV1DecisionSchema},
        {"fields of any kind",
         shuffled(size,
                  "{",
                  {R"("":0,)", R"("limit":[],)", R"("\u0063ost":"",)", R"("\n":{},)"},
                  R"("a":0})")},
        {"a text of characters and escapes",
         shuffled(size, identifier, {"a", R"(\n)", R"(\u00e9)", "\xC3\xA9", "bcd"}, "\"}")},
        {"names of characters and escapes",
         shuffled(size, "{\"", {"a", R"(\n)", R"(\u00e9)", R"(":0,")", "bcdef"}, R"(":0})")},
        {"many unknown fields", fill("{", R"("a":0,)", R"("a":0})")},
        {"many unknown fields without a name", fill("{", R"("":0,)", R"("":0})")},
        {"many unknown fields with long names",
         fill("{", "\"" + std::string(200, 'x') + "\":0,", R"("a":0})")},
        {"many unknown fields with names of escapes",
         fill(
             "{", R"("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n":0,)", R"("a":0})")},
        {"many unknown fields with space",
         fill("{", "\"a\"" + std::string(200, ' ') + ":0,", R"("a":0})")},
        {"many unknown fields with escapes", fill("{", R"("\u0061\n\"":0,)", R"("a":0})")},
        {"many unknown fields that hold arrays", fill("{", R"("":[[]],)", R"("":0})")},
        {"many unknown fields, then a syntax error", fill("{", R"("":0,)", R"("":0]})")},
        {"one long unknown name", fill("{\"", "x", R"(":0})")},
        {"one long unknown name of escapes", fill("{\"", R"(\u0061)", R"(":0})")},
        {"an unknown field that is deeply nested", nested(size, unknown, "[", "]", "}")},
        {"an unknown field that is nested and not closed", fill(unknown, "[", "")},
        {"nested arrays instead of an object", nested(size, "", "[", "]", "")},
        {"nested objects that are not closed", fill("", R"({"a":)", "")},
        {"many duplicate fields", fill(kGood, R"("limit":1,)", R"("cost":1})")},
        {"many duplicate fields with texts", fill(kGood, R"("limit":"",)", R"("cost":1})")},
        {"invalid UTF-8 at the end", fill(identifier, "x", "\xFF\"}")},
        {"invalid UTF-8 everywhere", fill(identifier, "\xFF", "\"}")},
        {"a long text of long characters", fill(identifier, "\xF0\x9F\x98\x80", "\"}")},
        {"a long text of Latin characters", fill(identifier, "\xC3\xA9", "\"}")},
        {"mixed characters and invalid UTF-8 at the end",
         fill(identifier, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\"}")},
        {"a long text", fill(identifier, "x", "\"}")},
        {"a long text of escapes", fill(identifier, R"(\u00e9)", "\"}")},
        {"a long text of short escapes", fill(identifier, R"(\n)", "\"}")},
        {"a long text of surrogates", fill(identifier, R"(\ud83d\ude00)", "\"}")},
        {"names with half a surrogate", fill("{", R"("\ud800":0,)", R"("a":0})")},
        {"a long text that is not closed", fill(identifier, R"(\")", "")},
        {"control characters", fill(identifier, "xxxxxxxxx", "\n\"}")},
        {"a huge number", fill(R"({"limit":)", "9", "}")},
        {"a huge fraction", fill(R"({"limit":0.)", "9", "}")},
        {"a number of zeros", fill(R"({"limit":1)", "0", "}")},
        {"a huge exponent", fill(R"({"limit":1e)", "9", "}")},
        {"many huge numbers",
         fill("{", R"("cost":123456789012345678901234567890e9,)", R"("a":0})")},
        {"commas", fill("{", ",", "}")},
        {"quotes", fill("", "\"", "")},
        {"colons", fill("{\"a\"", ":", "}")},
        {"backslashes", fill("", "\\", "")},
        {"zeros", std::string(size, '\0')},
        {"a batch of empty items", fill("[{}", ",{}", "]"), Schema{}},
        {"a batch of numbers", fill("[0", ",0", "]"), Schema{}},
        {"a batch of arrays", fill("[[]", ",[]", "]"), Schema{}},
        {"a batch of items with unknown fields",
         batch_of(size, "{", R"("":0,)", R"("":0})"),
         Schema{}},
        {"a batch of items with duplicate fields",
         batch_of(size, "{", R"("cost":-1,)", R"("limit":"x"})"),
         Schema{}},
        {"a batch of items with long texts",
         batch_of(size, R"({"identifier":")", "\xC3\xA9", R"(","limit":-1})"),
         Schema{}},
        {"a batch of items with long names", batch_of(size, "{\"", "x", R"(":1})"), Schema{}},
        {"a batch that ends in a syntax error", fill("[{}", ",{}", ",]"), Schema{}},
    };
}

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_BODY_SHAPES_H_
