// Servers of several regions around one MariaDB.
#ifndef SLUICE_TESTS_GLOBAL_REGIONS_H_
#define SLUICE_TESTS_GLOBAL_REGIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/limit_client.h"
#include "support/mariadb_server.h"
#include "support/server.h"

namespace sluice::global_test {

// By the time of the tests' clock: the beginning of an hour, and so of shorter windows.
inline constexpr std::int64_t kNow = 1'600'002'000'000;

// A server of `region` that publishes and imports every `interval`, by the time of its requests.
server_test::ServerOptions in_region(const std::string& region,
                                     const std::string& global,
                                     const std::vector<std::string>& flags = {},
                                     const std::string& interval = "200ms");

// A request against `limit` per minute.
regional_test::Ask ask_for(const std::string& identifier,
                           std::int64_t cost = 1,
                           std::int64_t limit = 10);
bool passes(const server_test::Server& server, const regional_test::Ask& ask);

// What a server holds of a key of a minute's windows: the current one's counts.
struct Knows {
    std::int64_t peers = 0;
    std::int64_t global = 0;
};
Knows known_by(const server_test::Server& server, const std::string& identifier);
// Asks for the key without spending, so that the server holds it.
void peek(const server_test::Server& server,
          const std::string& identifier,
          std::int64_t limit = 10);
// Waits until it knows that other regions spent so much, after a peek.
void await_global(const server_test::Server& server,
                  const std::string& identifier,
                  std::int64_t count,
                  std::int64_t limit = 10);
// Waits until it has imported twice from now on.
void await_imports(const server_test::Server& server);

double metric(const server_test::Server& server, std::string_view name);
// What /readyz calls degraded, as JSON.
std::string degraded(const server_test::Server& server);

// The rows of an identifier, by region.
std::map<std::string, std::int64_t> rows_of(mariadb_test::MariadbServer& mariadb,
                                            const std::string& database,
                                            const std::string& identifier);

}  // namespace sluice::global_test

#endif  // SLUICE_TESTS_GLOBAL_REGIONS_H_
