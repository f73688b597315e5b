// Opening the bus that the options name.
#ifndef SLUICE_SERVICE_OPEN_BUS_H_
#define SLUICE_SERVICE_OPEN_BUS_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "global/bus.h"

namespace sluice {

// The error of options with a bus and no global store, if they are.
std::optional<Error> bus_without_global(const Options& options);

// Workspaces as announcements name them: long names by their digest.
std::vector<std::string> stored_workspaces(const std::vector<std::string>& workspaces);

// Joins the bus. A server that can't be reached is no error. The error begins with "bus".
Result<std::unique_ptr<Bus>> open_bus(const Options& options, Bus::Receivers receivers);

}  // namespace sluice

#endif  // SLUICE_SERVICE_OPEN_BUS_H_
