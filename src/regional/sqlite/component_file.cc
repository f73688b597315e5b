#include "regional/sqlite/component_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "regional/origin.h"

namespace sluice {
namespace {

using sqlite::Database;
using sqlite::Transaction;

constexpr std::int64_t kSchemaVersion = 1;

// How many expired rows a call deletes beside as many as it may add: more expire than are added
// only for a while, so this keeps up, and no call waits for a long deletion.
constexpr std::size_t kDeletedPerCall = 1'000;

// What the file must have room for after a refused write: about the largest call.
constexpr std::int64_t kRoomBytes = std::int64_t{1} << 18;

// The keys of cells begin with a digit.
constexpr std::string_view kHeartbeatKey = "heartbeat";

// Exclusive: the file belongs to this process until it ends, so that a second server on the same
// directory is refused at its start and not at its first write. NORMAL: what was written is safe
// from the end of the process; after a loss of power the file is whole, and lacks at most the
// counts since the last checkpoint. Counts of a few seconds are not worth an fsync per call.
constexpr const char* kModes =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;";

// A blob is compared byte by byte and may hold zeros.
constexpr const char* kCreate =
    "CREATE TABLE components ("
    "  cell BLOB NOT NULL,"
    "  node BLOB NOT NULL,"
    "  incarnation INTEGER NOT NULL,"
    "  count INTEGER NOT NULL,"
    "  dies_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (cell, node, incarnation)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX components_by_death ON components (dies_ms);"
    "PRAGMA user_version = 1;";

// A row that has expired without being deleted comes back with its count, which its owner had
// spent.
constexpr const char* kLift =
    "INSERT INTO components (cell, node, incarnation, count, dies_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5) "
    "ON CONFLICT (cell, node, incarnation) "
    "DO UPDATE SET count = max(count, excluded.count), dies_ms = max(dies_ms, excluded.dies_ms) "
    "WHERE excluded.count > count OR excluded.dies_ms > dies_ms";

// The plus keeps SQLite from searching all rows that have not expired instead of those of the cell.
constexpr const char* kSelect =
    "SELECT node, incarnation, count, dies_ms FROM components WHERE cell = ?1 AND +dies_ms > ?2";

constexpr const char* kRemove =
    "DELETE FROM components WHERE cell = ?1 AND node = ?2 AND incarnation = ?3";

constexpr const char* kExpire =
    "DELETE FROM components WHERE (cell, node, incarnation) IN "
    "(SELECT cell, node, incarnation FROM components WHERE dies_ms <= ?1 ORDER BY dies_ms "
    "LIMIT ?2)";

// Takes the file for this process, and makes its table if it has none.
std::optional<Error> create_table(Database& database) {
    if (auto error = database.run("BEGIN EXCLUSIVE")) return error;
    const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
    if (!tables) return tables.error();
    const auto version = database.number("PRAGMA user_version");
    if (!version) return version.error();
    if (*tables == 0 && *version == 0) {
        if (auto error = database.run(kCreate)) return error;
    }
    return database.run("COMMIT");
}

std::optional<Error> check_table(Database& database) {
    const auto known = database.number(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'components'");
    if (!known) return known.error();
    const auto version = database.number("PRAGMA user_version");
    if (!version) return version.error();
    if (*known != 1 || *version == 0)
        return database.error("it is an SQLite database of another program");
    if (*version != kSchemaVersion) {
        return database.error("its schema has version " + std::to_string(*version) +
                              ", and this program knows version " + std::to_string(kSchemaVersion) +
                              "; it was written by a newer program, which should read it");
    }
    return std::nullopt;
}

std::optional<Error> make_ready(Database& database, const SqliteOriginOptions& options) {
    database.set_busy_timeout(options.busy_timeout);
    if (auto error = database.run(kModes)) return error;
    if (auto error = database.limit_size(options.max_bytes)) return error;
    if (auto error = create_table(database)) return error;
    if (auto error = check_table(database)) return error;
    return database.check_pages();
}

void append_part(std::string& key, std::string_view part) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
}

std::int64_t milliseconds_of(UnixTime time) {
    return time.time_since_epoch().count();
}

// Clamps a number from the file, which may have been edited, to the range of counts.
Count count_in(std::int64_t number) {
    return std::min(static_cast<Count>(std::max<std::int64_t>(number, 0)), kMaxCount);
}

}  // namespace

Result<std::unique_ptr<ComponentFile>> ComponentFile::open(SqliteOriginOptions options) {
    auto database = Database::open({.path = options.path, .purpose = "counts of the region"});
    if (!database) return std::move(database).error();
    if (auto error = make_ready(*database, options)) return *std::move(error);
    Statements statements;
    const std::array<std::pair<sqlite::Statement*, const char*>, 4> sources = {
        {{&statements.lift, kLift},
         {&statements.select, kSelect},
         {&statements.remove, kRemove},
         {&statements.expire, kExpire}}};
    for (const auto& [statement, sql] : sources) {
        auto prepared = database->prepare(sql);
        if (!prepared) return std::move(prepared).error();
        *statement = *std::move(prepared);
    }
    return std::unique_ptr<ComponentFile>(
        new ComponentFile(std::move(options), *std::move(database), std::move(statements)));
}

ComponentFile::ComponentFile(SqliteOriginOptions options, Database database, Statements statements)
    : options_(std::move(options)),
      database_(std::move(database)),
      statements_(std::move(statements)) {}

FileAccess ComponentFile::access_of_sync(const std::vector<KeyComponents>& keys) {
    const auto is_read = [](const KeyComponents& key) {
        return key.own[0] == 0 && key.own[1] == 0;
    };
    return std::all_of(keys.begin(), keys.end(), is_read) ? FileAccess::kRead : FileAccess::kWrite;
}

Result<std::vector<KeyTotals>> ComponentFile::sync(const std::vector<KeyComponents>& keys) {
    const UnixTime now = options_.now();
    return for_each_key<KeyTotals>(
        access_of_sync(keys), keys, [&](const KeyComponents& key) -> Result<KeyTotals> {
            if (auto error = lift(key, now)) return *std::move(error);
            return totals_of(key, now);
        });
}

Result<std::vector<KeyGrants>> ComponentFile::spend(const std::vector<KeySpend>& keys) {
    const UnixTime now = options_.now();
    return for_each_key<KeyGrants>(
        FileAccess::kWrite, keys, [&](const KeySpend& spend) -> Result<KeyGrants> {
            const KeyComponents& key = spend.components;
            if (auto error = lift(key, now)) return *std::move(error);
            const auto held = totals_of(key, now);
            if (!held) return held.error();
            KeyGrants grants = decide_at_origin(spend, *held);
            CellComponent granted = cells_of(key)[0];
            granted.own = grants.totals[0].own;
            if (granted.own == (*held)[0].own) return grants;
            if (auto error = lift(granted, key.incarnation, now)) return *std::move(error);
            return grants;
        });
}

Result<std::vector<CellListing>> ComponentFile::list(const std::vector<CellName>& cells) {
    const UnixTime now = options_.now();
    return for_each_key<CellListing>(
        FileAccess::kRead, cells, [&](const CellName& cell) -> Result<CellListing> {
            const auto components = components_of(cell, now);
            if (!components) return components.error();
            CellListing listing;
            for (const Component& component : *components) {
                listing.total = saturating_add(listing.total, component.count);
                listing.components.push_back(
                    {.owner = owner_name(component.node, component.incarnation),
                     .count = component.count});
                listing.lifetime = std::max(listing.lifetime, Duration(component.expires - now));
            }
            return listing;
        });
}

std::optional<Error> ComponentFile::heartbeat() {
    const UnixTime now = options_.now();
    const Component beat{.node = options_.node,
                         .incarnation = 0,
                         .count = ++heartbeats_,
                         .expires = now + kNodeLifetime};
    if (!is_write_refused_) return write(1, [&] { return lift(kHeartbeatKey, beat); });
    // A row of that size, which has expired already, is written to the disk and then deleted.
    const auto bytes = static_cast<std::size_t>(std::min(kRoomBytes, options_.max_bytes / 8));
    const std::string large_key(bytes, '\0');
    const Component expired{.node = options_.node, .incarnation = 0, .count = 0, .expires = {}};
    auto error = write(2, [&] {
        auto refused = lift(kHeartbeatKey, beat);
        return refused ? std::move(refused) : lift(large_key, expired);
    });
    if (!error) delete_expired_alone();
    return error;
}

template <class Answer, class Key, class AnswerKey>
Result<std::vector<Answer>> ComponentFile::for_each_key(FileAccess access,
                                                        const std::vector<Key>& keys,
                                                        AnswerKey answer) {
    std::vector<Answer> answers;
    answers.reserve(keys.size());
    const auto body = [&]() -> std::optional<Error> {
        for (const Key& key : keys) {
            auto answered = answer(key);
            if (!answered) return std::move(answered).error();
            answers.push_back(*std::move(answered));
        }
        return std::nullopt;
    };
    auto error = access == FileAccess::kWrite ? write(2 * keys.size(), body) : transact(body);
    if (error) return *std::move(error);
    return answers;
}

template <class Body>
std::optional<Error> ComponentFile::transact(Body body) {
    Transaction transaction(database_);
    if (auto error = transaction.begin()) return error;
    if (auto error = body()) return error;
    return transaction.commit();
}

template <class Body>
std::optional<Error> ComponentFile::write(std::size_t rows, Body body) {
    auto error = transact([&]() -> std::optional<Error> {
        if (auto failed = delete_expired(kDeletedPerCall + rows)) return failed;
        return body();
    });
    is_write_refused_ = error.has_value();
    // A full file takes nothing until expired rows are gone, and those that were deleted have come
    // back with the failure.
    if (error) delete_expired_alone();
    return error;
}

// If it fails, the next call tries again.
void ComponentFile::delete_expired_alone() {
    (void)transact([&] { return delete_expired(kDeletedPerCall); });
}

std::optional<Error> ComponentFile::lift(const KeyComponents& key, UnixTime now) {
    for (const CellComponent& component : cells_of(key)) {
        if (auto error = lift(component, key.incarnation, now)) return error;
    }
    return std::nullopt;
}

std::optional<Error> ComponentFile::lift(const CellComponent& component,
                                         Incarnation incarnation,
                                         UnixTime now) {
    if (component.own == 0 || component.lifetime <= Duration::zero()) return std::nullopt;
    if (incarnation != 0)
        if (auto error = supersede(component.cell, incarnation, now)) return error;
    return lift(key_of(component.cell),
                {.node = options_.node,
                 .incarnation = incarnation,
                 .count = component.own,
                 .expires = now + component.lifetime});
}

std::optional<Error> ComponentFile::lift(std::string_view cell_key, const Component& component) {
    const int code = statements_.lift.bind(1, cell_key)
                         .bind(2, component.node)
                         .bind(3, std::int64_t{component.incarnation})
                         .bind(4, static_cast<std::int64_t>(std::min(component.count, kMaxCount)))
                         .bind(5, milliseconds_of(component.expires))
                         .run();
    if (code != SQLITE_DONE) return database_.error(code);
    return std::nullopt;
}

std::optional<Error> ComponentFile::supersede(const CellName& cell,
                                              Incarnation incarnation,
                                              UnixTime now) {
    const auto components = components_of(cell, now);
    if (!components) return components.error();
    const auto is_of_node = [&](const Component& one) { return one.node == options_.node; };
    const auto is_this = [&](const Component& one) { return is_own(one, incarnation); };
    if (std::ranges::any_of(*components, is_this)) return std::nullopt;
    Component base{.node = options_.node, .incarnation = 0, .count = 0, .expires = now};
    const std::string key = key_of(cell);
    for (const Component& component : *components) {
        if (!is_of_node(component)) continue;
        base.count = saturating_add(base.count, component.count);
        base.expires = std::max(base.expires, component.expires);
        if (component.incarnation == 0) continue;
        const int code = statements_.remove.bind(1, key)
                             .bind(2, component.node)
                             .bind(3, std::int64_t{component.incarnation})
                             .run();
        if (code != SQLITE_DONE) return database_.error(code);
    }
    return base.count == 0 ? std::nullopt : lift(key, base);
}

std::optional<Error> ComponentFile::delete_expired(std::size_t at_most) {
    const int code = statements_.expire.bind(1, milliseconds_of(options_.now()))
                         .bind(2, static_cast<std::int64_t>(at_most))
                         .run();
    if (code != SQLITE_DONE) return database_.error(code);
    return std::nullopt;
}

Result<KeyTotals> ComponentFile::totals_of(const KeyComponents& key, UnixTime now) {
    const auto [current, previous] = cells_of(key);
    const auto of_current = totals_of(current.cell, key.incarnation, now);
    if (!of_current) return of_current.error();
    const auto of_previous = totals_of(previous.cell, key.incarnation, now);
    if (!of_previous) return of_previous.error();
    return KeyTotals{*of_current, *of_previous};
}

Result<CellTotals> ComponentFile::totals_of(const CellName& cell,
                                            Incarnation incarnation,
                                            UnixTime now) {
    const auto components = components_of(cell, now);
    if (!components) return components.error();
    CellTotals totals;
    for (const Component& component : *components) {
        totals.total = saturating_add(totals.total, component.count);
        if (is_own(component, incarnation)) totals.own = component.count;
    }
    return totals;
}

Result<std::vector<ComponentFile::Component>> ComponentFile::components_of(const CellName& cell,
                                                                           UnixTime now) {
    std::vector<Component> components;
    const std::string key = key_of(cell);
    const int code =
        statements_.select.bind(1, key)
            .bind(2, milliseconds_of(now))
            .for_each([&](const auto& row) {
                components.push_back({.node = row.bytes(0),
                                      .incarnation = static_cast<Incarnation>(row.number(1)),
                                      .count = count_in(row.number(2)),
                                      .expires = UnixTime{Duration{row.number(3)}}});
            });
    if (code != SQLITE_DONE) return database_.error(code);
    return components;
}

// Each part comes behind its length, so no two cells share a key whatever their parts hold.
std::string ComponentFile::key_of(const CellName& cell) const {
    std::string key;
    append_part(key, options_.region);
    append_part(key, cell.workspace);
    append_part(key, cell.name_space);
    append_part(key, cell.identifier);
    key += std::to_string(cell.duration.count());
    key += ':';
    key += std::to_string(cell.sequence);
    return key;
}

}  // namespace sluice
