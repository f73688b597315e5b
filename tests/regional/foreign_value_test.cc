// Something else than counts is stored under the name of one cell: that key alone is decided by
// each node for itself, for as long as that value is there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using server_test::Server;

constexpr std::size_t kNodes = 3;
constexpr int kKeys = 20;
constexpr std::int64_t kLimit = 200;
constexpr std::string_view kBadKey = "carol-7f3a";
// No window ends during the test.
constexpr std::chrono::milliseconds kWindow = std::chrono::hours(24 * 30);

std::size_t lines_with(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1))
        ++count;
    return count;
}

double metric(const Server& server, std::string_view name) {
    return server_test::sum_of(server.get("/metrics").body, name);
}

// Asks one server for the keys of all.
class Client {
  public:
    Client(const Server& server, unsigned seed) : client_(server), random_(seed) {}

    void run(const std::atomic<bool>& stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            const std::string identifier = "k" + std::to_string(random_() % kKeys);
            const LimitResult result =
                client_.ask({.identifier = identifier, .limit = kLimit, .duration = kWindow});
            if (result.status != 200) ++failed;
            if (result.passed) ++passed[identifier];
            std::this_thread::sleep_for(1ms);
        }
    }

    std::map<std::string, std::int64_t> passed;
    int failed = 0;

  private:
    LimitClient client_;
    std::mt19937 random_;
};

class ForeignValue : public testing::Test {
  protected:
    ForeignValue() {
        for (unsigned i = 0; i < kNodes; ++i) {
            bad_clients_.emplace_back(*servers_[i]);
            clients_.emplace_back(*servers_[i], i);
        }
        for (Client& client : clients_)
            threads_.emplace_back([&] { client.run(stop_); });
    }
    ~ForeignValue() override { stop(); }

    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
    }

    void ask_for_bad_key(std::size_t node) {
        const LimitResult result = bad_clients_[node].ask(
            {.identifier = std::string(kBadKey), .limit = 1'000'000, .duration = kWindow});
        EXPECT_TRUE(result.passed) << result.body;
        ++asked_[node];
    }

    // The cell of the bad key; empty if Redis does not hold it.
    HeldCell bad_cell() {
        for (const std::string& key : held_keys(redis_))
            if (is_cell_key(key) && parts_of(key).identifier == kBadKey)
                return held_cell(redis_, key);
        return {};
    }

    // Asks all nodes for the bad key until they share it.
    bool becomes_shared() {
        return eventually(
            [this] {
                for (std::size_t node = 0; node < kNodes; ++node)
                    ask_for_bad_key(node);
                return bad_cell().owners == kNodes;
            },
            60s);
    }

    void expect_no_outage() {
        for (const auto& server : servers_) {
            EXPECT_EQ(metric(*server, "sluice_origin_unavailable"), 0);
            EXPECT_EQ(server_test::expect_data(server->get("/readyz")),
                      server_test::json(R"({"status":"ready","degraded":[]})"));
        }
    }

    std::vector<double> all(std::string_view name) const {
        std::vector<double> values;
        for (const auto& server : servers_)
            values.push_back(metric(*server, name));
        return values;
    }

    // While `words` have stored a foreign value under the cell's name. Every node logs its
    // `period`th line about it.
    void expect_one_bad_key(const std::vector<std::string>& words, std::size_t period) {
        const auto fallbacks = all("sluice_origin_fallbacks_total");
        const auto errors = all("sluice_origin_key_errors_total");
        const auto outages = all("sluice_origin_outages_total");
        const std::vector<std::int64_t> asked = asked_;
        redis_.command({"DEL", words[1]});
        redis_.command(words);
        // Until it has been tried again.
        EXPECT_TRUE(eventually([&] {
            for (std::size_t node = 0; node < kNodes; ++node)
                ask_for_bad_key(node);
            expect_no_outage();
            const auto now = all("sluice_origin_key_errors_total");
            for (std::size_t node = 0; node < kNodes; ++node)
                if (now[node] < errors[node] + 3) return false;
            return true;
        }));
        const auto fallbacks_now = all("sluice_origin_fallbacks_total");
        for (std::size_t node = 0; node < kNodes; ++node) {
            EXPECT_LE(fallbacks_now[node] - fallbacks[node],
                      static_cast<double>(asked_[node] - asked[node]));
            const std::string log = servers_[node]->program().output();
            EXPECT_EQ(lines_with(log, "origin_key_error"), period) << log;
            EXPECT_EQ(lines_with(log, kBadKey), 0U) << log;
        }
        EXPECT_EQ(all("sluice_origin_outages_total"), outages);
    }

    RedisServer redis_;
    Servers servers_ = make_servers(kNodes, redis_.url());
    std::vector<LimitClient> bad_clients_;
    std::vector<std::int64_t> asked_ = std::vector<std::int64_t>(kNodes);
    std::vector<Client> clients_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

TEST_F(ForeignValue, UnderTheNameOfACellConcernsThatKeyAlone) {
    ASSERT_TRUE(becomes_shared());
    const std::string key = bad_cell().key;
    expect_one_bad_key({"SET", key, "something else"}, 1);
    redis_.command({"DEL", key});
    EXPECT_TRUE(becomes_shared());
    expect_one_bad_key({"HSET", key, "total", "many"}, 2);
    redis_.command({"DEL", key});
    EXPECT_TRUE(becomes_shared());
    expect_no_outage();

    // All that passed is shared again, and the limits of the other keys held all the time.
    stop();
    std::map<std::string, std::int64_t> passed;
    for (const Client& client : clients_) {
        EXPECT_EQ(client.failed, 0);
        for (const auto& [identifier, count] : client.passed)
            passed[identifier] += count;
    }
    for (std::size_t node = 0; node < kNodes; ++node)
        passed[std::string(kBadKey)] += asked_[node];
    EXPECT_TRUE(eventually([&] { return totals_by_identifier(redis_) == passed; }));
    EXPECT_EQ(totals_by_identifier(redis_), passed);
    for (int i = 0; i < kKeys; ++i) {
        const std::int64_t count = passed["k" + std::to_string(i)];
        EXPECT_GT(count, kLimit / 2);
        EXPECT_LE(count, kLimit * 9 / 8);
    }
}

}  // namespace
}  // namespace sluice::regional_test
