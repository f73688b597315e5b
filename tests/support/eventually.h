// Polls for a state that another process or thread brings about.
#ifndef SLUICE_TESTS_SUPPORT_EVENTUALLY_H_
#define SLUICE_TESTS_SUPPORT_EVENTUALLY_H_

#include <chrono>
#include <functional>
#include <thread>

namespace sluice::regional_test {

// Polls every 5 ms until `holds`; false if it does not within `timeout`.
inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace sluice::regional_test

#endif  // SLUICE_TESTS_SUPPORT_EVENTUALLY_H_
