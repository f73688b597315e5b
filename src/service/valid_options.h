// Validation of a limiter's options.
#ifndef SLUICE_SERVICE_VALID_OPTIONS_H_
#define SLUICE_SERVICE_VALID_OPTIONS_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <optional>

#include "service/test_options.h"

namespace sluice {

// Names the option that is out of range, its value and what is allowed; none if all are valid.
std::optional<Error> invalid_option(const Options& options, const TestOptions& test);

}  // namespace sluice

#endif  // SLUICE_SERVICE_VALID_OPTIONS_H_
