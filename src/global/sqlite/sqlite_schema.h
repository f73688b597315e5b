// The tables that regions share in an SQLite file, and their version.
#ifndef SLUICE_GLOBAL_SQLITE_SQLITE_SCHEMA_H_
#define SLUICE_GLOBAL_SQLITE_SQLITE_SCHEMA_H_

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/migration.h"
#include "sqlite/database.h"

namespace sluice {

inline constexpr std::int64_t kSqliteSchemaVersion = 1;

// Has several processes share the file, and makes the tables if it is new. An error if it holds
// those of another version or of another program.
[[nodiscard]] std::optional<Error> prepare_shared_file(sqlite::Database& database);

// Creates the file with its tables, or upgrades it. May be run again, and by several at once. A
// schema that is newer, or another program's, is an error and stays as it is.
Result<Migration> migrate_sqlite(const std::string& path, DryRun dry_run);

}  // namespace sluice

#endif  // SLUICE_GLOBAL_SQLITE_SQLITE_SCHEMA_H_
