// The tables of Sluice in a MySQL or MariaDB (global counts and overrides), their version and
// upgrades.
#ifndef SLUICE_MYSQL_MYSQL_SCHEMA_H_
#define SLUICE_MYSQL_MYSQL_SCHEMA_H_

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/migration.h"
#include "mysql/mysql_connection.h"
#include "url/mysql_url.h"

namespace sluice {

inline constexpr std::int64_t kMysqlSchemaVersion = 3;

// The version in the database; 0 if it holds no tables of Sluice.
MysqlResult<std::int64_t> mysql_schema_version(MysqlConnection& connection);

// A refusal that says what to do, unless the database has the tables that this program needs.
[[nodiscard]] std::optional<MysqlFailure> check_mysql_schema(MysqlConnection& connection);

// The statements that lead from this version to kMysqlSchemaVersion. Statements that define tables
// can't be rolled back: each may be run again after a crash, and the last one sets the version.
std::vector<std::string> mysql_upgrade_from(std::int64_t version);

// Creates the tables, or upgrades them. May be run again, also after a crash in its midst, and by
// several processes at once: one does the work. A schema that is newer is an
// error and stays as it is.
//
// The user needs the rights CREATE, ALTER, INDEX, SELECT, INSERT and UPDATE on the database.
Result<Migration> migrate_mysql(const MysqlUrl& url, DryRun dry_run);

}  // namespace sluice

#endif  // SLUICE_MYSQL_MYSQL_SCHEMA_H_
