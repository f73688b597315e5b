#include "trace/span.h"

#include <algorithm>
#include <cstddef>

#include "base/json_text.h"
#include "base/utf8.h"

namespace sluice::trace {
namespace {

// Longer texts are cut.
constexpr std::size_t kLongestText = 255;

// Texts that clients chose may hold any bytes; JSON is UTF-8.
std::string valid_utf8(std::string_view text) {
    std::string valid;
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        if (valid.size() + std::max<std::size_t>(length, 3) > kLongestText) break;
        valid += length == 0 ? kReplacementCharacter : text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return valid;
}

struct WriteValue {
    std::string& out;

    void operator()(const std::string& text) const {
        out += R"({"stringValue":)";
        append_json_string(out, valid_utf8(text));
        out += '}';
    }
    // 64-bit numbers are strings in the JSON of protobuf.
    void operator()(std::int64_t number) const {
        out += R"({"intValue":")" + std::to_string(number) + R"("})";
    }
    void operator()(bool value) const {
        out += value ? R"({"boolValue":true})" : R"({"boolValue":false})";
    }
};

void write_attributes(std::string& out, const Attributes& attributes) {
    out += R"("attributes":[)";
    bool is_first = true;
    for (const auto& [key, value] : attributes) {
        if (!std::exchange(is_first, false)) out += ',';
        out += R"({"key":)";
        append_json_string(out, key);
        out += R"(,"value":)";
        std::visit(WriteValue{out}, value);
        out += '}';
    }
    out += ']';
}

void write_time(std::string& out, std::string_view key, std::chrono::nanoseconds since_1970) {
    ((((out += '"') += key) += R"(":")") += std::to_string(since_1970.count())) += R"(",)";
}

void write_span(std::string& out, const FinishedSpan& span) {
    out += R"({"traceId":")" + span.trace_id + R"(","spanId":")" + span.span_id + R"(",)";
    if (!span.parent_id.empty()) out += R"("parentSpanId":")" + span.parent_id + R"(",)";
    out += R"("name":)";
    append_json_string(out, span.name);
    constexpr std::string_view kServer = R"(,"kind":2,)";
    out += kServer;
    const std::chrono::nanoseconds began = span.began.time_since_epoch();
    write_time(out, "startTimeUnixNano", began);
    write_time(out, "endTimeUnixNano", began + span.took);
    write_attributes(out, span.attributes);
    constexpr std::string_view kUnset = R"(,"status":{}})";
    constexpr std::string_view kError = R"(,"status":{"code":2}})";
    out += span.has_failed ? kError : kUnset;
}

}  // namespace

std::string otlp_json(const Attributes& resource, std::span<const FinishedSpan> spans) {
    std::string out = R"({"resourceSpans":[{"resource":{)";
    write_attributes(out, resource);
    out += R"(},"scopeSpans":[{"scope":{"name":"sluice"},"spans":[)";
    bool is_first = true;
    for (const FinishedSpan& span : spans) {
        if (!std::exchange(is_first, false)) out += ',';
        write_span(out, span);
    }
    out += "]}]}]}";
    return out;
}

}  // namespace sluice::trace
