// The Lua scripts that run in Redis.
//
// A cell is a hash with one field per owner, and the field `total`, the sum of all fields. An owner
// is a node (`node`), or an incarnation of it (`node.7`); beside such a one, `node` is the sum of
// the node's earlier incarnations. The field `lost` is what its region had spent, as a node knew,
// beyond the components that have come back since the cell was lost. Version 0.2.0 added the
// components of nodes that had stopped to a field `stopped`.
//
// Lua's numbers are doubles, exact for all counts. Redis prints those that a script passes to a
// command with 17 digits; Lua itself would make texts like 9.007e+15 of large ones, so no script
// does that.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_SCRIPTS_H_
#define SLUICE_REGIONAL_REDIS_REDIS_SCRIPTS_H_

#include <array>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr std::string_view kTotalField = "total";
inline constexpr std::string_view kLostField = "lost";

struct RedisScript {
    std::string text;
    std::string sha1;  // the name that EVALSHA takes, in hexadecimal
};

// Lifts this node's components of many cells, as OriginCell::lift() in regional/origin_cell.h does.
//   KEYS  the cells
//   ARGV  per cell: owner, component, count of the peers, lifetime
// Returns total and component of each cell, in the order of KEYS, and how many cells lacked counts
// that the node had read. The total is the sum of the components; where counts are lost, it is a
// pair of that and the field `total`. If a key holds something else than a cell, the error stands
// in the place of its total, and the other keys are written all the same.
const RedisScript& sync_script();

// Lifts the components, and decides the queued requests of one key, as decide_at_origin() in
// regional/origin.h does.
//   KEYS  the current cell, the previous cell
//   ARGV  owner, duration, until when the callers wait, by the server's clock; component, lifetime,
//         count of the peers and extra of the current cell, then of the previous; per request:
//         elapsed, cost, limit
// Returns total and component of each cell as sync does, one character per request (1 if granted, 0
// if not), and how many cells lacked counts that the node had read.
const RedisScript& spend_script();

// Announces this node in the region's set of nodes, by the server's clock.
//   KEYS  the set
//   ARGV  the node, how long a node lives without announcing itself
// Returns the nodes in the set, 1 if this one was absent, and the server's TIME.
const RedisScript& heartbeat_script();

// Writes this node's marker, as the other scripts write cells.
//   KEYS  the marker
//   ARGV  the value of a new marker, its lifetime
// Returns the marker's value: another one than before if it was lost in between.
const RedisScript& marker_script();

// Replaces a node's note and reads all of them, by the server's clock.
//   KEYS  the hash of the notes
//   ARGV  the node, its note, how long a note lives
// Returns node, age in milliseconds and text of each note. Those that are older are deleted.
const RedisScript& note_script();

std::array<const RedisScript*, 5> all_scripts();

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_SCRIPTS_H_
