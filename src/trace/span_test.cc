#include "trace/span.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::trace {
namespace {

using namespace std::chrono_literals;

std::string json_of(const std::string& text) {
    const std::string json = otlp_json({{"text", text}}, {});
    const std::string before = R"("value":{"stringValue":)";
    const std::size_t start = json.find(before) + before.size();
    return json.substr(start, json.find("}}]", start) - start);
}

TEST(SpanTest, IsWrittenAsOtlpJson) {
    const FinishedSpan span{.trace_id = "0af7651916cd43dd8448eb211c80319c",
                            .span_id = "b7ad6b7169203331",
                            .parent_id = "00f067aa0ba902b7",
                            .name = "ratelimit.limit",
                            .began = std::chrono::system_clock::time_point(1'767'225'600s + 5ns),
                            .took = 1'500us,
                            .attributes = {{"sluice.limit", std::int64_t{10}},
                                           {"sluice.passed", true},
                                           {"sluice.identifier", "a\"b"}},
                            .has_failed = false};
    EXPECT_EQ(otlp_json({{"service.name", "sluice"}}, std::vector{span}),
              R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",)"
              R"("value":{"stringValue":"sluice"}}]},"scopeSpans":[{"scope":{"name":"sluice"},)"
              R"("spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",)"
              R"("spanId":"b7ad6b7169203331","parentSpanId":"00f067aa0ba902b7",)"
              R"("name":"ratelimit.limit","kind":2,"startTimeUnixNano":"1767225600000000005",)"
              R"("endTimeUnixNano":"1767225600001500005","attributes":[)"
              R"({"key":"sluice.limit","value":{"intValue":"10"}},)"
              R"({"key":"sluice.passed","value":{"boolValue":true}},)"
              R"({"key":"sluice.identifier","value":{"stringValue":"a\"b"}}],)"
              R"("status":{}}]}]}]})");
}

TEST(SpanTest, WithoutAParentBeginsItsTrace) {
    FinishedSpan span;
    EXPECT_EQ(otlp_json({}, std::vector{span}).find("parentSpanId"), std::string::npos);
    span.has_failed = true;
    EXPECT_NE(otlp_json({}, std::vector{span, span}).find(R"("status":{"code":2}},{"traceId")"),
              std::string::npos);
}

TEST(SpanTest, HasTextsThatAreUtf8) {
    EXPECT_EQ(json_of("gr\xC3\xBC\xC3\x9F"), "\"gr\xC3\xBC\xC3\x9F\"");
    EXPECT_EQ(json_of("\xF0\x9F\x98\x80"), "\"\xF0\x9F\x98\x80\"");
    const std::string replaced = "\"a\xEF\xBF\xBD\"";
    for (const std::string text : {"a\xFF", "a\xC3", "a\x80", "a\xC1"})
        EXPECT_EQ(json_of(text), replaced) << text;
    EXPECT_EQ(json_of("\xED\xA0\x80").find("\xED"), std::string::npos) << "a surrogate";
}

TEST(SpanTest, HasTextsOfAtMost255Bytes) {
    EXPECT_LE(json_of(std::string(10'000, 'x')).size(), 255U + 2);
    EXPECT_LE(json_of(std::string(10'000, '\xFF')).size(), 255U + 2);
}

}  // namespace
}  // namespace sluice::trace
