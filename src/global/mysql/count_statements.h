// The statements on ratelimit_window_counts.
#ifndef SLUICE_GLOBAL_MYSQL_COUNT_STATEMENTS_H_
#define SLUICE_GLOBAL_MYSQL_COUNT_STATEMENTS_H_

#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "global/store.h"

namespace sluice {

// Has transactions wait for a COMMIT. A MariaDB server ends the connection of a client that leaves
// one open for longer than `idle_timeout`, rounded up to seconds; MySQL has no such setting.
std::string manual_commit_statement(std::chrono::milliseconds idle_timeout);
// Makes each statement a transaction of its own.
std::string automatic_commit_statement();

// Which components get a new updated_at.
enum class Stamp {
    kGrown,          // those that the statement lifts
    kGrownAndEqual,  // those that have the published count already as well
};
// Lifts components of `region`. At least one row.
std::string publish_statement(std::string_view region,
                              std::span<const RegionCount> rows,
                              Stamp stamp);

// Where a page ends: at a cell of a full import, at a time of an incremental one.
struct PageEnd {
    CellName cell;
    UnixTime changed;
};
// Finds the end of a page by an index alone. One row: when a component last changed (NULL if there
// is none), the server's time, and then the last cell of the page in five columns, or the last time
// of an incremental one; NULL if the page is the last.
std::string page_end_statement(const ImportQuery& query);
// The components of the page up to that end; none: to the last. Columns: workspace, namespace,
// identifier, duration, sequence, region, count.
std::string import_statement(const ImportQuery& query, const std::optional<PageEnd>& end);

// All components of the cells of `rows`, with the same columns; and one row without a name, whose
// count is how many regions were marked within kRegionMemory.
std::string components_statement(std::span<const RegionCount> rows);

// Marks a region as alive at the server's time.
std::string mark_region_statement(std::string_view region);

// Deletes rows that expired more than `min_age` ago, by the server's clock.
std::string delete_statement(std::chrono::milliseconds min_age, std::size_t at_most);

// Columns: region, count, age in milliseconds.
std::string list_statement(const CellName& cell);

}  // namespace sluice

#endif  // SLUICE_GLOBAL_MYSQL_COUNT_STATEMENTS_H_
