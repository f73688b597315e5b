#include "base/clock.h"

#include <dlfcn.h>

namespace sluice::internal {
namespace {

#if defined(__x86_64__)
constexpr const char* kName = "__vdso_clock_gettime";
constexpr const char* kVersion = "LINUX_2.6";
#elif defined(__aarch64__)
constexpr const char* kName = "__kernel_clock_gettime";
constexpr const char* kVersion = "LINUX_2.6.39";
#else
constexpr const char* kName = nullptr;
constexpr const char* kVersion = nullptr;
#endif

// While the program starts, and where the kernel offers nothing better, the C library's function
// does.
struct Lookup {
    Lookup() {
        if (kName == nullptr) return;
        void* const kernel = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (kernel == nullptr) return;
        void* const found = dlvsym(kernel, kName, kVersion);
        if (found != nullptr) kernel_clock = reinterpret_cast<ReadClock>(found);
    }
};

}  // namespace

// Written once, by this file's own initialiser, before the library can be called.
constinit ReadClock kernel_clock = ::clock_gettime;

namespace {
const Lookup kLookup;
}  // namespace

}  // namespace sluice::internal
