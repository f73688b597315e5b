// What a cell is called in Redis.
#ifndef SLUICE_REGIONAL_REDIS_CELL_KEY_H_
#define SLUICE_REGIONAL_REDIS_CELL_KEY_H_

#include <string>
#include <string_view>

#include "regional/origin.h"

namespace sluice {

// Different for any two cells, whatever bytes their parts hold: each part stands behind its length,
// as in "5:login,".
//
// Redis Cluster places a key by what stands between its first { and the next }, or by the whole key
// where that is nothing. The {} at the front makes it the whole key always: a client that writes
// braces into an identifier can't choose where it goes, nor bring all its keys to one server.
std::string cell_key(std::string_view region, const CellName& cell);

// The key by which a node recognises a Redis that has forgotten. Differs from that of any cell.
std::string marker_key(std::string_view region, std::string_view node);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_CELL_KEY_H_
