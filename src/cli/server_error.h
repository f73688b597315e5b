// What a server says about a request that it did not answer.
#ifndef SLUICE_CLI_SERVER_ERROR_H_
#define SLUICE_CLI_SERVER_ERROR_H_

#include <string>
#include <string_view>

#include <simdjson.h>

namespace sluice::cli {

// The server's own words about an error where it has any.
inline std::string detail_in(const simdjson::dom::element& document) {
    std::string_view detail;
    std::string text;
    if (document["error"]["detail"].get(detail) == simdjson::SUCCESS) text = detail;
    simdjson::dom::array errors;
    if (document["error"]["errors"].get(errors) != simdjson::SUCCESS) return text;
    for (const simdjson::dom::element error : errors) {
        std::string_view location;
        std::string_view message;
        const bool is_complete = error["location"].get(location) == simdjson::SUCCESS &&
                                 error["message"].get(message) == simdjson::SUCCESS;
        if (is_complete) text += "\n  " + std::string(location) + ": " + std::string(message);
    }
    return text;
}

}  // namespace sluice::cli

#endif  // SLUICE_CLI_SERVER_ERROR_H_
