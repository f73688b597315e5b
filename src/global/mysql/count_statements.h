// The statements on ratelimit_window_counts and ratelimit_leases.
#ifndef SLUICE_GLOBAL_MYSQL_COUNT_STATEMENTS_H_
#define SLUICE_GLOBAL_MYSQL_COUNT_STATEMENTS_H_

#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "global/store.h"

namespace sluice {

// Has the session remember what time it is, for the statement that follows: told once for each row,
// it would cost the server a sixth of that.
std::string remember_now_statement();

// Lifts components of `region`, as of the time that is remembered. At least one row.
std::string publish_statement(std::string_view region, std::span<const RegionCount> rows);

// Columns: workspace, namespace, identifier, duration, sequence, foreign, own, when a component of
// the cell changed last, and the server's time.
std::string import_statement(std::string_view region, const ImportQuery& query);

// Deletes rows that expired more than `min_age` ago, by the server's clock.
std::string delete_statement(std::chrono::milliseconds min_age, std::size_t at_most);

// Columns: region, count, age in milliseconds.
std::string list_statement(const CellName& cell);

struct Lease {
    std::string_view work;
    std::string_view holder;
    std::chrono::milliseconds time;
};
// Gives the work to the holder, unless another one has it.
std::string claim_statement(const Lease& lease);
// 1 if the holder has the work.
std::string holds_statement(const Lease& lease);

}  // namespace sluice

#endif  // SLUICE_GLOBAL_MYSQL_COUNT_STATEMENTS_H_
