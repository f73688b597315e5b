// SLUICE_CHECK: an assertion that is always on, for programming errors only.
#ifndef SLUICE_BASE_CHECK_H_
#define SLUICE_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace sluice::internal {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
    std::abort();
}

}  // namespace sluice::internal

// Aborts unless `condition` holds. Never for input from a network, a file or a user, which is
// reported as an error instead.
#define SLUICE_CHECK(condition)                                               \
    do {                                                                      \
        if (!(condition)) [[unlikely]]                                        \
            ::sluice::internal::check_failed(#condition, __FILE__, __LINE__); \
    } while (false)

#endif  // SLUICE_BASE_CHECK_H_
