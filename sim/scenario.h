// Scenarios: options that are written in a file.
#ifndef SLUICE_SIM_SCENARIO_H_
#define SLUICE_SIM_SCENARIO_H_

#include <sluice/result.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/options.h"

namespace sluice::sim {

// What `sluice simulate` shows without arguments: a small fleet takes two faults and converges.
Options first_scenario();

// kInvalidOption: it can't be read, or says something that is not known.
Result<Options> load_scenario(const std::string& path);

// By name, as the file and the command line have them: "load" is "0.9", "spread" is "even".
std::optional<Error> set_option(std::string_view name, const std::string& value, Options& options);

// After all are set: whether they fit together.
std::optional<Error> check_options(const Options& options);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_SCENARIO_H_
