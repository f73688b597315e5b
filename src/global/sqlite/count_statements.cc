#include "global/sqlite/count_statements.h"

namespace sluice::sqlite_sql {
namespace {

constexpr const char* kCell = "workspace_id, namespace, identifier, duration_ms, sequence";

// A sum of whole numbers as a double is exact up to 2^53, and what is above is cut off there: so it
// is never wrong, and can't overflow.
constexpr const char* kSums =
    "CAST(min(total(CASE WHEN region = ?1 THEN 0 ELSE count END), 9007199254740991.0) AS INT), "
    "CAST(min(total(CASE WHEN region = ?1 THEN count ELSE 0 END), 9007199254740991.0) AS INT), "
    "max(updated_at)";

}  // namespace

// An incremental import first finds the cells that changed, then reads all components of each. Its
// plan is spelled out, by INDEXED BY and CROSS JOIN: SQLite, which has no statistics of the table,
// would rather read all of it.
std::string import_statement(const ImportQuery& query) {
    const std::string cell(kCell);
    const std::string columns = cell + ", " + kSums;
    if (!query.changed_since)
        return "SELECT " + columns +
               " FROM ratelimit_window_counts WHERE expires_at > ?2 GROUP BY " + cell;
    return "SELECT " + columns + " FROM (SELECT DISTINCT " + cell +
           " FROM ratelimit_window_counts INDEXED BY updated_at_idx "
           "WHERE updated_at >= ?3 AND expires_at > ?2) "
           "CROSS JOIN ratelimit_window_counts USING (" +
           cell + ") GROUP BY " + cell;
}

}  // namespace sluice::sqlite_sql
