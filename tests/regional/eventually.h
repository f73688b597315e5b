// Waiting for what other processes and threads bring about.
#ifndef SLUICE_TESTS_REGIONAL_EVENTUALLY_H_
#define SLUICE_TESTS_REGIONAL_EVENTUALLY_H_

#include <chrono>
#include <functional>

namespace sluice::regional_test {

// Looks again and again until `holds`; false if that does not come within `patience`.
bool eventually(const std::function<bool()>& holds,
                std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace sluice::regional_test

#endif  // SLUICE_TESTS_REGIONAL_EVENTUALLY_H_
