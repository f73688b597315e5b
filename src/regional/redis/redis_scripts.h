// The Lua scripts that run in Redis.
//
// A cell is a hash with one field per owner, the field `stopped` for the components of nodes that
// have stopped, and the field `total`, their sum.
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
inline constexpr std::string_view kStoppedField = "stopped";

struct RedisScript {
    std::string text;
    std::string sha1;  // the name that EVALSHA takes, in hexadecimal
};

// Lifts this node's components of many cells.
//   KEYS  the cells
//   ARGV  per cell: owner, component, lifetime
// Returns total and component of each cell, in the order of KEYS. If a key holds something else
// than a cell, the error stands in the place of its total, and the other keys are written all the
// same.
const RedisScript& sync_script();

// Decides the queued requests of one key, as decide_at_origin() in regional/origin.h does.
//   KEYS  the current cell, the previous cell
//   ARGV  owner, duration; component, lifetime, peers and extra of the current cell, then of the
//         previous; per request: elapsed, cost, limit
// Returns total and component of each cell, and one character per request: 1 if granted, 0 if not.
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

// Moves this node's components of many keys into the field `stopped`.
//   KEYS  per key: the current cell, the previous cell
//   ARGV  per key: owner
// Returns the same as sync.
const RedisScript& retire_script();

// Replaces a node's note and reads all of them, by the server's clock.
//   KEYS  the hash of the notes
//   ARGV  the node, its note, how long a note lives
// Returns node, age in milliseconds and text of each note. Those that are older are deleted.
const RedisScript& note_script();

std::array<const RedisScript*, 6> all_scripts();

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_SCRIPTS_H_
