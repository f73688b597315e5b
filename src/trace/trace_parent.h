// The header field traceparent of W3C Trace Context.
#ifndef SLUICE_TRACE_TRACE_PARENT_H_
#define SLUICE_TRACE_TRACE_PARENT_H_

#include <optional>
#include <string>
#include <string_view>

namespace sluice::trace {

struct TraceParent {
    std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
    std::string span_id;   // 16, as above
    bool is_sampled = false;
};

// Parses version 00, and of later versions the part that looks like it. None if it is malformed:
// the request then begins a trace of its own.
std::optional<TraceParent> parse_trace_parent(std::string_view text);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_TRACE_PARENT_H_
