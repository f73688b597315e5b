// The names of keys in Redis (version 2 of the stored layout), and where a Cluster places them.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_KEYS_H_
#define SLUICE_REGIONAL_REDIS_REDIS_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "regional/origin.h"

namespace sluice {

// A cell is a hash with the key
//
//     sluice:2:{2:eu,7:default,5:login,5:alice,60000}:28000000
//
// The braces hold region, workspace, namespace, identifier and duration, the first four each behind
// its length, so that no two keys share a name whatever bytes they hold. Behind them stands the
// sequence. Redis Cluster places a key by what stands between the braces, its hash tag, so that all
// cells of a key are in one slot; % and } are escaped as %25 and %7D, so that no identifier can end
// its tag and choose a slot.
std::string cell_key(std::string_view region, const CellName& cell);

// The keys of a cell and of the one before.
std::array<std::string, 2> cell_keys(std::string_view region, const CellName& current);

// The sorted set of the region's nodes: sluice:2:{2:eu}:nodes.
// The hash with the notes of the nodes.
std::string notes_key(std::string_view region);

std::string node_set_key(std::string_view region);

// The hash by which a node notices that a server has lost its data:
// sluice:2:{2:eu,16:0123456789abcdef,0}:marker. Each `number` places it in another slot.
std::string marker_key(std::string_view region, std::string_view node, std::size_t number);

// How long Redis keeps a cell that matters for `lifetime`: up to an eighth of its duration longer,
// at most a minute, depending on the key. So the cells of a window don't all expire at once.
Duration spread_lifetime(std::string_view cell_key, Duration duration, Duration lifetime);

inline constexpr std::size_t kClusterSlots = 16384;

// CRC-16/XMODEM, as Redis Cluster specifies it.
std::uint16_t crc16(std::string_view bytes);

// The slot of a key: that of its hash tag, or of the whole key if it has none.
std::uint16_t cluster_slot(std::string_view key);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_KEYS_H_
