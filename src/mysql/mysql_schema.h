// The tables that Sluice has in a MySQL or MariaDB, and their version.
#ifndef SLUICE_MYSQL_MYSQL_SCHEMA_H_
#define SLUICE_MYSQL_MYSQL_SCHEMA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mysql/mysql_connection.h"

namespace sluice {

inline constexpr std::int64_t kMysqlSchemaVersion = 1;

// The version in the database; 0 if it holds no tables of Sluice.
MysqlResult<std::int64_t> mysql_schema_version(MysqlConnection& connection);

// A refusal, unless the database has the tables that this program knows. It says what to do.
[[nodiscard]] std::optional<MysqlFailure> check_mysql_schema(MysqlConnection& connection);

// What leads from this version to kMysqlSchemaVersion. Statements that define tables can't be
// rolled back: each may be run again after a crash in their midst, and the version is set by the
// last one.
std::vector<std::string> mysql_upgrade_from(std::int64_t version);

// What to tell where the schema is newer than this program.
std::string newer_mysql_schema(const MysqlUrl& url, std::int64_t version);

}  // namespace sluice

#endif  // SLUICE_MYSQL_MYSQL_SCHEMA_H_
