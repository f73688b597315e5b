// Any bytes are a note at the origin. A report that is decoded is bounded, and the same after it
// was encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "insight/node_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice::insight;
    const auto report = decode({reinterpret_cast<const char*>(data), size});
    if (!report) return 0;
    require(size <= kMaxReportBytes, "taken, but too long");
    for (const WindowReport& window : report->windows) {
        for (const TopKey& key : window.keys) {
            require(key.text->identifier.size() <= kMaxShownBytes &&
                        key.text->name_space.size() <= kMaxShownBytes,
                    "taken, but with too long a text");
        }
    }
    const std::string once = encode(*report);
    const auto again = decode(once);
    require(again.has_value(), "encoded, but not decoded");
    require(encode(*again) == once, "changed on the way");
    return 0;
}
