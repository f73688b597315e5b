// The parsing of CLUSTER SLOTS and of redirections.
#ifndef SLUICE_REGIONAL_REDIS_CLUSTER_MAP_H_
#define SLUICE_REGIONAL_REDIS_CLUSTER_MAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regional/redis/redis_protocol.h"
#include "url/redis_url.h"

namespace sluice {

// A master and a range of slots that it serves.
struct SlotRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;
    RedisAddress master;
};

// Parses the reply to CLUSTER SLOTS; none if it is something else. A server that does not know the
// host of a master leaves it out: it is `asked_host` then, the one that was asked.
std::optional<std::vector<SlotRange>> read_cluster_slots(const RedisReply& reply,
                                                         const std::string& asked_host);

// "MOVED 3999 127.0.0.1:6381": the slot is there now. "ASK ...": this key is there already.
struct Redirection {
    bool is_final = false;  // MOVED
    std::uint16_t slot = 0;
    RedisAddress target;
};

// None for any other reply.
std::optional<Redirection> read_redirection(const RedisReply& reply, const std::string& asked_host);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_CLUSTER_MAP_H_
