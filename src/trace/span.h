// Spans of OpenTelemetry, and their JSON.
#ifndef SLUICE_TRACE_SPAN_H_
#define SLUICE_TRACE_SPAN_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::trace {

using AttributeValue = std::variant<std::string, std::int64_t, bool>;
using Attributes = std::vector<std::pair<std::string_view, AttributeValue>>;

// One finished operation. Names of attributes are literals.
struct FinishedSpan {
    std::string trace_id;   // 32 hexadecimal digits
    std::string span_id;    // 16
    std::string parent_id;  // 16; empty: the span begins its trace
    std::string_view name;
    std::chrono::system_clock::time_point began;
    std::chrono::steady_clock::duration took{};
    Attributes attributes;
    bool has_failed = false;
};

// The body of an OTLP/HTTP request, in JSON: the spans of one process, which `resource` describes.
std::string otlp_json(const Attributes& resource, std::span<const FinishedSpan> spans);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_SPAN_H_
