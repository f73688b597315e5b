// Drives a RequestReader over any bytes, for tests and fuzzers.
#ifndef SLUICE_HTTP_WIRE_READER_EXERCISE_H_
#define SLUICE_HTTP_WIRE_READER_EXERCISE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/wire/limits.h"

namespace sluice::http {

struct ReaderLog {
    std::vector<std::string> requests;  // "METHOD path?query body"
    int error = 0;                      // the status of the error, or 0

    bool operator==(const ReaderLog&) const = default;
};

// Reads `bytes`, which arrive in pieces of `piece` bytes, as a connection would.
ReaderLog log_reading(std::string_view bytes, std::size_t piece, const WireLimits& limits);

// Aborts if the result of reading `bytes` depends on how they arrive. The first byte is the size of
// the pieces, for the fuzzer to choose.
void exercise_reader(std::span<const std::uint8_t> bytes);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_READER_EXERCISE_H_
