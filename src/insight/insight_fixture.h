// Requests and decisions for tests of what a node sees.
#ifndef SLUICE_INSIGHT_INSIGHT_FIXTURE_H_
#define SLUICE_INSIGHT_INSIGHT_FIXTURE_H_

#include <sluice/types.h>

#include <chrono>
#include <string_view>

#include "insight/activity.h"

namespace sluice::insight {

constexpr UnixTime kStart{std::chrono::milliseconds{1'700'000'001'000}};

inline bool everything(const ShownNamespace&) {
    return true;
}

inline Request request(std::string_view identifier, std::string_view workspace = "w") {
    return {.workspace = workspace,
            .name_space = "n",
            .identifier = identifier,
            .limit = 10,
            .duration = std::chrono::seconds{60}};
}

inline Decision decided(bool passed) {
    return {.passed = passed, .limit = 10, .remaining = 0, .reset_at = {}, .retry_at = {}};
}

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_INSIGHT_FIXTURE_H_
