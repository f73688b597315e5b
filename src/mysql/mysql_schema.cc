#include "mysql/mysql_schema.h"

#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

// Names are bytes: under a text collation `Alice`, `alice` and `alice ` would be one row. A row of
// ratelimit_window_counts is the component of one region in one cell.
constexpr std::array<std::string_view, 5> kFirst = {
    "CREATE TABLE IF NOT EXISTS ratelimit_schema (\n"
    "    one TINYINT UNSIGNED NOT NULL PRIMARY KEY,\n"
    "    version BIGINT UNSIGNED NOT NULL\n"
    ") ENGINE = InnoDB COMMENT = 'One row: the version of these tables'",

    "CREATE TABLE IF NOT EXISTS ratelimit_window_counts (\n"
    "    pk BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
    "    workspace_id VARBINARY(192) NOT NULL,\n"
    "    namespace VARBINARY(256) NOT NULL,\n"
    "    identifier VARBINARY(256) NOT NULL,\n"
    "    duration_ms BIGINT UNSIGNED NOT NULL,\n"
    "    sequence BIGINT NOT NULL,\n"
    "    region VARBINARY(48) NOT NULL,\n"
    "    count BIGINT UNSIGNED NOT NULL,\n"
    "    expires_at BIGINT UNSIGNED NOT NULL COMMENT '(sequence + 2) * duration_ms',\n"
    "    updated_at BIGINT UNSIGNED NOT NULL COMMENT 'When count grew, by the clock of this "
    "server',\n"
    "    UNIQUE KEY unique_window_region\n"
    "        (workspace_id, namespace, identifier, duration_ms, sequence, region),\n"
    "    KEY expires_at_idx (expires_at),\n"
    "    KEY updated_at_idx (updated_at)\n"
    ") ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'unique_window_region finds the row that a "
    "region publishes, by its first five columns all rows of a cell, and the pages of a full "
    "import: no other index on these is needed. expires_at_idx finds what is deleted. "
    "updated_at_idx finds the cells that an incremental import reads.'",

    // Three parts of 2,048 bytes are too long for an index.
    "CREATE TABLE IF NOT EXISTS ratelimit_overrides (\n"
    "    pk BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
    "    id VARBINARY(64) NOT NULL,\n"
    "    workspace_id VARBINARY(2048) NOT NULL,\n"
    "    namespace VARBINARY(2048) NOT NULL,\n"
    "    identifier VARBINARY(2048) NOT NULL,\n"
    "    parts_digest BINARY(32) NOT NULL COMMENT 'SHA-256 of the three parts, each after its "
    "length as four bytes, the highest first',\n"
    "    `limit` BIGINT UNSIGNED NOT NULL,\n"
    "    duration_ms BIGINT UNSIGNED NOT NULL,\n"
    "    UNIQUE KEY unique_id (id),\n"
    "    UNIQUE KEY unique_parts (parts_digest)\n"
    ") ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'unique_parts finds the override of a key, "
    "unique_id that of an id. pk tells which one is older.'",

    "CREATE TABLE IF NOT EXISTS ratelimit_overrides_version (\n"
    "    one TINYINT UNSIGNED NOT NULL PRIMARY KEY,\n"
    "    version BIGINT UNSIGNED NOT NULL\n"
    ") ENGINE = InnoDB COMMENT = 'One row, which every change of ratelimit_overrides increments in "
    "its transaction'",

    "INSERT IGNORE INTO ratelimit_overrides_version (one, version) VALUES (1, 0)",
};

constexpr std::array<std::string_view, 1> kSecond = {
    "CREATE TABLE IF NOT EXISTS ratelimit_regions (\n"
    "    region VARBINARY(48) NOT NULL PRIMARY KEY,\n"
    "    seen_at BIGINT UNSIGNED NOT NULL COMMENT 'When it last published, by the clock of this "
    "server'\n"
    ") ENGINE = InnoDB COMMENT = 'One row per region: how many share the limits'",
};

