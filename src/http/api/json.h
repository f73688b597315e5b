// JSON: writing values, exact whole numbers, and the position of a syntax error.
#ifndef SLUICE_HTTP_API_JSON_H_
#define SLUICE_HTTP_API_JSON_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::http {

// Appends JSON to a string. The caller writes punctuation and names, which are constants; the
// writer adds the values.
//
//     JsonWriter(out).raw(R"({"limit":)").number(10).raw(R"(,"name":)").text(name).raw("}");
class JsonWriter {
  public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& raw(std::string_view json) {
        out_.append(json);
        return *this;
    }

    // Writes a quoted, escaped string. Bytes that are not UTF-8 are replaced.
    JsonWriter& text(std::string_view value);

    JsonWriter& number(std::int64_t value);

    JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }

  private:
    std::string& out_;
};

// Returns the value of `token`, which must be a number by JSON's grammar; none if it has a fraction
// or lies beyond plus or minus 2^53 - 1. The spelling does not matter: 1e3, 1.0 and 1000 are whole.
// Exact: no floating point is involved.
std::optional<std::int64_t> whole_number(std::string_view token);

// What is wrong with a JSON text.
struct JsonFault {
    enum class Kind {
        kSyntax,
        kTooManyValues,  // the one at `position` is beyond the limit; what follows is unknown
    };
    Kind kind;
    std::size_t position;       // of the first invalid byte; the text's size if it ends too early
    std::string_view expected;  // what is valid there instead
};

// Returns the first fault of `text`; none if it is one JSON value by RFC 8259, in UTF-8, that holds
// no more than `max_values`, itself and nested ones included.
//
// BodyReader is built for speed and does not report positions. This scan runs only for bodies that
// it has refused or has not read in full, so that the answer can name the byte. It needs one byte
// of memory per level of nesting.
std::optional<JsonFault> find_json_fault(
    std::string_view text, std::size_t max_values = std::numeric_limits<std::size_t>::max());

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_JSON_H_
