// Options of a Limiter that are for tests alone.
#ifndef SLUICE_SERVICE_TEST_OPTIONS_H_
#define SLUICE_SERVICE_TEST_OPTIONS_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <chrono>

namespace sluice {

struct TestOptions {
    // 0, or 10 ms to 1 hour: the interval of publishes and imports, instead of 10 seconds. The time
    // then comes from requests alone.
    std::chrono::milliseconds global_interval{0};
};

// Limiter::create() with test options.
Result<Limiter> create_limiter(Options options, const TestOptions& test);

}  // namespace sluice

#endif  // SLUICE_SERVICE_TEST_OPTIONS_H_
