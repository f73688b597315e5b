// The origin in Redis against a real server: what its calls do, and what they leave in Redis.
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

TEST_F(RedisOrigin, HoldsNothingAtFirst) {
    expect_totals(client.read(cell), 0, 0);
    EXPECT_EQ(client.intact, std::vector<bool>{true});
    EXPECT_EQ(client.losses, 0);
}

TEST_F(RedisOrigin, SumsTheComponentsOfNodesAndIncarnations) {
    ASSERT_TRUE(peer.becomes_available());
    expect_current(client.sync(cell, 3), 3, 3);
    expect_current(peer.sync(cell, 4), 7, 4);
    expect_current(client.sync(cell, 2, 7), 9, 2);
    expect_totals(client.read(cell), 9, 3);
}

TEST_F(RedisOrigin, IgnoresRepeatedAndOlderComponents) {
    expect_current(client.sync(cell, 5), 5, 5);
    expect_current(client.sync(cell, 5), 5, 5);
    expect_current(client.sync(cell, 2), 5, 5);
    expect_current(client.sync(cell, 6), 6, 6);
}

TEST_F(RedisOrigin, SyncsBothCellsOfAKey) {
    const auto both = client.sync({components_of(cell, 5, 9)}).front();
    ASSERT_TRUE(both.has_value());
    expect_totals((*both)[0], 5, 5);
    expect_totals((*both)[1], 9, 9);
    EXPECT_EQ(server.command({"HGET", key_of(cell), "total"}).text, "5");
    EXPECT_EQ(server.command({"HGET", key_of(previous_of(cell)), "total"}).text, "9");
    expect_totals(client.read(previous_of(cell)), 9, 9);
}

TEST_F(RedisOrigin, CreatesNothingForAComponentOfZero) {
    ASSERT_TRUE(peer.becomes_available());
    expect_current(client.sync(cell, 0), 0, 0);
    EXPECT_EQ(server.command({"EXISTS", key_of(cell)}).number, 0);
    peer.sync(cell, 4);
    expect_current(client.sync(cell, 0), 4, 0);
    EXPECT_EQ(server.command({"HLEN", key_of(cell)}).number, 2);
    EXPECT_EQ(server.command({"EXISTS", key_of(previous_of(cell))}).number, 0);
}

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
    const auto answers = client.sync(keys);
    ASSERT_EQ(answers.size(), keys.size());
    for (Count i = 0; i < 130; ++i) {
        ASSERT_TRUE(answers[i].has_value());
        expect_totals((*answers[i])[0], i + 1, i + 1);
        expect_totals((*answers[i])[1], 2 * i, 2 * i);
    }
    const std::string stats = server.command({"INFO", "commandstats"}).text;
    EXPECT_NE(stats.find("cmdstat_evalsha:calls=3,"), std::string::npos) << stats;
}

TEST_F(RedisOrigin, AnswersEmptyCalls) {
    EXPECT_TRUE(client.sync(std::vector<KeyComponents>{}).empty());
    EXPECT_TRUE(client.spend({}).empty());
    EXPECT_TRUE(client.retire({}).empty());
    EXPECT_TRUE(client.list({}).empty());
}

TEST_F(RedisOrigin, ABrokenCellDoesNotAffectOtherCells) {
    server.command({"SET", key_of(cell_of("text")), "text"});
    server.command({"HSET", key_of(cell_of("words")), "total", "many"});
    server.command({"HSET", key_of(cell_of("large")), "total", "99999999999999999999999"});
    const auto answers = client.sync({components_of(cell, 1),
                                      components_of(cell_of("text"), 2),
                                      components_of(cell_of("words"), 3),
                                      components_of(cell_of("large"), 0),
                                      components_of(cell_of("bob"), 4)});
    expect_current(answers[0], 1, 1);
    EXPECT_FALSE(answers[1].has_value());
    EXPECT_FALSE(answers[2].has_value());
    expect_current(answers[3], kLargest, 0);
    expect_current(answers[4], 4, 4);
    EXPECT_FALSE(client.spend({spend_of(cell_of("text"), 0, 1, 10)})[0].has_value());
    EXPECT_TRUE(client.is_available);
    ASSERT_EQ(client.refusals.size(), 2U);
    EXPECT_NE(client.refusals[0].find("WRONGTYPE"), std::string::npos) << client.refusals[0];
}

