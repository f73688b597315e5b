#include "global/mysql/count_statements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <utility>

#include "mysql/mysql_connection.h"

namespace sluice {
namespace {

// What names a cell, and the first columns of unique_window_region.
constexpr std::string_view kCell = "workspace_id, namespace, identifier, duration_ms, sequence";

// Milliseconds since 1970 by the server's clock, when the expression is evaluated.
constexpr std::string_view kSqlPresent = "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS UNSIGNED)";

// Of the rows that a statement inserts: assigned by the first of them, since evaluating the clock
// for each row would cost the server a fifth of what it takes to insert it.
constexpr std::string_view kStamp = "@sluice_stamp";

std::string number(UnixTime time) {
    return std::to_string(time.time_since_epoch().count());
}

// With a comma behind it.
void append_number(std::string& sql, std::int64_t number) {
    std::array<char, 24> digits;
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), number);
    sql.append(digits.begin(), end);
    sql += ',';
}

void append_row(std::string& sql,
                std::string_view region,
                const RegionCount& row,
                std::string_view stamp) {
    const CellName& cell = row.cell;
    sql += '(';
    for (const std::string* part : {&cell.workspace, &cell.name_space, &cell.identifier}) {
        append_bytes(sql, *part);
        sql += ',';
    }
    append_number(sql, cell.duration.count());
    append_number(sql, cell.sequence);
    append_bytes(sql, region);
    sql += ',';
    append_number(sql, static_cast<std::int64_t>(row.count));
    append_number(sql, start_of(cell.sequence + 2, cell.duration).time_since_epoch().count());
    sql += stamp;
    sql += ')';
}

// Cells on one side of `cell`. Spelled out, since the server finds no range of an index by a
// comparison of rows.
std::string beyond(const CellName& cell, std::string_view side, std::string_view last) {
    const std::array<std::pair<std::string_view, std::string>, 5> parts = {{
        {"workspace_id", sql_bytes(cell.workspace)},
        {"namespace", sql_bytes(cell.name_space)},
        {"identifier", sql_bytes(cell.identifier)},
        {"duration_ms", std::to_string(cell.duration.count())},
        {"sequence", std::to_string(cell.sequence)},
    }};
    std::string sql;
    for (const auto& [column, value] : parts) {
        const bool is_last = column == parts.back().first;
        sql += "(" + std::string(column) + ' ' + std::string(is_last ? last : side) + ' ' + value;
        if (!is_last) sql += " OR (" + std::string(column) + " = " + value + " AND ";
    }
    return sql + std::string(2 * parts.size() - 1, ')');
}

std::string after(const ImportQuery& query) {
    return query.after ? beyond(*query.after, ">", ">") : "TRUE";
}

std::string is_cell(const CellName& cell) {
    return "workspace_id = " + sql_bytes(cell.workspace) +
           " AND namespace = " + sql_bytes(cell.name_space) +
           " AND identifier = " + sql_bytes(cell.identifier) +
           " AND duration_ms = " + std::to_string(cell.duration.count()) +
           " AND sequence = " + std::to_string(cell.sequence);
}

// Counts end where those of this program do.
std::string components() {
    return "SELECT " + std::string(kCell) + ", region, LEAST(count, " + std::to_string(kMaxCount) +
           ") FROM ratelimit_window_counts";
}

std::string last_of_page(const ImportQuery& query) {
    return " LIMIT " + std::to_string(std::max<std::size_t>(query.page_rows, 1) - 1) + ", 1";
}

}  // namespace

std::string manual_commit_statement(std::chrono::milliseconds idle_timeout) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(idle_timeout);
    return "SET SESSION autocommit = 0 /*M!100300 , idle_write_transaction_timeout = " +
           std::to_string(seconds.count()) + " */";
}

std::string automatic_commit_statement() {
    return "SET SESSION autocommit = 1";
}

// Assignments are made from left to right: `count` is still the old one where updated_at is set. A
// row that exists is stamped when its lock has been acquired, however long that took.
std::string publish_statement(std::string_view region,
                              std::span<const RegionCount> rows,
                              Stamp stamp) {
    constexpr std::size_t kUsualRow = 160;
    std::string sql;
    sql.reserve((rows.size() + 2) * kUsualRow);
    sql += "INSERT INTO ratelimit_window_counts (";
    sql += kCell;
    sql += ", region, count, expires_at, updated_at) VALUES ";
    std::string inserted = std::string(kStamp) + " := " + std::string(kSqlPresent);
    for (const RegionCount& row : rows) {
        append_row(sql, region, row, inserted);
        sql += ',';
        inserted = kStamp;
    }
    sql.back() = ' ';
    sql += "ON DUPLICATE KEY UPDATE updated_at = IF(VALUES(count) ";
    sql += stamp == Stamp::kGrown ? ">" : ">=";
    sql += " count, GREATEST(updated_at, ";
    sql += kSqlPresent;
    sql += "), updated_at), count = GREATEST(count, VALUES(count))";
    return sql;
}

