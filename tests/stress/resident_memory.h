// The resident memory of this process.
#ifndef SLUICE_TESTS_STRESS_RESIDENT_MEMORY_H_
#define SLUICE_TESTS_STRESS_RESIDENT_MEMORY_H_

#include <cstdint>
#include <fstream>

#include <unistd.h>

namespace sluice::stress {

inline std::int64_t resident_bytes() {
    std::int64_t total_pages = 0;
    std::int64_t resident_pages = 0;
    std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
    return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_RESIDENT_MEMORY_H_
