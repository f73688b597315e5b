// Any bytes are what a client sends. How they are cut into pieces must not matter.
#include <cstddef>
#include <cstdint>
#include <span>

#include "http/wire/reader_exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sluice::http::exercise_reader(std::span(data, size));
    return 0;
}
