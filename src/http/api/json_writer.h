// Writes JSON at the end of a string.
#ifndef SLUICE_HTTP_API_JSON_WRITER_H_
#define SLUICE_HTTP_API_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::http {

// The caller writes the punctuation and the names, which are constants; the writer adds the values.
//
//     JsonWriter(out).raw(R"({"limit":)").number(10).raw(R"(,"name":)").text(name).raw("}");
class JsonWriter {
  public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& raw(std::string_view json) {
        out_.append(json);
        return *this;
    }

    // In quotes, with what JSON doesn't allow in a string escaped. `value` must be UTF-8.
    JsonWriter& text(std::string_view value);

    JsonWriter& number(std::int64_t value);

    JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }

  private:
    std::string& out_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_JSON_WRITER_H_
