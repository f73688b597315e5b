// The origin in Redis against a real server: what it counts, and what it keeps.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "redis/origin_client.h"
#include "redis/redis_server.h"
#include "regional/redis/cell_key.h"

namespace sluice::redis_test {
namespace {

constexpr Count kLargest = (Count{1} << 53) - 1;

void expect_totals(const CellAnswer& answer, Count total, Count own) {
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->total, total);
    EXPECT_EQ(answer->own, own);
}

std::string key_of(const CellName& cell) {
    return cell_key("here", cell);
}

class RedisOrigin : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(client.becomes_back()); }

    std::int64_t lifetime() { return server.command({"PTTL", key_of(cell)}).number; }

    RedisServer server;
    OriginClient client{server.url()};
    const CellName cell = cell_of("alice");
};

TEST_F(RedisOrigin, HoldsNothingAtFirst) {
    expect_totals(client.read(cell), 0, 0);
    EXPECT_EQ(client.backs, std::vector<bool>{true});
    EXPECT_EQ(client.forgot, 0);
}

TEST_F(RedisOrigin, SumsTheComponentsOfNodesAndIncarnations) {
    OriginClient other(server.url(), {.node = "other"});
    ASSERT_TRUE(other.becomes_back());
    expect_totals(client.raise(cell, 3), 3, 3);
    expect_totals(other.raise(cell, 4), 7, 4);
    expect_totals(client.raise(cell, 2, 7), 9, 2);
    expect_totals(client.read(cell), 9, 3);
}

TEST_F(RedisOrigin, RepeatedAndOlderComponentsChangeNothing) {
    expect_totals(client.raise(cell, 5), 5, 5);
    expect_totals(client.raise(cell, 5), 5, 5);
    expect_totals(client.raise(cell, 2), 5, 5);
    expect_totals(client.raise(cell, 6), 6, 6);
}

