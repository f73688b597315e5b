// The nodes of a region, as limiters of this process or as servers.
#ifndef SLUICE_TESTS_SUPPORT_NODES_H_
#define SLUICE_TESTS_SUPPORT_NODES_H_

#include <sluice/limiter.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/server.h"

namespace sluice::regional_test {

// A limiter of the region "test". Throws if its options are rejected.
Limiter make_node(const std::string& origin,
                  std::chrono::milliseconds timeout = std::chrono::seconds(5));
std::vector<Limiter> make_nodes(std::size_t count,
                                const std::string& origin,
                                std::chrono::milliseconds timeout = std::chrono::seconds(5));

// Options of a server that shares its counts through `origin`, with further flags.
server_test::ServerOptions sharing(const std::string& origin,
                                   const std::vector<std::string>& flags = {});
using Servers = std::vector<std::unique_ptr<server_test::Server>>;
Servers make_servers(std::size_t count,
                     const std::string& origin,
                     const std::vector<std::string>& flags = {});

// Blocks until the answer.
Inspection inspect(Limiter& node, const Request& request, UnixTime now);

// Waits until the origin has all counts of the key that `node` admitted; false if that takes too
// long.
bool becomes_synced(Limiter& node, const Request& request, UnixTime now);

}  // namespace sluice::regional_test

#endif  // SLUICE_TESTS_SUPPORT_NODES_H_
