// Brings the global store that a URL names to the schema that this program knows.
#ifndef SLUICE_SERVICE_MIGRATE_GLOBAL_H_
#define SLUICE_SERVICE_MIGRATE_GLOBAL_H_

#include <sluice/result.h>

#include <string>

#include "base/migration.h"

namespace sluice {

// The URL is one that open_global() takes, but for memory:, which has no schema. May be run again,
// and by several at once.
Result<Migration> migrate_global(const std::string& url, DryRun dry_run);

}  // namespace sluice

#endif  // SLUICE_SERVICE_MIGRATE_GLOBAL_H_