TEST_F(RedisOrigin, AComponentOfZeroAsksOnly) {
    expect_totals(client.raise(cell, 0), 0, 0);
    EXPECT_EQ(server.command({"EXISTS", key_of(cell)}).number, 0);
    OriginClient other(server.url(), {.node = "other"});
    ASSERT_TRUE(other.becomes_back());
    other.raise(cell, 4);
    expect_totals(client.raise(cell, 0), 4, 0);
    EXPECT_EQ(server.command({"HLEN", key_of(cell)}).number, 2);
    server.command({"CONFIG", "RESETSTAT"});
    expect_totals(client.raise({{cell, 0, 0, Duration(60'000), true}}).front(), 4, 0);
    EXPECT_EQ(server.command({"INFO", "commandstats"}).text.find("cmdstat_eval"),
              std::string::npos);
}

TEST_F(RedisOrigin, CountsAreExactUpToTheLargestAndStayThere) {
    expect_totals(client.raise(cell, kLargest - 1), kLargest - 1, kLargest - 1);
    EXPECT_EQ(server.command({"HGET", key_of(cell), "total"}).text, "9007199254740990");
    expect_totals(client.raise(cell, kLargest), kLargest, kLargest);
    expect_totals(client.raise(cell, 5, 1), kLargest, 5);
    EXPECT_EQ(server.command({"HGET", key_of(cell), "total"}).text, "9007199254740991");
}

TEST_F(RedisOrigin, NumbersThatAreTooLargeOrNoneAtAllDoNoHarm) {
    server.command({"HSET", key_of(cell), "total", "99999999999999999999999"});
    expect_totals(client.read(cell), kLargest, 0);
    server.command({"HSET", key_of(cell), "total", "many"});
    EXPECT_FALSE(client.read(cell).has_value());
    server.command({"SET", key_of(cell_of("text")), "text"});
    EXPECT_FALSE(client.read(cell_of("text")).has_value());
    EXPECT_FALSE(client.raise(cell_of("text"), 1).has_value());
    EXPECT_TRUE(client.is_back);
    EXPECT_TRUE(client.whys.empty());
    EXPECT_FALSE(client.refusals.empty());
}

TEST_F(RedisOrigin, ALifetimeIsSetWithTheFirstWriteAndNeverShortened) {
    client.raise({{cell, 0, 1, Duration(30'000)}});
    EXPECT_GT(lifetime(), 25'000);
    EXPECT_LE(lifetime(), 30'000);
    client.raise({{cell, 0, 2, Duration(10'000)}});
    EXPECT_GT(lifetime(), 25'000);
    client.raise({{cell, 0, 2, Duration(90'000)}});
    EXPECT_GT(lifetime(), 85'000);
    EXPECT_LE(lifetime(), 90'000);
    client.raise({{cell, 0, 2, 2 * kMaxDuration}});
    EXPECT_GT(lifetime(), (2 * kMaxDuration).count() - 5'000);
    EXPECT_LE(lifetime(), (2 * kMaxDuration).count());
    server.command({"PERSIST", key_of(cell)});
    client.raise({{cell, 0, 2, Duration(90'000)}});
    EXPECT_GT(lifetime(), 85'000);
}

TEST_F(RedisOrigin, ALifetimeThatIsThoughtGoodIsSetWhereItIsNot) {
    client.raise({{cell, 0, 1, Duration(30'000), true}});
    EXPECT_GT(lifetime(), 25'000) << "nobody wrote the key before";
    client.raise({{cell, 1, 1, Duration(90'000), true}});
    EXPECT_GT(lifetime(), 85'000) << "the owner is new to it";
    server.command({"FLUSHALL"});
    client.raise({{cell, 0, 2, Duration(60'000), true}});
    EXPECT_GT(lifetime(), 55'000);
    server.command({"CONFIG", "RESETSTAT"});
    client.raise({{cell, 0, 3, Duration(60'000), true}});
    EXPECT_EQ(server.command({"INFO", "commandstats"}).text.find("cmdstat_pttl"),
              std::string::npos);
}

TEST_F(RedisOrigin, ExpiresWhatNobodyRaises) {
    client.raise({{cell, 0, 1, Duration(50)}});
    client.run_for(std::chrono::milliseconds(120));
    expect_totals(client.read(cell), 0, 0);
}

TEST_F(RedisOrigin, ListsTheComponentsOfACell) {
    client.raise(cell, 3);
    client.raise(cell, 4, 9);
    const auto listings = client.list({cell, cell_of("nobody")});
    ASSERT_TRUE(listings[0] && listings[1]);
    EXPECT_EQ(listings[0]->total, 7U);
    ASSERT_EQ(listings[0]->components.size(), 2U);
    EXPECT_EQ(listings[0]->components[0].owner, client.origin().node());
    EXPECT_EQ(listings[0]->components[0].count, 3U);
    EXPECT_EQ(listings[0]->components[1].owner, owner_name(client.origin().node(), 9));
    EXPECT_EQ(listings[0]->components[1].count, 4U);
    EXPECT_GT(listings[0]->lifetime.count(), 50'000);
    EXPECT_EQ(listings[1]->total, 0U);
    EXPECT_TRUE(listings[1]->components.empty());
    EXPECT_EQ(listings[1]->lifetime.count(), 0);
}

TEST_F(RedisOrigin, CellsWithHostileNamesStayApart) {
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
                                   named("a", "b", ""),
                                   named("", "", ""),
                                   named("a", "b", std::string("c\0", 2)),
                                   named("a", "b", "\xff\xfe"),
                                   named("a", "b", std::string(512, 'x')),
                                   named("a", "b", "c,60000:1"),
                                   named("a", "b", std::string(511, 'x') + "y")};
    cells.push_back(cells[0]);
    cells.back().sequence = 11;
    cells.push_back(cells[0]);
    cells.back().duration = Duration(600'000);

    std::vector<CellComponent> components;
    for (std::size_t i = 0; i < cells.size(); ++i)
        components.push_back({cells[i], 0, i + 1, Duration(60'000)});
    client.raise(components);
    const auto answers = client.read(cells);
    ASSERT_EQ(answers.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
        expect_totals(answers[i], i + 1, i + 1);
}

TEST_F(RedisOrigin, RegionsDontSeeEachOther) {
    OriginClient elsewhere(server.url(), {.region = "elsewhere", .node = "other"});
    ASSERT_TRUE(elsewhere.becomes_back());
    client.raise(cell, 3);
    expect_totals(elsewhere.read(cell), 0, 0);
}

TEST_F(RedisOrigin, AnswersALargeBatchInItsOrder) {
    std::vector<CellComponent> components;
    for (Count i = 0; i < 3'000; ++i)
        components.push_back({cell_of(std::to_string(i)), 0, i + 1, Duration(60'000)});
    const auto answers = client.raise(components);
    for (Count i = 0; i < 3'000; ++i)
        expect_totals(answers[i], i + 1, i + 1);
    EXPECT_TRUE(client.is_back);
    EXPECT_TRUE(client.whys.empty());
}

TEST_F(RedisOrigin, AnswersAnEmptyCall) {
    EXPECT_TRUE(client.read(std::vector<CellName>{}).empty());
    EXPECT_TRUE(client.raise(std::vector<CellComponent>{}).empty());
    EXPECT_TRUE(client.list({}).empty());
}

TEST_F(RedisOrigin, SurvivesTheLossOfItsScript) {
    client.raise(cell, 1);
    server.command({"SCRIPT", "FLUSH"});
    expect_totals(client.raise(cell, 2), 2, 2);
    expect_totals(client.raise(cell, 3), 3, 3);
    EXPECT_TRUE(client.whys.empty());
    EXPECT_TRUE(client.refusals.empty());
}

TEST_F(RedisOrigin, AServerWithoutMemoryRefusesAndStaysConnected) {
    client.raise(cell, 1);
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    EXPECT_FALSE(client.raise(cell, 2).has_value());
    expect_totals(client.read(cell), 1, 1);
    EXPECT_TRUE(client.is_back);
    ASSERT_EQ(client.refusals.size(), 1U);
    EXPECT_NE(client.refusals[0].find("OOM"), std::string::npos) << client.refusals[0];
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    expect_totals(client.raise(cell, 2), 2, 2);
}

TEST_F(RedisOrigin, MayBeDestroyedInTheMidstOfAnAnswer) {
    int answers = 0;
    for (int i = 0; i < 3; ++i) {
        client.origin().read({{cell, 0}}, [&](const auto&) {
            ++answers;
            client.destroy();
        });
    }
    EXPECT_TRUE(client.run_until([&] { return answers > 0; }));
    client.run_for(std::chrono::milliseconds(50));
    EXPECT_EQ(answers, 1);
}

TEST(RedisOriginUnstarted, MayBeDestroyed) {
    boost::asio::io_context loop;
    const auto origin =
        open_redis_origin(loop, {.url = *parse_redis_url("redis://localhost"), .node = "node"});
    EXPECT_TRUE(origin.has_value());
}

TEST_F(RedisOrigin, MayBeDestroyedWithCallsOutstanding) {
    int answers = 0;
    client.origin().raise({{cell, 0, 1, Duration(1'000)}}, [&](const auto&) { ++answers; });
    client.destroy();
    client.run_for(std::chrono::milliseconds(50));
    EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace sluice::redis_test
