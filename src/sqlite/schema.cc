#include "sqlite/schema.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

using sqlite::Database;
using sqlite::Transaction;

constexpr std::chrono::seconds kMigrationTimeout{60};

// WAL: readers and the one writer don't block each other. NORMAL: an answered write survives the
// end of the process; a loss of power may lose the last ones, and counts are published again.
constexpr const char* kModes =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;";

// The same tables, indexes and reasons as in src/mysql/mysql_schema.cc.
constexpr std::array<std::string_view, 7> kFirst = {
    "CREATE TABLE IF NOT EXISTS ratelimit_schema (one INTEGER PRIMARY KEY, version INTEGER NOT "
    "NULL) STRICT",

    "CREATE TABLE IF NOT EXISTS ratelimit_window_counts (\n"
    "    pk INTEGER PRIMARY KEY,\n"
    "    workspace_id BLOB NOT NULL,\n"
    "    namespace BLOB NOT NULL,\n"
    "    identifier BLOB NOT NULL,\n"
    "    duration_ms INTEGER NOT NULL,\n"
    "    sequence INTEGER NOT NULL,\n"
    "    region BLOB NOT NULL,\n"
    "    count INTEGER NOT NULL,\n"
    "    expires_at INTEGER NOT NULL,\n"
    "    updated_at INTEGER NOT NULL,\n"
    "    UNIQUE (workspace_id, namespace, identifier, duration_ms, sequence, region)\n"
    ") STRICT",
    "CREATE INDEX IF NOT EXISTS expires_at_idx ON ratelimit_window_counts (expires_at)",
    "CREATE INDEX IF NOT EXISTS updated_at_idx ON ratelimit_window_counts (updated_at)",

    "CREATE TABLE IF NOT EXISTS ratelimit_overrides (\n"
    "    pk INTEGER PRIMARY KEY AUTOINCREMENT,\n"
    "    id BLOB NOT NULL UNIQUE,\n"
    "    workspace_id BLOB NOT NULL,\n"
    "    namespace BLOB NOT NULL,\n"
    "    identifier BLOB NOT NULL,\n"
    "    \"limit\" INTEGER NOT NULL,\n"
    "    duration_ms INTEGER NOT NULL,\n"
    "    UNIQUE (workspace_id, namespace, identifier)\n"
    ") STRICT",

    "CREATE TABLE IF NOT EXISTS ratelimit_overrides_version (\n"
    "    one INTEGER PRIMARY KEY,\n"
    "    version INTEGER NOT NULL\n"
    ") STRICT",
    "INSERT OR IGNORE INTO ratelimit_overrides_version (one, version) VALUES (1, 0)",
};

constexpr std::array<std::string_view, 1> kSecond = {
    "CREATE TABLE IF NOT EXISTS ratelimit_regions (\n"
    "    region BLOB NOT NULL PRIMARY KEY,\n"
    "    seen_at INTEGER NOT NULL\n"
    ") STRICT",
};

constexpr std::array<std::string_view, 2> kThird = {
    "CREATE TABLE IF NOT EXISTS ratelimit_override_log (\n"
    "    pk INTEGER PRIMARY KEY AUTOINCREMENT,\n"
    "    at_ms INTEGER NOT NULL,\n"
    "    token BLOB NOT NULL,\n"
    "    workspace_id BLOB NOT NULL,\n"
    "    namespace BLOB NOT NULL,\n"
    "    identifier BLOB NOT NULL,\n"
    "    override_id BLOB NOT NULL,\n"
    "    old_limit INTEGER NOT NULL,\n"
    "    old_duration_ms INTEGER NOT NULL,\n"
    "    new_limit INTEGER NOT NULL,\n"
    "    new_duration_ms INTEGER NOT NULL\n"
    ") STRICT",
    "CREATE INDEX IF NOT EXISTS override_log_workspace_idx ON ratelimit_override_log "
    "(workspace_id, pk)",
};

// The statements that lead to version i + 1.
constexpr std::array<std::span<const std::string_view>, kSqliteSchemaVersion> kSteps = {
    kFirst, kSecond, kThird};

// The version in the file; 0 if it is empty.
Result<std::int64_t> version_in(Database& database) {
    const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
    if (!tables || *tables == 0) return tables;
    const auto known =
        database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'ratelimit_schema'");
    if (!known) return known;
    if (*known == 0) return database.error("it is an SQLite database of another program");
    return database.number("SELECT version FROM ratelimit_schema");
}

Error newer(const Database& database, std::int64_t version) {
    return database.error("its tables have version " + std::to_string(version) +
                          ", and this program is older than they are: it knows version " +
                          std::to_string(kSqliteSchemaVersion) + "; run a newer one");
}

std::vector<std::string> upgrade_from(std::int64_t version) {
    std::vector<std::string> statements;
    for (auto i = static_cast<std::size_t>(version); i < kSteps.size(); ++i) {
        statements.insert(statements.end(), kSteps[i].begin(), kSteps[i].end());
        statements.push_back("INSERT OR REPLACE INTO ratelimit_schema (one, version) VALUES (1, " +
                             std::to_string(i + 1) + ")");
    }
    return statements;
}

Result<Migration> migration_of(Database& database) {
    const auto from = version_in(database);
    if (!from) return from.error();
    if (*from < 0 || *from > kSqliteSchemaVersion) return newer(database, *from);
    return Migration{.from = *from, .to = kSqliteSchemaVersion, .statements = upgrade_from(*from)};
}

// Reads the version again inside the transaction, where no other process can change it.
Result<Migration> upgrade(Database& database) {
    if (auto error = database.run(kModes)) return *std::move(error);
    Transaction transaction(database);
    if (auto error = transaction.begin_writing()) return *std::move(error);
    auto migration = migration_of(database);
    if (!migration) return migration;
    for (const std::string& statement : migration->statements) {
        if (auto error = database.run(statement.c_str())) return *std::move(error);
    }
    if (auto error = transaction.commit()) return *std::move(error);
    return migration;
}

}  // namespace

std::optional<Error> prepare_tables(Database& database, OlderTables older) {
    const auto found = migration_of(database);
    if (!found) return found.error();
    if (found->from == kSqliteSchemaVersion) return database.run(kModes);
    if (found->from == 0 || older == OlderTables::kUpgrade) {
        const auto made = upgrade(database);
        return made ? std::nullopt : std::optional(made.error());
    }
    return database.error("its tables have version " + std::to_string(found->from) +
                          ", and this program needs version " +
                          std::to_string(kSqliteSchemaVersion) +
                          "; run: sluice migrate --global sqlite:" + database.path());
}

Result<Migration> migrate_sqlite(const std::string& path, DryRun dry_run) {
    // Opening it would create it.
    if (dry_run == DryRun::kYes && !std::filesystem::exists(path))
        return Migration{.from = 0, .to = kSqliteSchemaVersion, .statements = upgrade_from(0)};
    auto database =
        Database::open({.path = path, .purpose = "global counts", .use = sqlite::Use::kShared});
    if (!database) return std::move(database).error();
    database->set_busy_timeout(kMigrationTimeout);
    auto found = migration_of(*database);
    if (!found || dry_run == DryRun::kYes || found->statements.empty()) return found;
    return upgrade(*database);
}

}  // namespace sluice
