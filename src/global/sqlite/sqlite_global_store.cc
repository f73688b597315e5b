#include "global/sqlite/sqlite_global_store.h"

#include <algorithm>
#include <utility>

#include "global/sqlite/count_statements.h"
#include "sqlite/schema.h"

namespace sluice {
namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

std::int64_t number(UnixTime time) {
    return time.time_since_epoch().count();
}

UnixTime time_in(const Statement& row, int column) {
    return UnixTime{std::chrono::milliseconds{row.number(column)}};
}

Count count_in(const Statement& row, int column) {
    return static_cast<Count>(
        std::clamp<std::int64_t>(row.number(column), 0, static_cast<std::int64_t>(kMaxCount)));
}

Statement& bind_cell(Statement& statement, const CellName& cell, int first = 1) {
    return statement.bind(first, cell.workspace)
        .bind(first + 1, cell.name_space)
        .bind(first + 2, cell.identifier)
        .bind(first + 3, cell.duration.count())
        .bind(first + 4, cell.sequence);
}

// What both statements of a page have in common.
void bind_start(Statement& statement, const ImportQuery& query) {
    if (query.changed_since) statement.bind(3, number(*query.changed_since));
    if (query.after) bind_cell(statement, *query.after, 4);
}

CellName cell_in(const Statement& row) {
    return {.workspace = row.bytes(0),
            .name_space = row.bytes(1),
            .identifier = row.bytes(2),
            .duration = Duration{row.number(3)},
            .sequence = row.number(4)};
}

RegionRow row_in(const Statement& row) {
    return {.cell = cell_in(row), .region = row.bytes(5), .count = count_in(row, 6)};
}

// The query of the page after the one that ends with `row`.
ImportQuery rest_in(const Statement& row, ImportQuery query) {
    if (query.changed_since)
        query.changed_since = time_in(row, 0) + std::chrono::milliseconds{1};
    else
        query.after = cell_in(row);
    return query;
}

void bind_end(Statement& statement, const ImportQuery& rest) {
    if (rest.changed_since)
        statement.bind(9, number(*rest.changed_since) - 1);
    else
        bind_cell(statement, *rest.after, 9);
}

StoreFailure::Kind kind_of(int code) {
    switch (code) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return StoreFailure::Kind::kBusy;
        case SQLITE_INTERRUPT:
        case SQLITE_IOERR:
            return StoreFailure::Kind::kLost;
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_TOOBIG:
            return StoreFailure::Kind::kRows;
        default:
            return StoreFailure::Kind::kRefused;
    }
}

}  // namespace

SqliteGlobalStore::SqliteGlobalStore(SqliteGlobalOptions options) : options_(std::move(options)) {}

SqliteGlobalStore::~SqliteGlobalStore() {
    close();
}

std::optional<StoreFailure> SqliteGlobalStore::make_ready() {
    if (is_interrupted())
        return StoreFailure{StoreFailure::Kind::kLost,
                            options_.path + ": the call was ended from here"};
    if (is_broken_) close();
    if (database_) return std::nullopt;
    auto opened = Database::open(
        {.path = options_.path, .purpose = "global counts", .use = sqlite::Use::kShared});
    if (!opened)
        return StoreFailure{StoreFailure::Kind::kRefused, std::move(opened.error().message)};
    database_ = *std::move(opened);
    database_->set_busy_timeout(options_.busy_timeout);
    if (auto error = prepare_tables(*database_, OlderTables::kRefuse)) {
        StoreFailure refused = failure(*std::move(error));
        is_broken_ = true;
        return refused;
    }
    ++connections_;
    const MutexLock lock(mutex_);
    underway_ = &*database_;
    return std::nullopt;
}

void SqliteGlobalStore::close() {
    {
        const MutexLock lock(mutex_);
        underway_ = nullptr;
    }
    database_.reset();
    is_broken_ = false;
}

bool SqliteGlobalStore::is_interrupted() {
    const MutexLock lock(mutex_);
    return interrupted_;
}

void SqliteGlobalStore::interrupt() {
    const MutexLock lock(mutex_);
    interrupted_ = true;
    if (underway_ != nullptr) underway_->interrupt();
}

StoreFailure SqliteGlobalStore::failure(int code, Error error) {
    const StoreFailure::Kind kind = kind_of(code & 0xFF);
    is_broken_ = kind == StoreFailure::Kind::kLost || kind == StoreFailure::Kind::kRefused;
    return {kind, std::move(error.message)};
}

StoreFailure SqliteGlobalStore::failure(Error error) {
    return failure(database_->code(), std::move(error));
}

template <class Bind, class Show>
std::optional<StoreFailure> SqliteGlobalStore::run(std::string_view sql, Bind bind, Show show) {
    auto statement = database_->prepare(sql);
    if (!statement) return failure(std::move(statement).error());
    bind(*statement);
    const int code = statement->for_each(show);
    if (code == SQLITE_DONE) return std::nullopt;
    return failure(code, database_->error(code));
}

StoreResult<PublishEnd> SqliteGlobalStore::publish(std::span<const RegionCount> rows,
                                                   const Visit& visit) {
    if (auto failure = make_ready()) return *std::move(failure);
    if (auto failure = rows.empty() ? mark_region() : lift_all(rows)) return *std::move(failure);
    auto end = read(rows, visit);
    // The rows are published all the same.
    return std::holds_alternative<StoreFailure>(end) ? PublishEnd{} : end;
}

