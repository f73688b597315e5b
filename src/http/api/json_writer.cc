#include "http/api/json_writer.h"

#include <array>
#include <charconv>

#include "base/json_text.h"

namespace sluice::http {

JsonWriter& JsonWriter::text(std::string_view value) {
    append_json_text(out_, value);
    return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
    std::array<char, 20>
        digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
    return *this;
}

}  // namespace sluice::http
