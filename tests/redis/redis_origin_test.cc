// The origin in Redis against a real server, beyond the contract of all origins: what it leaves in
// Redis.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "regional/redis/redis_keys.h"
#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

constexpr Count kLargest = (Count{1} << 53) - 1;

void expect_totals(const std::optional<CellTotals>& cell, Count total, Count own) {
    ASSERT_TRUE(cell.has_value());
    EXPECT_EQ(cell->total, total);
    EXPECT_EQ(cell->own, own);
}

void expect_current(const KeyAnswer& answer, Count total, Count own) {
    ASSERT_TRUE(answer.has_value());
    expect_totals((*answer)[0], total, own);
}

std::string key_of(const CellName& cell) {
    return cell_key(kRegion, cell);
}

CellName previous_of(CellName cell) {
    --cell.sequence;
    return cell;
}

// Requests of cost 1 and a limit, right at the start of the window.
KeySpend spend_of(const CellName& cell, Count own, std::size_t requests, Count limit) {
    return {.components = components_of(cell, own),
            .requests = std::vector<SpendRequest>(
                requests, {.elapsed = Duration(0), .ask = {.cost = 1, .limit = limit}})};
}

class RedisOrigin : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(client.becomes_available()); }

    std::int64_t lifetime(const CellName& of) {
        return server.command({"PTTL", key_of(of)}).number;
    }

    RedisServer server;
    OriginClient client{server.url()};
    OriginClient peer{server.url(), {.node = "peer"}};
    const CellName cell = cell_of("alice");
};

TEST_F(RedisOrigin, CountsExactlyUpToTheLargestCount) {
    expect_current(client.sync(cell, kLargest - 1), kLargest - 1, kLargest - 1);
    EXPECT_EQ(server.command({"HGET", key_of(cell), "total"}).text, "9007199254740990");
    expect_current(client.sync(cell, kLargest), kLargest, kLargest);
    expect_current(client.sync(cell, 5, 1), kLargest, 5);
    EXPECT_EQ(server.command({"HGET", key_of(cell), "total"}).text, "9007199254740991");
}

TEST_F(RedisOrigin, SyncsManyKeysWithOneCommandPer64) {
    std::vector<KeyComponents> keys;
    for (Count i = 0; i < 130; ++i)
        keys.push_back(components_of(cell_of(std::to_string(i)), i + 1, 2 * i));
    server.command({"CONFIG", "RESETSTAT"});
    client.sync(keys);
    const std::string stats = server.command({"INFO", "commandstats"}).text;
    EXPECT_NE(stats.find("cmdstat_evalsha:calls=3,"), std::string::npos) << stats;
}

TEST_F(RedisOrigin, ABrokenCellDoesNotAffectOtherCells) {
    server.command({"SET", key_of(cell_of("text")), "text"});
    server.command({"HSET", key_of(cell_of("words")), "total", "many"});
    server.command({"HSET", key_of(cell_of("large")), "total", "99999999999999999999999"});
    server.command({"HSET", key_of(cell_of("nan")), "total", "nan"});
    server.command({"HSET", key_of(cell_of("negative")), "total", "-1"});
    server.command({"HSET", key_of(cell_of("other")), "name", "value"});
    const auto answers = client.sync({components_of(cell, 1),
                                      components_of(cell_of("text"), 2),
                                      components_of(cell_of("words"), 3),
                                      components_of(cell_of("large"), 0),
                                      components_of(cell_of("bob"), 4),
                                      components_of(cell_of("nan"), 5),
                                      components_of(cell_of("negative"), 6),
                                      components_of(cell_of("other"), 7)});
    expect_current(answers[0], 1, 1);
    EXPECT_FALSE(answers[1].has_value());
    EXPECT_FALSE(answers[2].has_value());
    expect_current(answers[3], kLargest, 0);
    expect_current(answers[4], 4, 4);
    EXPECT_FALSE(answers[5].key_error.empty());
    EXPECT_FALSE(answers[6].key_error.empty());
    expect_current(answers[7], 7, 7);
    for (const char* const broken : {"text", "words", "nan"}) {
        const auto spent = client.spend({spend_of(cell_of(broken), 0, 1, 10)})[0];
        EXPECT_FALSE(spent.has_value()) << broken;
        EXPECT_FALSE(spent.key_error.empty()) << broken;
    }
    EXPECT_TRUE(client.is_available);
    EXPECT_TRUE(client.refusals.empty()) << client.refusals[0];
    EXPECT_NE(answers[1].key_error.find("WRONGTYPE"), std::string::npos) << answers[1].key_error;
    EXPECT_NE(answers[2].key_error.find("NOTACELL"), std::string::npos) << answers[2].key_error;
    EXPECT_EQ(answers[2].key_error.find("words"), std::string::npos) << "a name is not shown";
}

