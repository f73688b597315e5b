// Many concurrent clients: the costs admitted in answers equal the counts of the server.
#include <atomic>
#include <random>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kMultiLimit = "/v2/ratelimit.multiLimit";
constexpr int kClients = 8;
constexpr int kRequests = 300;
constexpr int kKeys = 5;
constexpr std::int64_t kAllowed = 1500;  // of each key; about half of the requested cost

std::string limit_body(int key, std::int64_t limit, int cost) {
    return R"({"namespace":"crowd","identifier":"k)" + std::to_string(key) + R"(","limit":)" +
           std::to_string(limit) + R"(,"duration":2592000000,"cost":)" + std::to_string(cost) + "}";
}

// The costs that answers admitted, by key.
using Ledger = std::array<std::atomic<std::int64_t>, kKeys>;

void ask_one(Connection& connection, std::mt19937& random, Ledger& ledger) {
    const int key = static_cast<int>(random() % kKeys);
    const int cost = static_cast<int>(random() % 8);
    const auto data = expect_data(connection.ask(post(kLimit, limit_body(key, kAllowed, cost))));
    if (data.at("success").as_bool()) ledger[static_cast<std::size_t>(key)] += cost;
}

void ask_two(Connection& connection, std::mt19937& random, Ledger& ledger) {
    const int first = static_cast<int>(random() % kKeys);
    const int second = static_cast<int>(random() % kKeys);
    const std::string body =
        "[" + limit_body(first, kAllowed, 3) + "," + limit_body(second, kAllowed, 4) + "]";
    const auto data = expect_data(connection.ask(post(kMultiLimit, body)));
    if (!data.at("passed").as_bool()) return;
    ledger[static_cast<std::size_t>(first)] += 3;
    ledger[static_cast<std::size_t>(second)] += 4;
}

void be_client(const Server& server, unsigned seed, Ledger& ledger) {
    std::mt19937 random(seed);
    Connection connection = server.connect();
    for (int i = 0; i < kRequests; ++i) {
        if (i % 3 == 0) {
            ask_two(connection, random, ledger);
        } else {
            ask_one(connection, random, ledger);
        }
    }
}

TEST(Crowd, IsAdmittedAsMuchAsTheServerCounts) {
    const Server server({.flags = {"--threads", "4"}});
    Ledger ledger{};
    std::vector<std::thread> clients;
    for (unsigned seed = 0; seed < kClients; ++seed)
        clients.emplace_back(be_client, std::cref(server), seed, std::ref(ledger));
    for (std::thread& client : clients)
        client.join();

    constexpr std::int64_t kMost = 9'007'199'254'740'991;
    for (int key = 0; key < kKeys; ++key) {
        const auto peek = expect_data(server.ask(kLimit, limit_body(key, kMost, 0)));
        const std::int64_t admitted = ledger[static_cast<std::size_t>(key)];
        EXPECT_EQ(kMost - peek.at("remaining").as_int64(), admitted);
        EXPECT_LE(admitted, kAllowed);
        EXPECT_GT(admitted, kAllowed - 8)
            << "as much was asked for that the limit must be nearly used up";
    }
}

TEST(Crowd, OfThousandsOfConnectionsIsServed) {
    const Server server;
    std::vector<Connection> all;
    for (int i = 0; i < 1000; ++i)
        all.push_back(server.connect());
    const std::string request = post(kLimit, limit_body(9, 600, 1));
    for (Connection& connection : all)
        connection.send(request);
    int passed = 0;
    for (Connection& connection : all)
        passed += expect_data(connection.receive()).at("success").as_bool() ? 1 : 0;
    EXPECT_EQ(passed, 600);
}

}  // namespace
}  // namespace sluice::server_test
