#include "global/regions.h"

#include <chrono>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/http_answer.h"

namespace sluice::global_test {

using regional_test::Ask;
using regional_test::eventually;
using server_test::Server;
using namespace std::chrono_literals;

server_test::ServerOptions in_region(const std::string& region,
                                     const std::string& global,
                                     const std::vector<std::string>& flags,
                                     const std::string& interval) {
    server_test::ServerOptions options{.flags = {"--region",
                                                 region,
                                                 "--global",
                                                 global,
                                                 "--threads",
                                                 "1",
                                                 "--max-keys",
                                                 "10000",
                                                 "--test-clock",
                                                 "--test-global-interval",
                                                 interval}};
    options.flags.insert(options.flags.end(), flags.begin(), flags.end());
    return options;
}

Ask ask_for(const std::string& identifier, std::int64_t cost, std::int64_t limit) {
    return {.identifier = identifier, .limit = limit, .duration = 60s, .cost = cost, .at = kNow};
}

bool passes(const Server& server, const Ask& ask) {
    const regional_test::LimitResult fared = regional_test::LimitClient(server).ask(ask);
    EXPECT_EQ(fared.status, 200) << fared.body;
    return fared.passed;
}

Knows known_by(const Server& server, const std::string& identifier) {
    const boost::json::object body = {
        {"namespace", "test"}, {"identifier", identifier}, {"duration", 60'000}};
    const auto answer = server.ask("/v2/ratelimit.inspect",
                                   boost::json::serialize(body),
                                   {{"X-Test-Time", std::to_string(kNow)}});
    const boost::json::value current = server_test::expect_data(answer).at("current");
    return {.peers = current.at("peers").as_int64(), .global = current.at("global").as_int64()};
}

void peek(const Server& server, const std::string& identifier, std::int64_t limit) {
    static_cast<void>(passes(server, ask_for(identifier, 0, limit)));
}

void await_global(const Server& server,
                  const std::string& identifier,
                  std::int64_t count,
                  std::int64_t limit) {
    peek(server, identifier, limit);
    EXPECT_TRUE(eventually([&] { return known_by(server, identifier).global == count; }))
        << "it knows " << known_by(server, identifier).global << " of " << count;
}

void await_imports(const Server& server) {
    const double before = metric(server, "sluice_global_import_rows_applied_total");
    const auto since = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] {
        const double lag = metric(server, "sluice_global_import_lag_seconds");
        const auto waited = std::chrono::steady_clock::now() - since;
        return waited > 1s && lag >= 0 && lag < 0.5 &&
               metric(server, "sluice_global_import_rows_applied_total") >= before;
    }));
}

double metric(const Server& server, std::string_view name) {
    return server_test::sum_of(server.get("/metrics").body, name);
}

std::string degraded(const Server& server) {
    return boost::json::serialize(server_test::expect_data(server.get("/readyz")).at("degraded"));
}

std::map<std::string, std::int64_t> rows_of(mariadb_test::MariadbServer& mariadb,
                                            const std::string& database,
                                            const std::string& identifier) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& row :
         mariadb.rows("SELECT region, count FROM " + database +
                      ".ratelimit_window_counts WHERE identifier = '" + identifier + "'"))
        counts[row[0]] += std::stoll(row[1]);
    return counts;
}

}  // namespace sluice::global_test
