#include "base/clock.h"

#include <dlfcn.h>

namespace sluice::internal {

constinit std::atomic<ReadClock> kernel_clock{::clock_gettime};

// Where the kernel's own function can't be found, the C library's stays.
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
namespace {

#if defined(__x86_64__)
constexpr const char* kName = "__vdso_clock_gettime";
constexpr const char* kVersion = "LINUX_2.6";
#else
constexpr const char* kName = "__kernel_clock_gettime";
constexpr const char* kVersion = "LINUX_2.6.39";
#endif

struct Lookup {
    Lookup() {
        void* const kernel = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (kernel == nullptr) return;
        void* const found = dlvsym(kernel, kName, kVersion);
        if (found == nullptr) return;
        kernel_clock.store(reinterpret_cast<ReadClock>(found), std::memory_order_relaxed);
    }
};
const Lookup kLookup;

}  // namespace
#endif

}  // namespace sluice::internal
