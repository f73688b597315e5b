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

constexpr const char* kFind =
    "SELECT pk, id, workspace_id, namespace, identifier, \"limit\", duration_ms "
    "FROM ratelimit_overrides WHERE workspace_id = ?1 AND namespace = ?2 AND identifier = ?3";

constexpr const char* kKeep =
    "INSERT INTO ratelimit_override_log (at_ms, token, workspace_id, namespace, identifier, "
    "override_id, old_limit, old_duration_ms, new_limit, new_duration_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

constexpr const char* kForget =
    "DELETE FROM ratelimit_override_log WHERE workspace_id = ?1 AND pk <= (SELECT pk FROM "
    "ratelimit_override_log WHERE workspace_id = ?1 ORDER BY pk DESC LIMIT 1 OFFSET ?2)";

// ?2: an empty namespace is any.
constexpr const char* kChanges =
    "SELECT pk, at_ms, token, workspace_id, namespace, identifier, override_id, old_limit, "
    "old_duration_ms, new_limit, new_duration_ms FROM ratelimit_override_log "
    "WHERE workspace_id = ?1 AND (?2 = x'' OR namespace = ?2) AND (?3 = 0 OR pk < ?3) "
    "ORDER BY pk DESC LIMIT ?4";

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
    const auto older = is_alone ? OlderTables::kUpgrade : OlderTables::kRefuse;
    if (auto error = prepare_tables(*database, older)) return error;
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
                         .bind(6, entry.value.limit)
                         .bind(7, entry.value.duration.count())
                         .for_each([&](const Statement& row) {
                             entry.order = static_cast<std::uint64_t>(row.number(0));
                             id = row.bytes(1);
                         });
    if (code != SQLITE_DONE) return database_->error(code);
    entry.id = std::move(id);
    return std::nullopt;
}

Result<std::optional<Override>> SqliteOverrideStore::find_row(const OverrideKey& key) {
    auto find = database_->prepare(kFind);
    if (!find) return std::move(find).error();
    std::optional<Override> found;
    const int code = find->bind(1, key.workspace)
                         .bind(2, key.name_space)
                         .bind(3, key.identifier)
                         .for_each([&](const Statement& row) { found = override_in(row); });
    if (code != SQLITE_DONE) return database_->error(code);
    return found;
}

std::optional<Error> SqliteOverrideStore::keep(const Change& change) {
    auto keep = database_->prepare(kKeep);
    if (!keep) return std::move(keep).error();
    const auto bind_value = [&](int parameter, const std::optional<LimitAndDuration>& value) {
        keep->bind(parameter, value ? value->limit : std::int64_t{-1});
        keep->bind(parameter + 1, value ? value->duration.count() : std::int64_t{-1});
    };
    keep->bind(1, change.author.at)
        .bind(2, change.author.token)
        .bind(3, change.workspace)
        .bind(4, change.name_space)
        .bind(5, change.identifier)
        .bind(6, change.id);
    bind_value(7, change.before);
    bind_value(9, change.after);
    if (const int code = keep->run(); code != SQLITE_DONE) return database_->error(code);
    auto forget = database_->prepare(kForget);
    if (!forget) return std::move(forget).error();
    const int code = forget->bind(1, change.workspace).bind(2, std::int64_t{kMaxChangesKept}).run();
    return code == SQLITE_DONE ? std::nullopt : std::optional(database_->error(code));
}

Result<std::vector<Change>> SqliteOverrideStore::changes(const ChangeQuery& query) {
    if (auto error = make_ready()) return *std::move(error);
    auto rows = database_->prepare(kChanges);
    if (!rows) return failed(std::move(rows).error());
    std::vector<Change> found;
    const int code = rows->bind(1, query.workspace)
                         .bind(2, query.name_space)
                         .bind(3, static_cast<std::int64_t>(query.before))
                         .bind(4, static_cast<std::int64_t>(query.most))
                         .for_each([&](const Statement& row) { found.push_back(change_in(row)); });
    if (code != SQLITE_DONE) return failed(database_->error(code));
    return found;
}

// The change is kept first: `changes()` of the last statement says whether an override changed.
Result<Stored> SqliteOverrideStore::put(const Override& entry,
                                        const std::optional<Author>& author) {
    Override stored = entry;
    const auto version = change([&]() -> std::optional<Error> {
        const auto held = find_row(entry.key());
        if (!held) return held.error();
        if (author) {
            if (auto error = keep(change_of(*author, entry, *held, entry.value))) return error;
        }
        auto put = database_->prepare(kPut);
        if (!put) return std::move(put).error();
        return put_row(*put, stored);
    });
    if (!version) return version.error();
    return Stored{.entry = std::move(stored), .version = *version};
}

Result<Removed> SqliteOverrideStore::remove(const OverrideKey& key,
                                            const std::optional<Author>& author) {
    bool found = false;
    const auto version = change([&]() -> std::optional<Error> {
        const auto held = find_row(key);
        if (!held) return held.error();
        if (*held && author) {
            if (auto error = keep(change_of(*author, **held, *held, std::nullopt))) return error;
        }
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
