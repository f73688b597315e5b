// A client that sends rate-limit requests to a server, one after the other.
#ifndef SLUICE_TESTS_SUPPORT_LIMIT_CLIENT_H_
#define SLUICE_TESTS_SUPPORT_LIMIT_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "support/http_connection.h"
#include "support/server.h"

namespace sluice::regional_test {

struct Ask {
    std::string name_space = "test";
    std::string identifier;
    std::int64_t limit = 1'000'000;
    std::chrono::milliseconds duration = std::chrono::minutes(10);
    std::int64_t cost = 1;
    // For a server with --test-clock: the time of the decision, in milliseconds since 1970.
    std::optional<std::int64_t> at = {};
};

struct LimitResult {
    int status = 0;
    bool passed = false;
    std::int64_t remaining = 0;
    std::string body;
    std::chrono::steady_clock::duration took{};
};

// Encodes the request; decodes the answer.
std::string request_for(const Ask& ask);
LimitResult read_limit_result(const server_test::Answer& answer);

// Keeps one connection. Owned by one thread.
class LimitClient {
  public:
    explicit LimitClient(const server_test::Server& server) : connection_(server.connect()) {}

    LimitResult ask(const Ask& ask);

  private:
    server_test::Connection connection_;
};

}  // namespace sluice::regional_test

#endif  // SLUICE_TESTS_SUPPORT_LIMIT_CLIENT_H_
