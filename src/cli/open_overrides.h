// The overrides that a node's settings name.
#ifndef SLUICE_CLI_OPEN_OVERRIDES_H_
#define SLUICE_CLI_OPEN_OVERRIDES_H_

#include <sluice/result.h>

#include <memory>

#include "config/settings.h"
#include "log/log.h"
#include "overrides/override_changes.h"
#include "overrides/override_set.h"

namespace sluice::cli {

// Opens the store of overrides: the global one if there is one, or a file in the data directory, or
// none. Beside the global store, the data directory keeps a copy of what was last known. The error
// names the setting that is of no use; a global store that is unavailable is none. `log` must
// outlive the set.
Result<std::unique_ptr<overrides::OverrideSet>> open_overrides(const config::Settings& settings,
                                                               Log& log);

// How these overrides are changed, and how often others are heard. The log is told of trouble with
// the store. Both must outlive what is returned.
std::unique_ptr<overrides::OverrideChanges> start_changes(const config::Settings& settings,
                                                          overrides::OverrideSet& set,
                                                          Log& log);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_OPEN_OVERRIDES_H_
