// What replies say of cells.
#ifndef SLUICE_REGIONAL_REDIS_CELL_REPLY_H_
#define SLUICE_REGIONAL_REDIS_CELL_REPLY_H_

#include <optional>

#include "regional/origin.h"
#include "regional/redis/redis_reply.h"

namespace sluice {

// Counts beyond the largest are the largest. None where something other than a count is held.

// {total, own}, each as a text or a number, or nil where nothing is held. None as well if it is
// something else.
CellAnswer read_totals(const RedisReply& reply);

// The same, or the total alone where `own` was raised to what it is.
CellAnswer read_raised(const RedisReply& reply, Count own);

// The fields of a cell, each followed by its count. Without a lifetime, which is asked for apart.
std::optional<CellListing> read_fields(const RedisReply& reply);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_CELL_REPLY_H_
