// CHECK: an assertion that is always on, for errors of the programmer only.
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

// Ends the program where `condition` does not hold. Never for what came from a network, a file or a
// person.
#define SLUICE_CHECK(condition)                                               \
    do {                                                                      \
        if (!(condition)) [[unlikely]]                                        \
            ::sluice::internal::check_failed(#condition, __FILE__, __LINE__); \
    } while (false)

#endif  // SLUICE_BASE_CHECK_H_
