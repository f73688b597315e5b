// Numbers out of the Prometheus text format.
#ifndef SLUICE_TESTS_SERVER_METRICS_TEXT_H_
#define SLUICE_TESTS_SERVER_METRICS_TEXT_H_

#include <string_view>

namespace sluice::server_test {

// The sum of all samples of `name` whose labels contain `label`; -1 if there is none.
double sum_of(std::string_view text, std::string_view name, std::string_view label = {});

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_METRICS_TEXT_H_
