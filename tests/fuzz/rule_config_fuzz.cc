// Any bytes are a resource of a management server. It is refused by name, or becomes rules.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rls/xds_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice::rls;
    const std::array resources = {std::string_view(reinterpret_cast<const char*>(data), size)};
    const auto rules = decode_rules(resources, SameDomain::kRefuse);
    if (!rules && !rules.error().message.starts_with("xds resource")) {
        std::fprintf(stderr, "no resource in: %s\n", rules.error().message.c_str());
        std::abort();
    }
    return 0;
}
