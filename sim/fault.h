// Faults as people write them.
#ifndef SLUICE_SIM_FAULT_H_
#define SLUICE_SIM_FAULT_H_

#include <sluice/result.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/options.h"

namespace sluice::sim {

// The grammar and all faults, for --help and for messages.
extern const char* const kFaultHelp;

// Adds what `spec` says to the plan. kInvalidOption: it says nothing that is known.
std::optional<Error> add_fault(std::string_view spec, FaultPlan& plan);

// 0.05 and 5% are 50, 30 is 30'000; up to three digits after the point.
std::optional<Permille> parse_permille(std::string_view text);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_FAULT_H_
