// A wrong wall clock for one process: LD_PRELOAD this library, and SHIFTED_CLOCK_SECONDS says how
// far the clock is ahead. Monotonic clocks stay as they are.
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED extern "C" [[gnu::visibility("default")]]

EXPORTED int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long result = syscall(SYS_clock_gettime, clock, time);
    const char* const shift = std::getenv("SHIFTED_CLOCK_SECONDS");
    const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (result == 0 && is_wall && shift != nullptr) time->tv_sec += std::atol(shift);
    return static_cast<int>(result);
}

// Hides the kernel's own function, which base/clock.cc prefers.
EXPORTED void* dlvsym(void* library, const char* name, const char* version) noexcept {
    if (std::strstr(name, "clock_gettime") != nullptr) return nullptr;
    using Lookup = void* (*)(void*, const char*, const char*);
    static const auto next = reinterpret_cast<Lookup>(dlsym(RTLD_NEXT, "dlvsym"));
    return next(library, name, version);
}