TEST_F(RedisOrigin, SetsALifetimeThatIsLongEnough) {
    const auto sync_for = [&](Count own, Duration lifetime_of_current) {
        KeyComponents components = components_of(cell, own, own);
        components.lifetime = lifetime_of_current;
        client.sync({components});
    };
    // Cells of a minute live 2 to 9.5 s longer than they matter.
    sync_for(1, Duration(90'000));
    EXPECT_GT(lifetime(cell), 85'000);
    EXPECT_LE(lifetime(cell), 99'500);
    EXPECT_GT(lifetime(previous_of(cell)), 25'000);
    EXPECT_LE(lifetime(previous_of(cell)), 39'500);
    sync_for(16, Duration(70'000));
    EXPECT_GT(lifetime(cell), 85'000) << "a lifetime is never shortened";
    // One that is too short is noticed with one write in sixteen, or by an owner that is new.
    sync_for(32, Duration(200'000));
    EXPECT_GT(lifetime(cell), 195'000);
    sync_for(48, 2 * kMaxDuration);
    EXPECT_GT(lifetime(cell), (2 * kMaxDuration).count() - 5'000);
    server.command({"PERSIST", key_of(cell)});
    client.sync(cell, 1, 7);
    EXPECT_GT(lifetime(cell), 115'000);
    server.command({"CONFIG", "RESETSTAT"});
    client.sync(cell, 49);
    EXPECT_EQ(server.command({"INFO", "commandstats"}).text.find("cmdstat_pttl"),
              std::string::npos);
}

TEST_F(RedisOrigin, SpreadsTheExpiryOfTheCellsOfAWindow) {
    std::vector<KeyComponents> keys;
    for (int i = 0; i < 64; ++i)
        keys.push_back(components_of(cell_of(std::to_string(i)), 1));
    client.sync(keys);
    std::int64_t shortest = INT64_MAX;
    std::int64_t longest = 0;
    for (const KeyComponents& key : keys) {
        shortest = std::min(shortest, lifetime(key.current));
        longest = std::max(longest, lifetime(key.current));
    }
    EXPECT_GT(longest - shortest, 4'000);
    EXPECT_LE(longest, 129'500);
}

TEST_F(RedisOrigin, GrantsWhatFitsInOrder) {
    ASSERT_TRUE(peer.becomes_available());
    peer.sync(cell, 6);
    KeySpend spend = spend_of(cell, 1, 0, 0);
    for (const Count cost : {2U, 5U, 1U, 1U, 0U})
        spend.requests.push_back({Duration(0), {.cost = cost, .limit = 10}});
    const auto grants = client.spend({spend}).front();
    ASSERT_TRUE(grants.has_value());
    EXPECT_EQ(grants->granted, (std::vector<bool>{true, false, true, false, true}));
    expect_totals(grants->totals[0], 10, 4);
    EXPECT_EQ(server.command({"HGET", key_of(cell), client.origin().node()}).text, "4");
    EXPECT_GT(lifetime(cell), 115'000);
}

TEST_F(RedisOrigin, KeepsRegionsApart) {
    OriginClient elsewhere(server.url(), {.region = "elsewhere", .node = "other"});
    ASSERT_TRUE(elsewhere.becomes_available());
    client.sync(cell, 3);
    expect_totals(elsewhere.read(cell), 0, 0);
    client.heartbeat();
    const auto heartbeat = elsewhere.heartbeat();
    ASSERT_TRUE(heartbeat.has_value());
    EXPECT_EQ(heartbeat->nodes, 1U);
}

TEST_F(RedisOrigin, UsesOneKeyPrefixForEverything) {
    client.sync(cell, 3);
    client.heartbeat();
    const Reply keys = server.command({"KEYS", "*"});
    EXPECT_EQ(keys.list.size(), 3U);  // a cell, the nodes, a marker
    for (const Reply& key : keys.list)
        EXPECT_TRUE(key.text.starts_with("sluice:2:{")) << key.text;
}

TEST_F(RedisOrigin, LoadsItsScriptsAgainAfterTheyWereLost) {
    client.sync(cell, 1);
    server.command({"SCRIPT", "FLUSH"});
    expect_current(client.sync(cell, 2), 2, 2);
    server.command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(client.spend({spend_of(cell, 2, 1, 10)}).front().has_value());
    server.command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(client.heartbeat().has_value());
    EXPECT_TRUE(client.failures.empty());
    EXPECT_TRUE(client.refusals.empty());
}

TEST_F(RedisOrigin, MayBeDestroyedDuringAnAnswer) {
    int answers = 0;
    for (int i = 0; i < 3; ++i) {
        client.origin().sync({components_of(cell, 0)}, [&](const auto&) {
            ++answers;
            client.destroy();
        });
    }
    EXPECT_TRUE(client.run_until([&] { return answers > 0; }));
    client.run_for(50ms);
    EXPECT_EQ(answers, 1);
}

TEST_F(RedisOrigin, MayBeDestroyedWithCallsOutstanding) {
    int answers = 0;
    client.origin().sync({components_of(cell, 1)}, [&](const auto&) { ++answers; });
    client.origin().spend({spend_of(cell, 1, 1, 9)}, [&](const auto&) { ++answers; });
    client.origin().heartbeat([&](const auto&) { ++answers; });
    client.destroy();
    client.run_for(50ms);
    EXPECT_EQ(answers, 0);
}

TEST(RedisOriginUnstarted, MayBeDestroyed) {
    boost::asio::io_context loop;
    const auto origin =
        open_redis_origin(loop, {.url = *parse_redis_url("redis://localhost"), .node = "node"});
    EXPECT_TRUE(origin.has_value());
}

TEST(RedisOriginUnstarted, RejectsNodeNamesThatAreFieldNames) {
    boost::asio::io_context loop;
    for (const char* node : {"", "total", "node.7"})
        EXPECT_FALSE(
            open_redis_origin(loop, {.url = *parse_redis_url("redis://localhost"), .node = node}));
}

}  // namespace
}  // namespace sluice::redis_test
