#include "http/api/decision_time.h"

#include "base/clock.h"
#include "http/api/header_values.h"

namespace sluice::http {

UnixTime decision_time(Call& call) {
    if (call.context.clock == ClockSource::kSystem) [[likely]] {
        return exact_wall_time();
    }
    if (!call.request.has_header("x-test-time")) return exact_wall_time();
    const auto time = test_time(call.request.header("x-test-time"));
    if (!time) {
        call.scratch.problems.add(
            "header.X-Test-Time",
            "is no time; allowed: milliseconds since 1970, from 0 to 9007199254740991");
    }
    return time.value_or(UnixTime{});
}

}  // namespace sluice::http
