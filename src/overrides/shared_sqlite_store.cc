#include "overrides/shared_sqlite_store.h"

#include <utility>

#include "global/sqlite/sqlite_schema.h"

namespace sluice::overrides {
namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

constexpr const char* kVersion = "SELECT version FROM ratelimit_overrides_version WHERE one = 1";

constexpr const char* kSelect =
    "SELECT pk, id, workspace_id, namespace, identifier, \"limit\", duration_ms "
    "FROM ratelimit_overrides ORDER BY pk";

constexpr const char* kCount =
    "UPDATE ratelimit_overrides_version SET version = version + 1 WHERE one = 1";

constexpr const char* kPut =
    "INSERT INTO ratelimit_overrides "
    "(id, workspace_id, namespace, identifier, \"limit\", duration_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
    "ON CONFLICT (workspace_id, namespace, identifier) "
    "DO UPDATE SET \"limit\" = excluded.\"limit\", duration_ms = excluded.duration_ms "
    "RETURNING pk, id";

constexpr const char* kRemove =
    "DELETE FROM ratelimit_overrides "
    "WHERE workspace_id = ?1 AND namespace = ?2 AND identifier = ?3";

Override override_in(const Statement& row) {
    return {.workspace = row.bytes(2),
            .name_space = row.bytes(3),
            .identifier = row.bytes(4),
            .id = row.bytes(1),
            .grant = {.limit = row.number(5), .duration = std::chrono::milliseconds{row.number(6)}},
            .order = static_cast<std::uint64_t>(row.number(0))};
}

}  // namespace

std::optional<Error> SharedSqliteStore::make_ready() {
    if (database_) return std::nullopt;
    auto database = Database::open(
        {.path = options_.path, .purpose = "overrides", .use = sqlite::Use::kShared});
    if (!database) return std::move(database).error();
    database->wait_for_others(options_.busy_timeout);
    if (auto error = prepare_shared_file(*database)) return error;
    // After the mode that suits counts: a ban that was acknowledged is on the disk.
    if (auto error = database->run("PRAGMA synchronous = FULL")) return error;
    database_.emplace(*std::move(database));
    return std::nullopt;
}

Error SharedSqliteStore::failed(Error error) const {
    const int code = database_->code();
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) error.code = kStoreUnavailable;
    return error;
}

Result<std::uint64_t> SharedSqliteStore::read_version() {
    const auto version = database_->number(kVersion);
    if (!version) return failed(version.error());
    return static_cast<std::uint64_t>(*version);
}

Result<std::uint64_t> SharedSqliteStore::version() {
    if (auto error = make_ready()) return *std::move(error);
    return read_version();
}

// The version comes first: what is changed while the rows are read is news the next time.
Result<Contents> SharedSqliteStore::load_all() {
    if (auto error = make_ready()) return *std::move(error);
    const auto version = read_version();
    if (!version) return version.error();
    auto rows = database_->prepare(kSelect);
    if (!rows) return failed(std::move(rows).error());
    Contents contents{.overrides = {}, .version = *version};
    const int code = rows->for_each(
        [&](const Statement& row) { contents.overrides.push_back(override_in(row)); });
    if (code != SQLITE_DONE) return failed(database_->error(code));
    return contents;
}

Result<Stored> SharedSqliteStore::put(const Override& entry) {
    if (auto error = make_ready()) return *std::move(error);
    Transaction transaction(*database_);
    if (auto error = transaction.begin_writing()) return failed(*std::move(error));
    auto stored = put_row(entry);
    if (!stored) return failed(std::move(stored).error());
    if (auto error = transaction.commit()) return failed(*std::move(error));
    return stored;
}

Result<Stored> SharedSqliteStore::put_row(const Override& entry) {
    if (auto error = database_->run(kCount)) return *std::move(error);
    auto put = database_->prepare(kPut);
    if (!put) return std::move(put).error();
    Stored stored{.entry = entry, .version = 0};
    const int code = put->bind(1, entry.id)
                         .bind(2, entry.workspace)
                         .bind(3, entry.name_space)
                         .bind(4, entry.identifier)
                         .bind(5, entry.grant.limit)
                         .bind(6, entry.grant.duration.count())
                         .for_each([&](const Statement& row) {
                             stored.entry.order = static_cast<std::uint64_t>(row.number(0));
                             stored.entry.id = row.bytes(1);
                         });
    if (code != SQLITE_DONE) return database_->error(code);
    const auto version = read_version();
    if (!version) return version.error();
    stored.version = *version;
    return stored;
}

Result<Removed> SharedSqliteStore::remove(const OverrideKey& key) {
    if (auto error = make_ready()) return *std::move(error);
    Transaction transaction(*database_);
    if (auto error = transaction.begin_writing()) return failed(*std::move(error));
    auto removed = remove_row(key);
    if (!removed) return failed(std::move(removed).error());
    // Where there was none, nothing is counted.
    if (!removed->found) return removed;
    if (auto error = transaction.commit()) return failed(*std::move(error));
    return removed;
}

Result<Removed> SharedSqliteStore::remove_row(const OverrideKey& key) {
    auto remove = database_->prepare(kRemove);
    if (!remove) return std::move(remove).error();
    const int code =
        remove->bind(1, key.workspace).bind(2, key.name_space).bind(3, key.identifier).run();
    if (code != SQLITE_DONE) return database_->error(code);
    const bool found = database_->changes() > 0;
    if (auto error = database_->run(kCount)) return *std::move(error);
    const auto version = read_version();
    if (!version) return version.error();
    return Removed{.found = found, .version = *version};
}

}  // namespace sluice::overrides
