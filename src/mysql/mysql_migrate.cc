#include "mysql/mysql_migrate.h"

#include <optional>
#include <string>
#include <utility>

#include "mysql/mysql_connection.h"
#include "mysql/mysql_schema.h"

namespace sluice {
namespace {

// A table of many rows takes its time to be altered.
constexpr std::chrono::seconds kPatience{3'600};

// Locks are the server's, not the database's, and their names are short.
constexpr std::string_view kLock =
    "SELECT GET_LOCK(CONCAT('sluice migrate ', LEFT(SHA2(DATABASE(), 256), 32)), 60)";

Error failed(std::string why) {
    return {kStoreFailed, std::move(why)};
}

// Held until the connection ends.
std::optional<Error> lock(MysqlConnection& connection) {
    const auto locked = connection.number(kLock);
    if (const auto* const failure = std::get_if<MysqlFailure>(&locked)) return failed(failure->why);
    if (std::get<0>(locked) == 1) return std::nullopt;
    return failed(connection.url().shown() +
                  ": another migration has been running for a minute; try again when it has ended");
}

std::optional<Error> run_all(MysqlConnection& connection, const Migration& migration) {
    for (const std::string& statement : migration.statements) {
        const auto done = connection.run(statement);
        if (const auto* const failure = std::get_if<MysqlFailure>(&done)) {
            return failed(failure->why +
                          "; what was done stays, and another run goes on from here");
        }
    }
    return std::nullopt;
}

}  // namespace

Result<Migration> migrate_mysql(const MysqlUrl& url, DryRun dry_run) {
    MysqlConnection connection({.url = url, .answer_timeout = kPatience});
    if (const auto lost = connection.connect()) return failed(lost->why);
    if (dry_run == DryRun::kNo) {
        if (auto error = lock(connection)) return *std::move(error);
    }
    const auto version = mysql_schema_version(connection);
    const auto* const failure = std::get_if<MysqlFailure>(&version);
    if (failure != nullptr) return failed(failure->why);
    const std::int64_t from = std::get<0>(version);
    if (from > kMysqlSchemaVersion) return failed(newer_mysql_schema(url, from));
    Migration migration{
        .from = from, .to = kMysqlSchemaVersion, .statements = mysql_upgrade_from(from)};
    if (dry_run == DryRun::kNo) {
        if (auto error = run_all(connection, migration)) return *std::move(error);
    }
    return migration;
}

}  // namespace sluice
