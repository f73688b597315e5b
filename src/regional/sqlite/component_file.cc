#include "regional/sqlite/component_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

constexpr std::int64_t kSchemaVersion = 1;

// How many dead rows a raise deletes beside as many as it may add: more die than are added only for
// a while, so this keeps up, and no call waits for a long deletion.
constexpr std::size_t kForgottenPerRaise = 1'000;

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

// A row that has died without being deleted comes back with its count, which its owner had spent.
constexpr const char* kRaise =
    "INSERT INTO components (cell, node, incarnation, count, dies_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5) "
    "ON CONFLICT (cell, node, incarnation) "
    "DO UPDATE SET count = max(count, excluded.count), dies_ms = max(dies_ms, excluded.dies_ms) "
    "WHERE excluded.count > count OR excluded.dies_ms > dies_ms";

// The plus keeps SQLite from looking through all that lives instead of all that is in the cell.
constexpr const char* kSelect =
    "SELECT node, incarnation, count, dies_ms FROM components WHERE cell = ?1 AND +dies_ms > ?2";

constexpr const char* kForget =
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
    database.wait_for_others(options.busy_timeout);
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

// Whoever wrote into the file: what comes out of it is a count.
Count count_in(std::int64_t number) {
    return std::min(static_cast<Count>(std::max<std::int64_t>(number, 0)), kMaxCount);
}

}  // namespace

Result<std::unique_ptr<ComponentFile>> ComponentFile::open(SqliteOriginOptions options) {
    auto database = Database::open({.path = options.path, .purpose = "counts of the region"});
    if (!database) return std::move(database).error();
    if (auto error = make_ready(*database, options)) return *std::move(error);
    auto raise = database->prepare(kRaise);
    if (!raise) return std::move(raise).error();
    auto select = database->prepare(kSelect);
    if (!select) return std::move(select).error();
    auto forget = database->prepare(kForget);
    if (!forget) return std::move(forget).error();
    return std::unique_ptr<ComponentFile>(
        new ComponentFile(std::move(options),
                          *std::move(database),
                          {*std::move(raise), *std::move(select), *std::move(forget)}));
}

ComponentFile::ComponentFile(SqliteOriginOptions options, Database database, Statements statements)
    : options_(std::move(options)),
      database_(std::move(database)),
      statements_(std::move(statements)) {}

Result<std::vector<CellTotals>> ComponentFile::read(const std::vector<CellQuestion>& questions) {
    const UnixTime now = options_.now();
    std::vector<CellTotals> all;
    all.reserve(questions.size());
    Transaction transaction(database_);
    if (auto error = transaction.begin()) return *std::move(error);
    for (const CellQuestion& question : questions) {
        const auto totals = totals_of(question.cell, question.incarnation, now);
        if (!totals) return totals.error();
        all.push_back(*totals);
    }
    if (auto error = transaction.commit()) return *std::move(error);
    return all;
}

Result<std::vector<CellTotals>> ComponentFile::raise(const std::vector<CellComponent>& components) {
    auto totals = try_raise(components);
    if (totals) return totals;
    // A file that is full takes nothing more until dead rows are gone, and what was deleted has
    // come back with the failure. So they go on their own; if that fails too, the next call tries.
    Transaction transaction(database_);
    if (transaction.begin() || forget_dead(kForgottenPerRaise, options_.now())) return totals;
    (void)transaction.commit();
    return totals;
}

Result<std::vector<CellTotals>> ComponentFile::try_raise(
    const std::vector<CellComponent>& components) {
    const UnixTime now = options_.now();
    std::vector<CellTotals> all;
    all.reserve(components.size());
    Transaction transaction(database_);
    if (auto error = transaction.begin()) return *std::move(error);
    if (auto error = forget_dead(kForgottenPerRaise + components.size(), now))
        return *std::move(error);
    for (const CellComponent& component : components) {
        if (auto error = lift(component, now)) return *std::move(error);
    }
    // Only now, since a cell may be there twice, by two incarnations.
    for (const CellComponent& component : components) {
        const auto totals = totals_of(component.cell, component.incarnation, now);
        if (!totals) return totals.error();
        all.push_back(*totals);
    }
    if (auto error = transaction.commit()) return *std::move(error);
    return all;
}

Result<std::vector<CellListing>> ComponentFile::list(const std::vector<CellName>& cells) {
    const UnixTime now = options_.now();
    std::vector<CellListing> all;
    all.reserve(cells.size());
    Transaction transaction(database_);
    if (auto error = transaction.begin()) return *std::move(error);
    for (const CellName& cell : cells) {
        const auto rows = rows_of(cell, now);
        if (!rows) return rows.error();
        CellListing& listing = all.emplace_back();
        for (const Row& row : *rows) {
            listing.total = saturating_add(listing.total, row.count);
            listing.components.push_back(
                {.owner = owner_name(row.node, row.incarnation), .count = row.count});
            listing.lifetime = std::max(listing.lifetime, Duration(row.death - now));
        }
    }
    if (auto error = transaction.commit()) return *std::move(error);
    return all;
}

std::optional<Error> ComponentFile::lift(const CellComponent& component, UnixTime now) {
    if (component.own == 0) return std::nullopt;
    const std::string key = key_of(component.cell);
    const int code = statements_.raise.bind(1, key)
                         .bind(2, options_.node)
                         .bind(3, std::int64_t{component.incarnation})
                         .bind(4, static_cast<std::int64_t>(std::min(component.own, kMaxCount)))
                         .bind(5, milliseconds_of(now + component.lifetime))
                         .run();
    if (code != SQLITE_DONE) return database_.error(code);
    return std::nullopt;
}

std::optional<Error> ComponentFile::forget_dead(std::size_t at_most, UnixTime now) {
    const int code = statements_.forget.bind(1, milliseconds_of(now))
                         .bind(2, static_cast<std::int64_t>(at_most))
                         .run();
    if (code != SQLITE_DONE) return database_.error(code);
    return std::nullopt;
}

Result<CellTotals> ComponentFile::totals_of(const CellName& cell,
                                            Incarnation incarnation,
                                            UnixTime now) {
    const auto rows = rows_of(cell, now);
    if (!rows) return rows.error();
    CellTotals totals{.total = 0, .own = 0};
    for (const Row& row : *rows) {
        totals.total = saturating_add(totals.total, row.count);
        if (row.incarnation == incarnation && row.node == options_.node) totals.own = row.count;
    }
    return totals;
}

Result<std::vector<ComponentFile::Row>> ComponentFile::rows_of(const CellName& cell, UnixTime now) {
    std::vector<Row> rows;
    const std::string key = key_of(cell);
    const int code = statements_.select.bind(1, key)
                         .bind(2, milliseconds_of(now))
                         .for_each([&](const Statement& row) {
                             rows.push_back({.node = row.bytes(0),
                                             .incarnation = static_cast<Incarnation>(row.number(1)),
                                             .count = count_in(row.number(2)),
                                             .death = UnixTime{Duration{row.number(3)}}});
                         });
    if (code != SQLITE_DONE) return database_.error(code);
    return rows;
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
