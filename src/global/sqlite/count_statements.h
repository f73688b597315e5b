// The statements on the table of counts in an SQLite file.
#ifndef SLUICE_GLOBAL_SQLITE_COUNT_STATEMENTS_H_
#define SLUICE_GLOBAL_SQLITE_COUNT_STATEMENTS_H_

#include <string>

#include "global/store.h"

namespace sluice::sqlite_sql {

// Parameters: the five of a cell's name, region, count, when the cell ends to matter, and now.
inline constexpr const char* kLift =
    "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, duration_ms, "
    "sequence, region, count, expires_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
    "ON CONFLICT (workspace_id, namespace, identifier, duration_ms, sequence, region) "
    "DO UPDATE SET count = excluded.count, updated_at = max(updated_at, excluded.updated_at) "
    "WHERE excluded.count > count";

// Parameters: the time, and how many at most.
inline constexpr const char* kDelete =
    "DELETE FROM ratelimit_window_counts WHERE pk IN (SELECT pk FROM ratelimit_window_counts "
    "WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)";

// Parameters: the five of a cell's name. Columns: region, count, when it changed.
inline constexpr const char* kList =
    "SELECT region, count, updated_at FROM ratelimit_window_counts WHERE workspace_id = ?1 AND "
    "namespace = ?2 AND identifier = ?3 AND duration_ms = ?4 AND sequence = ?5 ORDER BY region";

// Parameters: region, and now.
inline constexpr const char* kMarkRegion =
    "INSERT INTO ratelimit_regions (region, seen_at) VALUES (?1, ?2) "
    "ON CONFLICT (region) DO UPDATE SET seen_at = max(seen_at, excluded.seen_at)";

// How many regions were marked after a time.
inline constexpr const char* kCountRegions =
    "SELECT count(*) FROM ratelimit_regions WHERE seen_at > ?1";

// When a component last changed; 0 if there is none.
inline constexpr const char* kNewest =
    "SELECT coalesce(max(updated_at), 0) FROM ratelimit_window_counts";

// Where a page ends: no row if it is the last one. Parameters: where the query has them, 3
// changed_since, 4 to 8 the cell that it follows. Columns: the five of a cell's name, or the time
// of an incremental import.
std::string page_end_statement(const ImportQuery& query);

// The components of a page. Parameters: 2 living_at, those of page_end_statement(), and, if the
// page has an end, 9 to 13 its last cell, or 9 its last time. Columns: the five of a cell's name,
// region and count.
enum class HasEnd { kNo, kYes };
std::string import_statement(const ImportQuery& query, HasEnd has_end);

}  // namespace sluice::sqlite_sql

#endif  // SLUICE_GLOBAL_SQLITE_COUNT_STATEMENTS_H_