TEST_F(RedisOrigin, SetsALifetimeThatIsLongEnough) {
    const auto sync_for = [&](Count own, Duration lifetime_of_current) {
        KeyComponents components = components_of(cell, own, own);
        components.lifetime = lifetime_of_current;
        client.sync({components});
    };
    // Cells of a minute live up to 7.5 s longer than they matter.
    sync_for(1, Duration(90'000));
    EXPECT_GT(lifetime(cell), 85'000);
    EXPECT_LE(lifetime(cell), 97'500);
    EXPECT_GT(lifetime(previous_of(cell)), 25'000);
    EXPECT_LE(lifetime(previous_of(cell)), 37'500);
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
    EXPECT_LE(longest, 127'500);
}

TEST_F(RedisOrigin, ExpiresCellsThatAreNotWritten) {
    CellName brief = cell;
    brief.duration = Duration(1'000);
    KeyComponents components = components_of(brief, 1);
    components.lifetime = Duration(50);
    client.sync({components});
    client.run_for(300ms);
    expect_totals(client.read(brief), 0, 0);
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

TEST_F(RedisOrigin, DoesNotGrantARepeatedSpendTwice) {
    ASSERT_TRUE(peer.becomes_available());
    const KeySpend spend = spend_of(cell, 0, 3, 4);
    for (int i = 0; i < 3; ++i) {
        const auto grants = client.spend({spend}).front();
        ASSERT_TRUE(grants.has_value());
        EXPECT_EQ(grants->granted, (std::vector<bool>{true, true, true})) << i;
        expect_totals(grants->totals[0], 3, 3);
    }
    expect_totals(peer.read(cell), 3, 0);
}

TEST_F(RedisOrigin, CreatesNothingForADenialOrAPeek) {
    const auto denied = client.spend({spend_of(cell, 0, 2, 0)}).front();
    ASSERT_TRUE(denied.has_value());
    EXPECT_EQ(denied->granted, (std::vector<bool>{false, false}));
    KeySpend peek = spend_of(cell, 0, 1, 10);
    peek.requests[0].ask.cost = 0;
    EXPECT_TRUE(client.spend({peek}).front()->granted[0]);
    EXPECT_EQ(server.command({"EXISTS", key_of(cell)}).number, 0);
}

TEST_F(RedisOrigin, SpendsForManyKeysAtOnce) {
    std::vector<KeySpend> spends;
    for (std::size_t i = 0; i < 100; ++i)
        spends.push_back(spend_of(cell_of(std::to_string(i)), 0, i % 5, 3));
    const auto answers = client.spend(spends);
    for (std::size_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(answers[i].has_value());
        ASSERT_EQ(answers[i]->granted.size(), i % 5);
        expect_totals(answers[i]->totals[0], std::min<Count>(i % 5, 3), std::min<Count>(i % 5, 3));
    }
}

TEST_F(RedisOrigin, FoldsTheComponentsOfANodeThatStops) {
    ASSERT_TRUE(peer.becomes_available());
    client.sync({components_of(cell, 3, 5)});
    peer.sync(cell, 4);
    for (int i = 0; i < 2; ++i) {
        const auto retired = client.retire({components_of(cell, 3, 5)}).front();
        ASSERT_TRUE(retired.has_value());
        expect_totals((*retired)[0], 7, 0);
        expect_totals((*retired)[1], 5, 0);
    }
    peer.retire({components_of(cell, 4)});
    const auto listings = client.list({cell, previous_of(cell)});
    ASSERT_TRUE(listings[0] && listings[1]);
    EXPECT_EQ(listings[0]->total, 7U);
    ASSERT_EQ(listings[0]->components.size(), 1U);
    EXPECT_EQ(listings[0]->components[0].owner, "stopped");
    EXPECT_EQ(listings[0]->components[0].count, 7U);
    ASSERT_EQ(listings[1]->components.size(), 1U);
    EXPECT_EQ(listings[1]->components[0].count, 5U);
    EXPECT_GT(lifetime(cell), 100'000);
}

TEST_F(RedisOrigin, RetiringAnAbsentComponentChangesNothing) {
    const auto retired = client.retire({components_of(cell, 3)}).front();
    expect_current(retired, 0, 0);
    EXPECT_EQ(server.command({"EXISTS", key_of(cell)}).number, 0);
}

TEST_F(RedisOrigin, ListsTheComponentsOfACell) {
    client.sync(cell, 3);
    client.sync(cell, 4, 9);
    const auto listings = client.list({cell, cell_of("nobody")});
    ASSERT_TRUE(listings[0] && listings[1]);
    EXPECT_EQ(listings[0]->total, 7U);
    ASSERT_EQ(listings[0]->components.size(), 2U);
    EXPECT_EQ(listings[0]->components[0].owner, client.origin().node());
    EXPECT_EQ(listings[0]->components[0].count, 3U);
    EXPECT_EQ(listings[0]->components[1].owner, owner_name(client.origin().node(), 9));
    EXPECT_EQ(listings[0]->components[1].count, 4U);
    EXPECT_GT(listings[0]->lifetime.count(), 100'000);
    EXPECT_EQ(listings[1]->total, 0U);
    EXPECT_TRUE(listings[1]->components.empty());
    EXPECT_EQ(listings[1]->lifetime.count(), 0);
}

TEST_F(RedisOrigin, KeepsCellsWithHostileNamesApart) {
    const auto named = [](std::string workspace, std::string name_space, std::string identifier) {
        return CellName{std::move(workspace),
                        std::move(name_space),
                        std::move(identifier),
                        Duration(60'000),
                        1};
    };
    std::vector<CellName> cells = {named("a", "b", "c"),
                                   named("a:b", "", "c"),
                                   named("a", "b:c", ""),
                                   named("a,1:b", "c", ""),
                                   named("a", "b,1:c", ""),
                                   named("A", "b", "c"),
                                   named("a", "b", "C"),
                                   named("a", "b", "c "),
                                   named("a", "b", " c"),
                                   named("a", "b", "c\n"),
                                   named("a", "b", "c\r\n"),
                                   named("a", "b", "{c}"),
                                   named("a", "b", "c}{"),
                                   named("a", "b", "c%7D{"),
                                   named("a", "b", "c%257D{"),
                                   named("a", "b", ""),
                                   named("", "", ""),
                                   named("a", "b", std::string("c\0", 2)),
                                   named("a", "b", "\xff\xfe"),
                                   named("a", "b", std::string(512, 'x')),
                                   named("a", "b", "c,60000}:1"),
                                   named("a", "b", std::string(511, 'x') + "y")};
    cells.push_back(cells[0]);
    cells.back().sequence = 11;
    cells.push_back(cells[0]);
    cells.back().duration = Duration(600'000);

    std::vector<KeyComponents> keys;
    for (std::size_t i = 0; i < cells.size(); ++i)
        keys.push_back(components_of(cells[i], i + 1));
    client.sync(keys);
    for (std::size_t i = 0; i < cells.size(); ++i)
        expect_totals(client.read(cells[i]), i + 1, i + 1);
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
    server.command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(client.retire({components_of(cell, 3)}).front().has_value());
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
    for (const char* node : {"", "total", "stopped"})
        EXPECT_FALSE(
            open_redis_origin(loop, {.url = *parse_redis_url("redis://localhost"), .node = node}));
}

}  // namespace
}  // namespace sluice::redis_test
