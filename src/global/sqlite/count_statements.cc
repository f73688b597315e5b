#include "global/sqlite/count_statements.h"

#include <algorithm>

namespace sluice::sqlite_sql {
namespace {

constexpr const char* kCell = "workspace_id, namespace, identifier, duration_ms, sequence";

std::string after(const ImportQuery& query) {
    return query.after ? "(" + std::string(kCell) + ") > (?4, ?5, ?6, ?7, ?8)" : "1";
}

}  // namespace

std::string page_end_statement(const ImportQuery& query) {
    const std::string cell(kCell);
    const std::string limit =
        " LIMIT 1 OFFSET " + std::to_string(std::max<std::size_t>(query.page_rows, 1) - 1);
    if (query.changed_since)
        return "SELECT updated_at FROM ratelimit_window_counts WHERE updated_at >= ?3 "
               "ORDER BY updated_at" +
               limit;
    return "SELECT " + cell + " FROM ratelimit_window_counts WHERE " + after(query) + " ORDER BY " +
           cell + limit;
}

// A page of a full import is a range of the unique key; the plus keeps SQLite from the index on
// expires_at. The plan of an incremental one is spelled out by INDEXED BY: SQLite, which has no
// statistics of the table, would rather read all of it.
std::string import_statement(const ImportQuery& query, HasEnd has_end) {
    const std::string cell(kCell);
    const std::string columns = "SELECT " + cell + ", region, count FROM ratelimit_window_counts ";
    const bool ends = has_end == HasEnd::kYes;
    if (!query.changed_since)
        return columns + "WHERE " + after(query) +
               (ends ? " AND (" + cell + ") <= (?9, ?10, ?11, ?12, ?13)" : "") +
               " AND +expires_at > ?2";
    return columns + "INDEXED BY updated_at_idx WHERE updated_at >= ?3" +
           (ends ? " AND updated_at <= ?9" : "") + " AND expires_at > ?2";
}

}  // namespace sluice::sqlite_sql
