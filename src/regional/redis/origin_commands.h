// The commands of an origin in Redis, and the parsing of their replies.
#ifndef SLUICE_REGIONAL_REDIS_ORIGIN_COMMANDS_H_
#define SLUICE_REGIONAL_REDIS_ORIGIN_COMMANDS_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regional/origin.h"
#include "regional/redis/redis_protocol.h"

namespace sluice {

using CellKeys = std::array<std::string, 2>;  // of the current and the previous cell

// A key of a call, with the names that Redis knows its cells by.
struct KeyedComponents {
    CellKeys keys;
    const KeyComponents* components;
};

// Where a key stands in a call to the origin, and how many cells of it Redis is asked for.
struct CellsOfKey {
    std::size_t index;
    std::size_t cells;
};

// Keys that one script call is about.
struct KeyGroup {
    std::vector<KeyedComponents> keys;
    std::vector<CellsOfKey> cells;
};
// A script call about as many keys keeps Redis busy for some hundred microseconds.
inline constexpr std::size_t kKeysPerCall = 64;

enum class KeyPlacement : std::uint8_t { kOneServer, kBySlot };
// Groups of up to kKeysPerCall keys: of one slot each if servers hold keys by their slots. They
// refer to `keys`.
std::vector<KeyGroup> group_keys(std::string_view region,
                                 const std::vector<KeyComponents>& keys,
                                 KeyPlacement placement);

// Each calls a script by its SHA-1.
std::string sync_command(const std::string& node, std::span<const KeyedComponents> keys);
// `expires` is the time by the server's clock at which the callers cease to wait.
inline constexpr std::chrono::milliseconds kNeverExpires{kMaxCount};
std::string spend_command(const std::string& node,
                          const CellKeys& keys,
                          const KeySpend& spend,
                          std::chrono::milliseconds expires);
std::string heartbeat_command(std::string_view node_set, std::string_view node);
struct NoteOfNode {
    std::string_view node;
    std::string_view text;
    bool reads;  // whether the reply has the notes of all nodes
};
std::string note_command(std::string_view notes, const NoteOfNode& note);
// A new marker gets a random value.
std::string marker_command(std::string_view marker);

// Counts beyond the largest are read as the largest. Each function returns nothing for a reply that
// can't be one to its command.

// The reply to sync: the totals of each key, or the error that Redis met as its key_error.
struct SyncReply {
    std::vector<KeyAnswer> answers;
    bool has_lost = false;  // Redis lacked counts that it had acknowledged
};
std::optional<SyncReply> read_totals(const RedisReply& reply, std::span<const CellsOfKey> keys);

struct SpendReply {
    KeyGrants grants;
    bool has_lost = false;
};
std::optional<SpendReply> read_grants(const RedisReply& reply, std::size_t requests);

struct HeartbeatReply {
    std::uint32_t nodes;
    bool was_absent;
    std::chrono::milliseconds time;  // since 1970, by the server's clock
};
std::optional<HeartbeatReply> read_heartbeat(const RedisReply& reply);
std::optional<std::vector<NodeNote>> read_notes(const RedisReply& reply);

// The reply to HGETALL. Its lifetime is left at 0.
std::optional<CellListing> read_listing(const RedisReply& reply);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_ORIGIN_COMMANDS_H_
