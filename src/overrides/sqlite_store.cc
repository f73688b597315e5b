#include "overrides/sqlite_store.h"

#include <utility>

#include "sqlite/database.h"

namespace sluice::overrides {
namespace {

using sqlite::Database;
using sqlite::Statement;

constexpr std::int64_t kSchemaVersion = 1;

// Exclusive: the file belongs to this process until it ends, so that a second server on the same
// directory is refused at its start and not at its first write. FULL: an override that was
// acknowledged, such as a ban, is on the disk; in WAL mode the cheaper NORMAL could lose it with
// the machine's power. Changes are rare enough to pay for that.
constexpr const char* kModes =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;";

// Texts are blobs: they are compared byte by byte and may hold zeros.
constexpr const char* kCreate =
    "CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;"
    "INSERT INTO schema_version VALUES (1);"
    "CREATE TABLE overrides ("
    "  created_order INTEGER PRIMARY KEY,"
    "  id BLOB NOT NULL UNIQUE,"
    "  workspace BLOB NOT NULL,"
    "  namespace BLOB NOT NULL,"
    "  identifier BLOB NOT NULL,"
    "  max_count INTEGER NOT NULL,"
    "  duration_ms INTEGER NOT NULL,"
    "  UNIQUE (workspace, namespace, identifier)"
    ") STRICT;";

constexpr const char* kSelect =
    "SELECT created_order, id, workspace, namespace, identifier, max_count, duration_ms "
    "FROM overrides ORDER BY created_order";

constexpr const char* kPut =
    "INSERT INTO overrides "
    "(created_order, id, workspace, namespace, identifier, max_count, duration_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
    "ON CONFLICT (workspace, namespace, identifier) "
    "DO UPDATE SET max_count = excluded.max_count, duration_ms = excluded.duration_ms";

constexpr const char* kRemove =
    "DELETE FROM overrides WHERE workspace = ?1 AND namespace = ?2 AND identifier = ?3";

// Takes the file for this process, and makes its tables if it has none.
std::optional<Error> create_tables(Database& database) {
    if (auto error = database.run("BEGIN EXCLUSIVE")) return error;
    const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
    if (!tables) return tables.error();
    if (*tables == 0) {
        if (auto error = database.run(kCreate)) return error;
    }
    return database.run("COMMIT");
}

std::optional<Error> check_tables(Database& database) {
    const auto known = database.number(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('schema_version', 'overrides')");
    if (!known) return known.error();
    if (*known != 2) return database.error("it is an SQLite database of another program");
    const auto version = database.number("SELECT version FROM schema_version");
    if (!version) return version.error();
    if (*version != kSchemaVersion) {
        return database.error("its schema has version " + std::to_string(*version) +
                              ", and this program knows version " + std::to_string(kSchemaVersion) +
                              "; it was written by a newer program, which should read it");
    }
    return std::nullopt;
}

std::optional<Error> make_ready(Database& database, const SqliteOptions& options) {
    database.wait_for_others(options.busy_timeout);
    if (auto error = database.run(kModes)) return error;
    if (auto error = database.limit_size(options.max_bytes)) return error;
    if (auto error = create_tables(database)) return error;
    if (auto error = check_tables(database)) return error;
    return database.check_pages();
}

Override override_in(const Statement& row) {
    return {.workspace = row.bytes(2),
            .name_space = row.bytes(3),
            .identifier = row.bytes(4),
            .id = row.bytes(1),
            .grant = {.limit = row.number(5), .duration = std::chrono::milliseconds{row.number(6)}},
            .order = static_cast<std::uint64_t>(row.number(0))};
}

}  // namespace

// The statements go before the database that they belong to.
struct SqliteStore::Connection {
    Database database;
    Statement put;
    Statement remove;
};

SqliteStore::SqliteStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const SqliteOptions& options) {
    auto database = Database::open({.path = options.path, .purpose = "overrides"});
    if (!database) return std::move(database).error();
    if (auto error = make_ready(*database, options)) return *std::move(error);
    auto put = database->prepare(kPut);
    if (!put) return std::move(put).error();
    auto remove = database->prepare(kRemove);
    if (!remove) return std::move(remove).error();
    auto connection = std::make_unique<Connection>(
        Connection{*std::move(database), *std::move(put), *std::move(remove)});
    return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(connection)));
}

Result<Contents> SqliteStore::load_all() {
    auto rows = connection_->database.prepare(kSelect);
    if (!rows) return std::move(rows).error();
    Contents contents{};
    const int code = rows->for_each(
        [&](const Statement& row) { contents.overrides.push_back(override_in(row)); });
    if (code != SQLITE_DONE) return connection_->database.error(code);
    return contents;
}

int SqliteStore::write(const Override& entry) {
    return connection_->put.bind(1, static_cast<std::int64_t>(entry.order))
        .bind(2, entry.id)
        .bind(3, entry.workspace)
        .bind(4, entry.name_space)
        .bind(5, entry.identifier)
        .bind(6, entry.grant.limit)
        .bind(7, entry.grant.duration.count())
        .run();
}

Result<Stored> SqliteStore::put(const Override& entry) {
    const int code = write(entry);
    if (code == SQLITE_DONE) return Stored{entry, 0};
    return connection_->database.error(code);
}

Result<Removed> SqliteStore::remove(const OverrideKey& key) {
    const int code = connection_->remove.bind(1, key.workspace)
                         .bind(2, key.name_space)
                         .bind(3, key.identifier)
                         .run();
    if (code == SQLITE_DONE) return Removed{connection_->database.changes() > 0, 0};
    return connection_->database.error(code);
}

std::optional<Error> SqliteStore::replace_all(const std::vector<Override>& overrides) {
    Database& database = connection_->database;
    sqlite::Transaction transaction(database);
    if (auto error = transaction.begin()) return error;
    if (auto error = database.run("DELETE FROM overrides")) return error;
    for (const Override& entry : overrides) {
        const int code = write(entry);
        if (code != SQLITE_DONE) return database.error(code);
    }
    return transaction.commit();
}

}  // namespace sluice::overrides
