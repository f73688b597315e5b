// Checks the options of a Limiter that need no file and no connection.
#ifndef SLUICE_SERVICE_VALID_OPTIONS_H_
#define SLUICE_SERVICE_VALID_OPTIONS_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <optional>

#include "service/test_options.h"

namespace sluice {

// The first option that is not allowed, with what is; none if all are.
std::optional<Error> invalid_option(const Options& options, const TestOptions& test);

}  // namespace sluice

#endif  // SLUICE_SERVICE_VALID_OPTIONS_H_