std::string page_end_statement(const ImportQuery& query) {
    const std::string cell(kCell);
    const std::string end =
        query.changed_since
            ? "SELECT updated_at FROM ratelimit_window_counts FORCE INDEX (updated_at_idx) WHERE "
              "updated_at >= " +
                  number(*query.changed_since) + " ORDER BY updated_at"
            : "SELECT " + cell +
                  " FROM ratelimit_window_counts FORCE INDEX (unique_window_region) WHERE " +
                  after(query) + " ORDER BY " + cell;
    return "SELECT newest.at, " + std::string(kSqlNow) +
           ", page_end.* FROM (SELECT MAX(updated_at) AS at FROM ratelimit_window_counts) AS "
           "newest "
           "LEFT JOIN (" +
           end + last_of_page(query) + ") AS page_end ON TRUE";
}

// A page of a full import is a range of the unique key. What does not matter any more is left out
// by the key as well: expires_at is (sequence + 2) * duration_ms, and would have each row looked
// up.
std::string import_statement(const ImportQuery& query, const std::optional<PageEnd>& end) {
    if (!query.changed_since)
        return components() + " FORCE INDEX (unique_window_region) WHERE " + after(query) +
               (end ? " AND " + beyond(end->cell, "<", "<=") : "") + " AND sequence > CAST(" +
               number(query.living_at) + " DIV duration_ms AS SIGNED) - 2";
    return components() +
           " FORCE INDEX (updated_at_idx) WHERE updated_at >= " + number(*query.changed_since) +
           (end ? " AND updated_at <= " + number(end->changed) : "") + " AND expires_at > " +
           number(query.living_at);
}

// Each cell is a range of the unique key. Cells that differ only in their identifiers share a list
// of these: a server plans a thousand of them in a tenth of the time of as many conditions.
std::string components_statement(std::span<const RegionCount> rows) {
    std::string sql =
        "SELECT '', '', '', 0, 0, '', COUNT(*) FROM ratelimit_regions WHERE seen_at > " +
        std::string(kSqlNow) + " - " +
        std::to_string(std::chrono::milliseconds{kRegionMemory}.count());
    std::map<CellName, std::string> identifiers;  // by the other parts of the name
    for (const RegionCount& row : rows) {
        CellName others = row.cell;
        others.identifier.clear();
        std::string& list = identifiers[others];
        list += (list.empty() ? "" : ", ") + sql_bytes(row.cell.identifier);
    }
    bool is_first = true;
    for (const auto& [cell, list] : identifiers) {
        sql += std::exchange(is_first, false)
                   ? " UNION ALL " + components() + " FORCE INDEX (unique_window_region) WHERE "
                   : " OR ";
        sql += "(workspace_id = " + sql_bytes(cell.workspace) +
               " AND namespace = " + sql_bytes(cell.name_space) + " AND identifier IN (" + list +
               ") AND duration_ms = " + std::to_string(cell.duration.count()) +
               " AND sequence = " + std::to_string(cell.sequence) + ")";
    }
    return sql;
}

std::string mark_region_statement(std::string_view region) {
    return "INSERT INTO ratelimit_regions (region, seen_at) VALUES (" + sql_bytes(region) + ", " +
           std::string(kSqlNow) +
           ") ON DUPLICATE KEY UPDATE seen_at = GREATEST(seen_at, VALUES(seen_at))";
}

std::string delete_statement(std::chrono::milliseconds min_age, std::size_t at_most) {
    return "DELETE FROM ratelimit_window_counts WHERE expires_at < " + std::string(kSqlNow) +
           " - " + std::to_string(min_age.count()) + " ORDER BY expires_at LIMIT " +
           std::to_string(at_most);
}

std::string list_statement(const CellName& cell) {
    const std::string now(kSqlNow);
    return "SELECT region, LEAST(count, " + std::to_string(kMaxCount) + "), " + now + " - LEAST(" +
           now + ", updated_at) FROM ratelimit_window_counts WHERE " + is_cell(cell) +
           " ORDER BY region";
}

}  // namespace sluice