std::optional<StoreFailure> SqliteGlobalStore::mark_region() {
    const auto bind = [&](Statement& statement) {
        statement.bind(1, options_.region).bind(2, number(options_.now()));
    };
    return run(sqlite_sql::kMarkRegion, bind, [](const Statement&) {});
}

StoreResult<PublishEnd> SqliteGlobalStore::read(std::span<const RegionCount> rows,
                                                const Visit& visit) {
    if (auto failure = make_ready()) return *std::move(failure);
    PublishEnd end;
    const auto since = [&](Statement& statement) {
        statement.bind(1, number(options_.now() - kRegionMemory));
    };
    const auto count = [&](const Statement& row) {
        end.regions = static_cast<std::size_t>(row.number(0));
    };
    if (auto failure = run(sqlite_sql::kCountRegions, since, count)) return *std::move(failure);
    for (const RegionCount& row : rows) {
        const auto bind = [&](Statement& statement) { bind_cell(statement, row.cell); };
        const auto show = [&](const Statement& held) {
            visit({.cell = row.cell, .region = held.bytes(0), .count = count_in(held, 1)});
        };
        if (auto failure = run(sqlite_sql::kList, bind, show)) return *std::move(failure);
    }
    return end;
}

std::optional<StoreFailure> SqliteGlobalStore::lift_all(std::span<const RegionCount> rows) {
    Transaction transaction(*database_);
    if (auto error = transaction.begin_writing()) return failure(*std::move(error));
    auto lift = database_->prepare(sqlite_sql::kLift);
    if (!lift) return failure(std::move(lift).error());
    const std::int64_t now = number(options_.now());
    for (const RegionCount& row : rows) {
        const int code = bind_cell(*lift, row.cell)
                             .bind(6, options_.region)
                             .bind(7, static_cast<std::int64_t>(row.count))
                             .bind(8, number(start_of(row.cell.sequence + 2, row.cell.duration)))
                             .bind(9, now)
                             .run();
        if (code != SQLITE_DONE) return failure(code, database_->error(code));
    }
    if (auto error = transaction.commit()) return failure(*std::move(error));
    return std::nullopt;
}

StoreResult<ImportEnd> SqliteGlobalStore::import(const ImportQuery& query, const Visit& visit) {
    if (auto failure = make_ready()) return *std::move(failure);
    auto newest = database_->number(sqlite_sql::kNewest);
    if (!newest) return failure(std::move(newest).error());
    ImportEnd end;
    if (*newest != 0) {
        end.last_stamp = UnixTime{std::chrono::milliseconds{*newest}};
        end.newest = std::min(*end.last_stamp, options_.now());
    }
    const auto find_end = [&](Statement& statement) { bind_start(statement, query); };
    const auto note_end = [&](const Statement& row) { end.rest = rest_in(row, query); };
    if (auto failure = run(sqlite_sql::page_end_statement(query), find_end, note_end))
        return *std::move(failure);
    const auto bind = [&](Statement& statement) {
        statement.bind(2, number(query.living_at));
        bind_start(statement, query);
        if (end.rest) bind_end(statement, *end.rest);
    };
    const auto show = [&](const Statement& row) { visit(row_in(row)); };
    const auto has_end = end.rest ? sqlite_sql::HasEnd::kYes : sqlite_sql::HasEnd::kNo;
    if (auto failure = run(sqlite_sql::import_statement(query, has_end), bind, show))
        return *std::move(failure);
    return end;
}

StoreResult<std::size_t> SqliteGlobalStore::delete_expired(std::chrono::milliseconds min_age,
                                                           std::size_t at_most) {
    if (auto failure = make_ready()) return *std::move(failure);
    const UnixTime before = options_.now() - min_age;
    const auto bind = [&](Statement& statement) {
        statement.bind(1, number(before)).bind(2, static_cast<std::int64_t>(at_most));
    };
    if (auto failure = run(sqlite_sql::kDelete, bind, [](const Statement&) {}))
        return *std::move(failure);
    return static_cast<std::size_t>(database_->changes());
}

StoreResult<GlobalListing> SqliteGlobalStore::list_one(const CellName& cell) {
    GlobalListing listing;
    const UnixTime now = options_.now();
    const auto show = [&](const Statement& row) {
        listing.components.push_back({.region = row.bytes(0),
                                      .count = count_in(row, 1),
                                      .age = now - std::min(now, time_in(row, 2))});
    };
    const auto bind = [&](Statement& statement) { bind_cell(statement, cell); };
    if (auto failure = run(sqlite_sql::kList, bind, show)) return *std::move(failure);
    return listing;
}

StoreResult<std::vector<GlobalListing>> SqliteGlobalStore::list(std::span<const CellName> cells) {
    if (auto failure = make_ready()) return *std::move(failure);
    std::vector<GlobalListing> listings;
    for (const CellName& cell : cells) {
        auto listing = list_one(cell);
        if (auto* const failure = std::get_if<StoreFailure>(&listing)) return std::move(*failure);
        listings.push_back(std::get<0>(std::move(listing)));
    }
    return listings;
}

}  // namespace sluice
