#include "global/mysql/mysql_global_store.h"

#include <algorithm>
#include <utility>

#include "mysql/mysql_schema.h"

namespace sluice {
namespace {

// What a packet holds beside the text of a statement, generously.
constexpr std::size_t kPacketHeader = 16;

StoreFailure converted(MysqlFailure failure) {
    using From = MysqlFailure::Kind;
    using To = StoreFailure::Kind;
    const To kind = failure.kind == From::kBusy   ? To::kBusy
                    : failure.kind == From::kLost ? To::kLost
                    : failure.kind == From::kRows ? To::kRows
                                                  : To::kRefused;
    return {kind, std::move(failure.why)};
}

Count count_in(const MysqlRow& row, int column) {
    return static_cast<Count>(std::max<std::int64_t>(row.number(column), 0));
}

UnixTime time_in(const MysqlRow& row, int column) {
    return UnixTime{std::chrono::milliseconds{row.number(column)}};
}

CellName cell_in(const MysqlRow& row, int first) {
    return {.workspace = std::string(row.bytes(first)),
            .name_space = std::string(row.bytes(first + 1)),
            .identifier = std::string(row.bytes(first + 2)),
            .duration = Duration{row.number(first + 3)},
            .sequence = row.number(first + 4)};
}

RegionRow row_in(const MysqlRow& row) {
    return {
        .cell = cell_in(row, 0), .region = std::string(row.bytes(5)), .count = count_in(row, 6)};
}

std::optional<PageEnd> page_end_in(const MysqlRow& row, const ImportQuery& query) {
    // A time, or a sequence: never empty unless it is NULL.
    if (row.bytes(row.columns() - 1).empty()) return std::nullopt;
    if (query.changed_since) return PageEnd{.cell = {}, .changed = time_in(row, 2)};
    return PageEnd{.cell = cell_in(row, 2), .changed = {}};
}

ImportQuery rest_of(ImportQuery query, PageEnd end) {
    if (query.changed_since)
        query.changed_since = end.changed + std::chrono::milliseconds{1};
    else
        query.after = std::move(end.cell);
    return query;
}

GlobalListing::Component component_in(const MysqlRow& row) {
    return {.region = std::string(row.bytes(0)),
            .count = count_in(row, 1),
            .age = std::chrono::milliseconds{row.number(2)}};
}

}  // namespace

MysqlGlobalStore::MysqlGlobalStore(MysqlGlobalOptions options)
    : region_(std::move(options.region)),
      commit_within_(options.commit_within),
      retry_period_(options.retry_period),
      connection_(std::move(options.server)) {}

std::optional<StoreFailure> MysqlGlobalStore::make_ready(CommitMode mode) {
    if (!connection_.is_connected()) {
        if (auto failure = connect()) return failure;
        mode_ = CommitMode::kAutomatic;
    }
    if (mode == mode_) return std::nullopt;
    if (auto failure =
            run_on_connection(mode == CommitMode::kManual ? manual_commit_statement(commit_within_)
                                                          : automatic_commit_statement()))
        return failure;
    mode_ = mode;
    return std::nullopt;
}

std::optional<StoreFailure> MysqlGlobalStore::connect() {
    if (auto failure = connection_.connect()) return converted(*std::move(failure));
    auto failure = check_mysql_schema(connection_);
    if (!failure) failure = read_most_bytes();
    if (failure) {
        // The next call looks again.
        connection_.disconnect();
        return converted(*std::move(failure));
    }
    ++connections_;
    return std::nullopt;
}

std::optional<StoreFailure> MysqlGlobalStore::run_on_connection(const std::string& statement) {
    auto changed = connection_.run(statement);
    auto* const failure = std::get_if<MysqlFailure>(&changed);
    return failure == nullptr ? std::nullopt : std::optional(converted(std::move(*failure)));
}

std::optional<MysqlFailure> MysqlGlobalStore::read_most_bytes() {
    auto bytes = connection_.number("SELECT @@max_allowed_packet");
    if (auto* const failure = std::get_if<MysqlFailure>(&bytes)) return std::move(*failure);
    most_bytes_ = static_cast<std::size_t>(std::get<0>(bytes).value_or(0));
    return std::nullopt;
}

StoreResult<std::uint64_t> MysqlGlobalStore::run(const std::string& statement) {
    if (auto failure = make_ready()) return *std::move(failure);
    auto changed = connection_.run(statement);
    if (auto* const failure = std::get_if<MysqlFailure>(&changed))
        return converted(std::move(*failure));
    return std::get<0>(changed);
}

std::optional<StoreFailure> MysqlGlobalStore::query(const std::string& statement,
                                                    const MysqlConnection::Visit& visit) {
    if (auto failure = make_ready()) return failure;
    if (auto failure = connection_.query(statement, visit)) return converted(*std::move(failure));
    return std::nullopt;
}

StoreResult<PublishEnd> MysqlGlobalStore::publish(std::span<const RegionCount> rows,
                                                  const Visit& visit) {
    PublishEnd end;
    if (!rows.empty()) {
        if (auto failure = lift(rows, visit, end)) return *std::move(failure);
        return end;
    }
    const auto marked = run(mark_region_statement(region_));
    if (const auto* const failure = std::get_if<StoreFailure>(&marked)) return *failure;
    static_cast<void>(read_components(components_statement({}), visit, end));
    return end;
}

StoreResult<PublishEnd> MysqlGlobalStore::read(std::span<const RegionCount> rows,
                                               const Visit& visit) {
    if (auto failure = make_ready(CommitMode::kManual)) return *std::move(failure);
    PublishEnd end;
    if (auto failure = read_components(components_statement(rows), visit, end))
        return *std::move(failure);
    return end;
}

std::optional<StoreFailure> MysqlGlobalStore::lift(std::span<const RegionCount> rows,
                                                   const Visit& visit,
                                                   PublishEnd& end) {
    if (auto failure = make_ready(CommitMode::kManual)) return failure;
    const std::string statement = publish_statement(region_, rows, stamp());
    const std::string components = components_statement(rows);
    if (std::max(statement.size(), components.size()) + kPacketHeader > most_bytes_)
        return lift_in_halves(rows, visit, end);
    auto failure = run_and_commit(statement);
    if (failure && failure->kind == StoreFailure::Kind::kLost)
        last_loss_ = std::chrono::steady_clock::now();
    // Not every failure of a statement ends its transaction; the end of the connection does.
    if (failure && connection_.is_connected() && run_on_connection("ROLLBACK"))
        connection_.disconnect();
    // A failure is left to the next call.
    if (!failure) static_cast<void>(read_components(components, visit, end));
    return failure;
}

// In a transaction that holds no locks; the next COMMIT ends it.
std::optional<StoreFailure> MysqlGlobalStore::read_components(const std::string& statement,
                                                              const Visit& visit,
                                                              PublishEnd& end) {
    auto failure = connection_.query(statement, [&](const MysqlRow& row) {
        const RegionRow found = row_in(row);
        if (found.region.empty())
            end.regions = static_cast<std::size_t>(found.count);
        else
            visit(found);
    });
    return failure ? std::optional(converted(*std::move(failure))) : std::nullopt;
}

// A retry after a lost answer stamps anew what the first try may have committed late. Which rows
// were lost is not known here, and they may be published after other rows.
Stamp MysqlGlobalStore::stamp() const {
    const bool may_retry =
        last_loss_ && std::chrono::steady_clock::now() - *last_loss_ < retry_period_;
    return may_retry ? Stamp::kGrownAndEqual : Stamp::kGrown;
}

std::optional<StoreFailure> MysqlGlobalStore::run_and_commit(const std::string& statement) {
    const auto began = std::chrono::steady_clock::now();
    auto changed = connection_.run(statement);
    if (auto* const failure = std::get_if<MysqlFailure>(&changed)) {
        // It may be a value of some row that the server does not accept.
        if (failure->kind == MysqlFailure::Kind::kUnknown)
            failure->kind = MysqlFailure::Kind::kRows;
        return converted(std::move(*failure));
    }
    if (std::chrono::steady_clock::now() - began > commit_within_)
        return StoreFailure{StoreFailure::Kind::kBusy,
                            connection_.url().shown() +
                                ": a publish waited too long for locks and was rolled back"};
    return run_on_connection("COMMIT");
}

std::optional<StoreFailure> MysqlGlobalStore::lift_in_halves(std::span<const RegionCount> rows,
                                                             const Visit& visit,
                                                             PublishEnd& end) {
    if (rows.size() == 1)
        return StoreFailure{StoreFailure::Kind::kRows,
                            connection_.url().shown() + ": a row is longer than its " +
                                "max_allowed_packet of " + std::to_string(most_bytes_) +
                                " bytes; raise that"};
    const std::size_t half = rows.size() / 2;
    auto failure = lift(rows.first(half), visit, end);
    return failure ? failure : lift(rows.subspan(half), visit, end);
}

// Where the page ends is found first. Rows that come in between are in the page, or in the next
// one.
StoreResult<ImportEnd> MysqlGlobalStore::import(const ImportQuery& query, const Visit& visit) {
    ImportEnd end;
    std::optional<PageEnd> page_end;
    const auto note = [&](const MysqlRow& row) {
        if (!row.bytes(0).empty()) {
            end.last_stamp = time_in(row, 0);
            end.newest = std::min(*end.last_stamp, time_in(row, 1));
        }
        page_end = page_end_in(row, query);
    };
    if (auto failure = this->query(page_end_statement(query), note)) return *std::move(failure);
    const auto show = [&](const MysqlRow& row) { visit(row_in(row)); };
    if (auto failure = this->query(import_statement(query, page_end), show))
        return *std::move(failure);
    if (page_end) end.rest = rest_of(query, *std::move(page_end));
    return end;
}

StoreResult<std::size_t> MysqlGlobalStore::delete_expired(std::chrono::milliseconds min_age,
                                                          std::size_t at_most) {
    return run(delete_statement(min_age, at_most));
}

StoreResult<std::vector<GlobalListing>> MysqlGlobalStore::list(std::span<const CellName> cells) {
    if (auto failure = make_ready()) return *std::move(failure);
    std::vector<GlobalListing> listings;
    for (const CellName& cell : cells) {
        GlobalListing& listing = listings.emplace_back();
        const auto add = [&](const MysqlRow& row) {
            listing.components.push_back(component_in(row));
        };
        if (auto failure = query(list_statement(cell), add)) return *std::move(failure);
    }
    return listings;
}

}  // namespace sluice
