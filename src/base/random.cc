#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace sluice {

std::uint64_t system_random() {
    std::uint64_t value = 0;
    // Up to 256 bytes are never delivered in part, and never interrupted once the pool is ready.
    SLUICE_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
}

}  // namespace sluice
