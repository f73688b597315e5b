// Whole numbers in JSON, judged by their value and not by how they are written: 1e3, 1.0 and 1000
// are whole.
#ifndef SLUICE_HTTP_API_JSON_NUMBER_H_
#define SLUICE_HTTP_API_JSON_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::http {

// The value of `token`, which must be a number by JSON's grammar. None if it has a fraction or lies
// beyond plus or minus 2^53 - 1. Exact: no floating point is involved.
std::optional<std::int64_t> whole_number(std::string_view token);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_JSON_NUMBER_H_
