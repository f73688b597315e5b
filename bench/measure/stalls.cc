#include "measure/stalls.h"

#include <algorithm>

namespace sluice::bench {

std::chrono::nanoseconds Durations::recent_median(std::size_t count) const {
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(size_);
    std::vector<std::uint32_t> recent(end - static_cast<std::ptrdiff_t>(count), end);
    const auto middle = recent.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(recent.begin(), middle, recent.end());
    return std::chrono::nanoseconds{*middle};
}

Tail Durations::tail() {
    if (size_ == 0) return {};
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(size_);
    std::sort(all_.begin(), end);
    const auto at = [&](double share) {
        return static_cast<double>(
            all_[static_cast<std::size_t>(static_cast<double>(size_ - 1) * share)]);
    };
    return {.median = at(0.5), .p999 = at(0.999), .p9999 = at(0.9999), .slowest = at(1.0)};
}

std::chrono::nanoseconds wait_for(std::chrono::nanoseconds pause) {
    const auto begin = std::chrono::steady_clock::now();
    std::chrono::nanoseconds waited = since(begin);
    while (waited < pause) {
        waited = since(begin);
    }
    return waited;
}

}  // namespace sluice::bench
