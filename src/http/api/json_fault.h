// Where and why a text is not JSON.
#ifndef SLUICE_HTTP_API_JSON_FAULT_H_
#define SLUICE_HTTP_API_JSON_FAULT_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::http {

struct JsonFault {
    std::size_t
        position;  // of the first byte that can't be there; the text's size if it ends too early
    std::string_view expected;  // what could stand there instead
};

// None if `text` is one JSON value by RFC 8259, in UTF-8.
//
// The reader of requests is made for speed and stops without saying where. This scan is for the
// requests that it refused, so that their author learns what to mend. Its memory is one byte for
// each level of nesting.
std::optional<JsonFault> find_json_fault(std::string_view text);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_JSON_FAULT_H_
