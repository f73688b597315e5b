// The tables of Sluice in an SQLite file (global counts and overrides), their version and upgrades.
#ifndef SLUICE_SQLITE_SCHEMA_H_
#define SLUICE_SQLITE_SCHEMA_H_

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/migration.h"
#include "sqlite/database.h"

namespace sluice {

inline constexpr std::int64_t kSqliteSchemaVersion = 3;

// What happens to tables of an older version. Other programs may still use those of a shared file.
enum class OlderTables { kRefuse, kUpgrade };

// Switches the file to WAL mode, and creates the tables if it is new. An error if it holds those of
// another version, unless they are upgraded, or of another program.
[[nodiscard]] std::optional<Error> prepare_tables(sqlite::Database& database, OlderTables older);

// Creates the file with its tables, or upgrades it. May be run again, and by several at once. A
// schema that is newer, or another program's, is an error and stays as it is.
Result<Migration> migrate_sqlite(const std::string& path, DryRun dry_run);

}  // namespace sluice

#endif  // SLUICE_SQLITE_SCHEMA_H_
