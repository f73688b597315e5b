// The store of overrides in an SQLite file, of one process or shared by those of one machine.
#include "overrides/stores.h"
#include "sqlite/schema.h"

namespace sluice::overrides {
namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

// Locks the file until the process ends, so that a second server on the same directory fails at its
// start and not at its first write.
constexpr const char* kLock =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "BEGIN EXCLUSIVE;"
    "COMMIT;";

constexpr const char* kVersion = "SELECT version FROM ratelimit_overrides_version WHERE one = 1";

constexpr const char* kSelect =
    "SELECT pk, id, workspace_id, namespace, identifier, \"limit\", duration_ms "
    "FROM ratelimit_overrides ORDER BY pk";

// Counts a change, if the statement before has changed a row.
constexpr const char* kCount =
    "UPDATE ratelimit_overrides_version SET version = version + 1 WHERE one = 1 AND changes() > 0";

// Without a parameter 1, SQLite chooses the next pk.
constexpr const char* kPut =
    "INSERT INTO ratelimit_overrides "
    "(pk, id, workspace_id, namespace, identifier, \"limit\", duration_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
    "ON CONFLICT (workspace_id, namespace, identifier) "
    "DO UPDATE SET \"limit\" = excluded.\"limit\", duration_ms = excluded.duration_ms "
    "RETURNING pk, id";

constexpr const char* kRemove =
    "DELETE FROM ratelimit_overrides "
    "WHERE workspace_id = ?1 AND namespace = ?2 AND identifier = ?3";

}  // namespace

Result<std::unique_ptr<SqliteOverrideStore>> SqliteOverrideStore::open(
    SqliteOverrideOptions options) {
    auto store = std::make_unique<SqliteOverrideStore>(std::move(options));
    if (auto error = store->make_ready()) return *std::move(error);
    return store;
}

std::optional<Error> SqliteOverrideStore::make_ready() {
    if (database_) return std::nullopt;
    const bool is_alone = options_.use == sqlite::Use::kAlone;
    auto database =
        Database::open({.path = options_.path, .purpose = "overrides", .use = options_.use});
    if (!database) return std::move(database).error();
    database->set_busy_timeout(options_.busy_timeout);
    if (is_alone) {
        if (auto error = database->run(kLock)) return error;
        if (auto error = database->limit_size(options_.max_bytes)) return error;
    }
    if (auto error = prepare_tables(*database)) return error;
    // An override that was acknowledged, such as a ban, is on the disk. In WAL mode the cheaper
    // NORMAL, which suits counts, could lose it with the machine's power.
    if (auto error = database->run("PRAGMA synchronous = FULL")) return error;
    if (is_alone) {
        if (auto error = database->check_pages()) return error;
    }
    database_.emplace(*std::move(database));
    return std::nullopt;
}

Error SqliteOverrideStore::failed(Error error) const {
    const int code = database_->code();
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) error.code = kStoreUnavailable;
    return error;
}

Result<std::uint64_t> SqliteOverrideStore::read_version() {
    const auto version = database_->number(kVersion);
    if (!version) return failed(version.error());
    return static_cast<std::uint64_t>(*version);
}

Result<std::uint64_t> SqliteOverrideStore::version() {
    if (auto error = make_ready()) return *std::move(error);
    return read_version();
}

// The version is read first: a change that is made while the rows are read is found by the next
// call of version().
Result<Contents> SqliteOverrideStore::load_all() {
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

Result<std::uint64_t> SqliteOverrideStore::change(
    const std::function<std::optional<Error>()>& act) {
    if (auto error = make_ready()) return *std::move(error);
    Transaction transaction(*database_);
    if (auto error = transaction.begin_writing()) return failed(*std::move(error));
    if (auto error = act()) return failed(*std::move(error));
    if (auto error = database_->run(kCount)) return failed(*std::move(error));
    auto version = read_version();
    if (!version) return version;
    if (auto error = transaction.commit()) return failed(*std::move(error));
    return version;
}

// Updates the id and the order of `entry` to those that the store holds.
std::optional<Error> SqliteOverrideStore::put_row(Statement& put, Override& entry) {
    if (options_.use == sqlite::Use::kAlone) put.bind(1, static_cast<std::int64_t>(entry.order));
    std::string id = entry.id;
    const int code = put.bind(2, entry.id)
                         .bind(3, entry.workspace)
                         .bind(4, entry.name_space)
                         .bind(5, entry.identifier)
                         .bind(6, entry.grant.limit)
                         .bind(7, entry.grant.duration.count())
                         .for_each([&](const Statement& row) {
                             entry.order = static_cast<std::uint64_t>(row.number(0));
                             id = row.bytes(1);
                         });
    if (code != SQLITE_DONE) return database_->error(code);
    entry.id = std::move(id);
    return std::nullopt;
}

Result<Stored> SqliteOverrideStore::put(const Override& entry) {
    Override stored = entry;
    const auto version = change([&]() -> std::optional<Error> {
        auto put = database_->prepare(kPut);
        if (!put) return std::move(put).error();
        return put_row(*put, stored);
    });
    if (!version) return version.error();
    return Stored{.entry = std::move(stored), .version = *version};
}

Result<Removed> SqliteOverrideStore::remove(const OverrideKey& key) {
    bool found = false;
    const auto version = change([&]() -> std::optional<Error> {
        auto remove = database_->prepare(kRemove);
        if (!remove) return std::move(remove).error();
        remove->bind(1, key.workspace).bind(2, key.name_space).bind(3, key.identifier);
        if (const int code = remove->run(); code != SQLITE_DONE) return database_->error(code);
        found = database_->changes() > 0;
        return std::nullopt;
    });
    if (!version) return version.error();
    return Removed{.found = found, .version = *version};
}

std::optional<Error> SqliteOverrideStore::replace_all(const std::vector<Override>& overrides) {
    const auto version = change([&]() -> std::optional<Error> {
        if (auto error = database_->run("DELETE FROM ratelimit_overrides")) return error;
        auto put = database_->prepare(kPut);
        if (!put) return std::move(put).error();
        for (Override entry : overrides) {
            if (auto error = put_row(*put, entry)) return error;
        }
        return std::nullopt;
    });
    return version ? std::nullopt : std::optional(version.error());
}

}  // namespace sluice::overrides
