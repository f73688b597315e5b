// The cells that Redis holds, read from Redis itself rather than through a node.
#ifndef SLUICE_TESTS_SUPPORT_HELD_CELLS_H_
#define SLUICE_TESTS_SUPPORT_HELD_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/redis_server.h"

namespace sluice::regional_test {

struct HeldCell {
    std::string key;
    std::int64_t total = 0;
    std::int64_t sum = 0;    // of the components
    std::size_t owners = 0;  // how many components
};

// All keys, found by SCAN: each at least once, in no order.
std::vector<std::string> held_keys(redis_test::RedisServer& redis);

// Whether a key is that of a cell, rather than of the region's nodes or of a marker.
bool is_cell_key(std::string_view key);

// All cells, without the set of nodes and their markers.
std::vector<HeldCell> held_cells(redis_test::RedisServer& redis);

// One cell; empty if Redis does not hold it.
HeldCell held_cell(redis_test::RedisServer& redis, const std::string& key);

// The totals of the cells of all windows, by identifier; -1 if the components of a cell don't sum
// up to its total.
std::map<std::string, std::int64_t> totals_by_identifier(redis_test::RedisServer& redis);

// The total of one identifier; 0 if Redis holds nothing of it.
std::int64_t total_of(redis_test::RedisServer& redis, const std::string& identifier);

// The parts of a cell's key. Throws if it is no such key.
struct KeyParts {
    std::string region;
    std::string workspace;
    std::string name_space;
    std::string identifier;
    std::int64_t duration;  // in milliseconds
    std::int64_t sequence;
};
KeyParts parts_of(std::string_view key);

// The number of reads of cells: HMGET, less those of the scripts.
std::int64_t cells_read(redis_test::RedisServer& redis);

}  // namespace sluice::regional_test

#endif  // SLUICE_TESTS_SUPPORT_HELD_CELLS_H_