constexpr std::array<std::string_view, 1> kThird = {
    "CREATE TABLE IF NOT EXISTS ratelimit_override_log (\n"
    "    pk BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
    "    at_ms BIGINT NOT NULL COMMENT 'By the clock of the node',\n"
    "    token VARBINARY(2048) NOT NULL COMMENT 'Its name; empty without tokens',\n"
    "    workspace_id VARBINARY(2048) NOT NULL,\n"
    "    namespace VARBINARY(2048) NOT NULL,\n"
    "    identifier VARBINARY(2048) NOT NULL,\n"
    "    override_id VARBINARY(64) NOT NULL,\n"
    "    old_limit BIGINT NOT NULL COMMENT '-1, here and below: there was or is no override',\n"
    "    old_duration_ms BIGINT NOT NULL,\n"
    "    new_limit BIGINT NOT NULL,\n"
    "    new_duration_ms BIGINT NOT NULL,\n"
    "    KEY workspace_idx (workspace_id(64))\n"
    ") ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'The last changes of ratelimit_overrides, a "
    "bounded number for each workspace, which workspace_idx finds'",
};

// The statements that lead to version i + 1.
constexpr std::array<std::span<const std::string_view>, kMysqlSchemaVersion> kSteps = {
    kFirst, kSecond, kThird};

std::string set_version(std::size_t version) {
    return "INSERT INTO ratelimit_schema (one, version) VALUES (1, " + std::to_string(version) +
           ") ON DUPLICATE KEY UPDATE version = VALUES(version)";
}

MysqlFailure refusal(std::string why) {
    return {MysqlFailure::Kind::kRefused, 0, std::move(why)};
}

std::string newer_schema(const MysqlUrl& url, std::int64_t version) {
    return url.shown() + ": its tables have version " + std::to_string(version) +
           ", and this program is older than they are: it knows version " +
           std::to_string(kMysqlSchemaVersion) + "; run a newer one";
}

// Altering a table of many rows takes long.
constexpr std::chrono::seconds kMigrationTimeout{3'600};

// Names of locks are global to the server, and short.
constexpr std::string_view kLock =
    "SELECT GET_LOCK(CONCAT('sluice migrate ', LEFT(SHA2(DATABASE(), 256), 32)), 60)";

Error failed(std::string why) {
    return {kStoreFailed, std::move(why)};
}

// The lock is held until the connection ends.
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

MysqlResult<std::int64_t> mysql_schema_version(MysqlConnection& connection) {
    auto found = connection.number(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
        "table_name = 'ratelimit_schema'");
    if (auto* const failure = std::get_if<MysqlFailure>(&found)) return std::move(*failure);
    if (std::get<0>(found).value_or(0) == 0) return 0;
    auto version = connection.number("SELECT version FROM ratelimit_schema");
    if (auto* const failure = std::get_if<MysqlFailure>(&version)) return std::move(*failure);
    return std::get<0>(version).value_or(0);
}

std::optional<MysqlFailure> check_mysql_schema(MysqlConnection& connection) {
    const auto version = mysql_schema_version(connection);
    if (const auto* const failure = std::get_if<MysqlFailure>(&version)) return *failure;
    const std::int64_t found = std::get<0>(version);
    const MysqlUrl& url = connection.url();
    if (found == kMysqlSchemaVersion) return std::nullopt;
    if (found > kMysqlSchemaVersion) return refusal(newer_schema(url, found));
    const std::string what = found == 0 ? "it holds no tables of Sluice"
                                        : "its tables have version " + std::to_string(found) +
                                              ", and this program needs version " +
                                              std::to_string(kMysqlSchemaVersion);
    return refusal(url.shown() + ": " + what + "; run: sluice migrate --global " + url.shown());
}

std::vector<std::string> mysql_upgrade_from(std::int64_t version) {
    std::vector<std::string> statements;
    for (auto i = static_cast<std::size_t>(version); i < kSteps.size(); ++i) {
        statements.insert(statements.end(), kSteps[i].begin(), kSteps[i].end());
        statements.push_back(set_version(i + 1));
    }
    return statements;
}

Result<Migration> migrate_mysql(const MysqlUrl& url, DryRun dry_run) {
    MysqlConnection connection({.url = url, .answer_timeout = kMigrationTimeout});
    if (const auto lost = connection.connect()) return failed(lost->why);
    if (dry_run == DryRun::kNo) {
        if (auto error = lock(connection)) return *std::move(error);
    }
    const auto version = mysql_schema_version(connection);
    const auto* const failure = std::get_if<MysqlFailure>(&version);
    if (failure != nullptr) return failed(failure->why);
    const std::int64_t from = std::get<0>(version);
    if (from > kMysqlSchemaVersion) return failed(newer_schema(url, from));
    Migration migration{
        .from = from, .to = kMysqlSchemaVersion, .statements = mysql_upgrade_from(from)};
    if (dry_run == DryRun::kNo) {
        if (auto error = run_all(connection, migration)) return *std::move(error);
    }
    return migration;
}

}  // namespace sluice
