// The statements on the tables of counts and leases in an SQLite file.
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

// Parameters: the work, the holder, until when, and now. It changes a row if the holder has it
// then.
inline constexpr const char* kClaim =
    "INSERT INTO ratelimit_leases (name, holder, expires_at) VALUES (?1, ?2, ?3) "
    "ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at "
    "WHERE holder = excluded.holder OR expires_at <= ?4";

// Parameters: the five of a cell's name. Columns: region, count, when it changed.
inline constexpr const char* kList =
    "SELECT region, count, updated_at FROM ratelimit_window_counts WHERE workspace_id = ?1 AND "
    "namespace = ?2 AND identifier = ?3 AND duration_ms = ?4 AND sequence = ?5 ORDER BY region";

// Parameters: our region, living_at and, where the query has it, changed_since. Columns: the five
// of a cell's name, foreign, own, and when a component changed last.
std::string import_statement(const ImportQuery& query);

}  // namespace sluice::sqlite_sql

#endif  // SLUICE_GLOBAL_SQLITE_COUNT_STATEMENTS_H_
