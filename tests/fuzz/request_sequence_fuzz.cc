// Any bytes are a history of requests, which a Limiter must answer as the naive model does.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "model/history.h"
#include "model/history_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice::model;  // NOLINT(google-build-using-namespace)
    const History history = decode_history(std::span(data, size));
    if (first_difference(history)) {
        const auto differs = [](const History& shorter) {
            return first_difference(shorter).has_value();
        };
        const History small = minimal(history, differs);
        std::fprintf(stderr,
                     "a minimal history is\n%s%s\n",
                     to_text(small).c_str(),
                     first_difference(small).value_or("not reproducible").c_str());
        std::abort();
    }
    return 0;
}
