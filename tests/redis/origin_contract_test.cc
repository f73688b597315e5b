// The contract of Origin, for its three implementations: in memory, in an SQLite file, in Redis.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "regional/memory_origin.h"
#include "regional/sqlite/sqlite_origin.h"
#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// An empty origin that nodes share.
class OriginKit {
  public:
    virtual ~OriginKit() = default;
    // The connection of the node of that name. Connections of other nodes may be closed by it.
    virtual OriginClient& node(const std::string& name) = 0;
};

// Its connections stay open.
class SharedKit : public OriginKit {
  public:
    OriginClient& node(const std::string& name) override {
        auto& client = clients_[name];
        if (!client) client = open(name);
        return *client;
    }

  private:
    virtual std::unique_ptr<OriginClient> open(const std::string& name) = 0;
    std::map<std::string, std::unique_ptr<OriginClient>> clients_;
};

class MemoryKit final : public SharedKit {
    std::unique_ptr<OriginClient> open(const std::string&) override {
        return std::make_unique<OriginClient>(
            [this](boost::asio::io_context&) { return region_->join(); });
    }
    const std::shared_ptr<MemoryRegion> region_ = MemoryRegion::create();
};

class RedisKit final : public SharedKit {
    std::unique_ptr<OriginClient> open(const std::string& name) override {
        return std::make_unique<OriginClient>(server_.url(), RedisOptions{.node = name});
    }
    RedisServer server_;
};

// One process opens the file at a time: each call of another node finds what the last one left.
class SqliteKit final : public OriginKit {
  public:
    SqliteKit() {
        std::string folder = testing::TempDir() + "sluice_origin_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    ~SqliteKit() override {
        client_.reset();
        std::filesystem::remove_all(folder_);
    }
    SqliteKit(const SqliteKit&) = delete;
    SqliteKit& operator=(const SqliteKit&) = delete;

    OriginClient& node(const std::string& name) override {
        if (std::exchange(name_, name) == name) return *client_;
        client_.reset();
        client_ = std::make_unique<OriginClient>([&](boost::asio::io_context& loop) {
            SqliteOriginOptions options{
                .path = folder_ / "counts.db", .region = kRegion, .node = name};
            options.timeout = 20s;
            return std::move(open_sqlite_origin(loop, options).value());
        });
        return *client_;
    }

  private:
    std::filesystem::path folder_;
    std::string name_;
    std::unique_ptr<OriginClient> client_;
};

void expect_totals(const CellTotals& cell, Count total, Count own) {
    EXPECT_EQ(cell.total, total);
    EXPECT_EQ(cell.own, own);
}

struct Implementation {
    std::string name;
    std::unique_ptr<OriginKit> (*make)();
};

class OriginContract : public testing::TestWithParam<Implementation> {
  protected:
    OriginClient& node(const std::string& name) {
        OriginClient& client = kit_->node(name);
        EXPECT_TRUE(client.becomes_available());
        return client;
    }
    OriginClient& a() { return node("a"); }
    OriginClient& b() { return node("b"); }

    // Each returns the counts of the current cell afterwards.
    static CellTotals lift(OriginClient& client,
                           const CellName& cell,
                           Count own,
                           Incarnation incarnation = 0) {
        return client.sync(cell, own, incarnation).value()[0];
    }
    static CellTotals read(OriginClient& client, const CellName& cell) {
        return client.read(cell).value();
    }
    static KeyTotals sync(OriginClient& client, const KeyComponents& key) {
        return client.sync({key}).at(0).value();
    }
    static CellListing list(OriginClient& client, const CellName& cell) {
        return client.list({cell}).at(0).value();
    }
    // Spends `costs` one after the other, of a limit of 10, a second into the window.
    static KeyGrants spend(OriginClient& client,
                           KeyComponents key,
                           const std::vector<Count>& costs) {
        KeySpend spend{.components = std::move(key), .requests = {}};
        for (const Count cost : costs)
            spend.requests.push_back({.elapsed = 1s, .ask = {.cost = cost, .limit = 10}});
        return client.spend({spend}).at(0).value();
    }

    const CellName cell_ = cell_of("alice");
    const CellName previous_ = [this] {
        CellName cell = cell_;
        --cell.sequence;
        return cell;
    }();

  private:
    const std::unique_ptr<OriginKit> kit_ = GetParam().make();
};

TEST_P(OriginContract, IsAvailableAndEmptyAtFirst) {
    expect_totals(read(a(), cell_), 0, 0);
    EXPECT_EQ(a().intact, std::vector<bool>{true});
    EXPECT_EQ(a().losses, 0);
}

TEST_P(OriginContract, SumsTheComponentsOfNodes) {
    expect_totals(lift(a(), cell_, 3), 3, 3);
    expect_totals(lift(b(), cell_, 4), 7, 4);
    expect_totals(read(a(), cell_), 7, 3);
}

// The component of an incarnation 0 is the base of its node afterwards.
TEST_P(OriginContract, AddsEarlierIncarnationsToTheBaseOfTheirNode) {
    lift(b(), cell_, 1);
    lift(a(), cell_, 5);
    expect_totals(lift(a(), cell_, 2, 7), 8, 2);
    expect_totals(lift(a(), cell_, 3, 4'294'967'295U / 2), 11, 3);
    expect_totals(read(a(), cell_), 11, 7);
    EXPECT_EQ(list(a(), cell_).components.size(), 3U);
    expect_totals(lift(a(), cell_, 4, 4'294'967'295U / 2), 12, 4);
}

TEST_P(OriginContract, ARepeatedOrOutdatedComponentChangesNothing) {
    expect_totals(lift(a(), cell_, 5), 5, 5);
    expect_totals(lift(a(), cell_, 5), 5, 5);
    expect_totals(lift(a(), cell_, 2), 5, 5);
    expect_totals(lift(a(), cell_, 6), 6, 6);
}

TEST_P(OriginContract, SyncsBothCellsOfAKey) {
    sync(b(), components_of(cell_, 5, 7));
    const KeyTotals totals = sync(a(), components_of(cell_, 1, 2));
    expect_totals(totals[0], 6, 1);
    expect_totals(totals[1], 9, 2);
    expect_totals(read(a(), previous_), 9, 2);
}

TEST_P(OriginContract, AnswersInTheOrderOfItsKeys) {
    std::vector<KeyComponents> keys;
    for (Count i = 0; i < 130; ++i)
        keys.push_back(components_of(cell_of(std::to_string(i)), i + 1, 2 * i));
    keys.push_back(keys[4]);
    keys.back().incarnation = 1;
    const auto answers = a().sync(keys);
    ASSERT_EQ(answers.size(), keys.size());
    for (Count i = 0; i < 130; ++i) {
        expect_totals(answers[i].value()[0], i + 1, i + 1);
        expect_totals(answers[i].value()[1], 2 * i, 2 * i);
    }
    expect_totals(answers.back().value()[0], 10, 5);
}

TEST_P(OriginContract, AnswersEmptyCalls) {
    EXPECT_TRUE(a().sync(std::vector<KeyComponents>{}).empty());
    EXPECT_TRUE(a().spend({}).empty());
    EXPECT_TRUE(a().list({}).empty());
}

TEST_P(OriginContract, StoresNothingForAReadADenialOrAPeek) {
    lift(b(), cell_of("bob"), 4);
    expect_totals(lift(a(), cell_of("bob"), 0), 4, 0);
    EXPECT_EQ(list(a(), cell_of("bob")).components.size(), 1U);
    expect_totals(lift(a(), cell_, 0), 0, 0);
    EXPECT_EQ(spend(a(), components_of(cell_, 0), {11, 0}).granted, (std::vector{false, true}));
    for (const CellName& cell : {cell_, previous_}) {
        const CellListing listing = list(a(), cell);
        EXPECT_TRUE(listing.components.empty());
        EXPECT_EQ(listing.lifetime, 0s);
    }
}

TEST_P(OriginContract, KeepsCellsApartThatDifferInAnyPart) {
    const auto named = [](std::string workspace, std::string name_space, std::string identifier) {
        return CellName{.workspace = std::move(workspace),
                        .name_space = std::move(name_space),
                        .identifier = std::move(identifier),
                        .duration = 1min,
                        .sequence = 10};
    };
    std::vector<CellName> cells = {named("wn", "", "x"),
                                   named("", "wn", "x"),
                                   named("w", "nx", ""),
                                   named("w", "", "nx"),
                                   named("w:n", "", "x"),
                                   named("w1:n", "", "x"),
                                   named("w,1:n", "x", ""),
                                   named("w", "n1:x", ""),
                                   named("w", "n:x", ""),
                                   named("w", "n,1:x", ""),
                                   named("w-n", "n", "x"),
                                   named("w", "n-n", "x"),
                                   named("W", "n", "x"),
                                   named("", "", ""),
                                   named(std::string(512, 'x'), std::string(512, 'x'), "")};
    for (const std::string& identifier : {"x"s,
                                          "X"s,
                                          "x "s,
                                          " x"s,
                                          "x\n"s,
                                          "x\r\n"s,
                                          "x\0"s,
                                          "\0x"s,
                                          ""s,
                                          "\0"s,
                                          "1:x"s,
                                          "x60000:10"s,
                                          "{x}"s,
                                          "x}{"s,
                                          "x%7D{"s,
                                          "x%257D{"s,
                                          "x,60000}:10"s,
                                          "\xFF"s,
                                          "\xFF\xFE"s,
                                          "\xC3\xA9"s,
                                          "\xC3\xA9 "s,
                                          "e\xCC\x81"s,
                                          "' OR 1 --"s,
                                          std::string(512, 'x'),
                                          std::string(511, 'x'),
                                          std::string(511, 'x') + '\0',
                                          std::string(511, 'x') + 'X'})
        cells.push_back(named("w", "n", identifier));
    for (const auto& [duration, sequence] : {std::pair{60'000, 11},
                                             {60'000, 1},
                                             {60'000, -10},
                                             {60'001, 10},
                                             {6'000, 10},
                                             {600'000, 1}}) {
        cells.push_back(named("w", "n", "x"));
        cells.back().duration = Duration{duration};
        cells.back().sequence = sequence;
    }
    std::vector<KeyComponents> keys;
    for (const CellName& cell : cells)
        keys.push_back(components_of(cell, keys.size() + 1));
    a().sync(keys);
    for (std::size_t i = 0; i < cells.size(); ++i)
        expect_totals(read(a(), cells[i]), i + 1, i + 1);
}

TEST_P(OriginContract, SumsSaturateAtTheLargestCount) {
    expect_totals(lift(a(), cell_, kMaxCount - 1), kMaxCount - 1, kMaxCount - 1);
    expect_totals(lift(a(), cell_, kMaxCount), kMaxCount, kMaxCount);
    expect_totals(lift(b(), cell_, kMaxCount), kMaxCount, kMaxCount);
    EXPECT_EQ(list(b(), cell_).total, kMaxCount);
    expect_totals(read(a(), cell_), kMaxCount, kMaxCount);
}

TEST_P(OriginContract, SpendsWhatFitsOnTopOfAllNodes) {
    lift(b(), cell_, 4);
    const KeyGrants grants = spend(a(), components_of(cell_, 1), {3, 3, 2});
    EXPECT_EQ(grants.granted, (std::vector{true, false, true}));
    expect_totals(grants.totals[0], 10, 6);
    expect_totals(read(b(), cell_), 10, 4);
    EXPECT_EQ(spend(b(), components_of(cell_, 4), {1, 0}).granted, (std::vector{false, true}));
    expect_totals(read(a(), cell_), 10, 6);
}

TEST_P(OriginContract, SpendCountsAndLiftsThePreviousCell) {
    sync(b(), components_of(cell_, 0, 60));
    const KeyGrants grants = spend(a(), components_of(cell_, 0, 1), {0});
    EXPECT_EQ(grants.granted, std::vector{false});
    expect_totals(grants.totals[1], 61, 1);
    expect_totals(read(a(), previous_), 61, 1);
}

TEST_P(OriginContract, AGrantWhoseAnswerWasLostIsNotAddedAgain) {
    for (int i = 0; i < 3; ++i) {
        const KeyGrants grants = spend(a(), components_of(cell_, 0), {4, 2});
        EXPECT_EQ(grants.granted, (std::vector{true, true})) << i;
        expect_totals(grants.totals[0], 6, 6);
    }
    expect_totals(read(b(), cell_), 6, 0);
}

TEST_P(OriginContract, SpendsForManyKeysAtOnce) {
    std::vector<KeySpend> spends;
    for (std::size_t i = 0; i < 100; ++i)
        spends.push_back({.components = components_of(cell_of(std::to_string(i)), 0),
                          .requests = std::vector<SpendRequest>(
                              i % 5, {.elapsed = 0s, .ask = {.cost = 1, .limit = 3}})});
    const auto answers = a().spend(spends);
    for (std::size_t i = 0; i < 100; ++i) {
        const KeyGrants& grants = answers.at(i).value();
        ASSERT_EQ(grants.granted.size(), i % 5);
        expect_totals(grants.totals[0], std::min<Count>(i % 5, 3), std::min<Count>(i % 5, 3));
    }
}

// However often an entry of the node was evicted and made again.
TEST_P(OriginContract, ACellKeepsTwoComponentsOfANode) {
    lift(b(), cell_, 1);
    Count spent = 1;
    for (Incarnation incarnation = 0; incarnation < 40; ++incarnation) {
        spent += 3;
        expect_totals(lift(a(), cell_, 3, incarnation), spent, 3);
    }
    const CellListing listing = list(a(), cell_);
    EXPECT_EQ(listing.total, spent);
    EXPECT_EQ(listing.components.size(), 3U);
    expect_totals(read(b(), cell_), spent, 1);
}

TEST_P(OriginContract, ListsTheComponentsByOwner) {
    lift(a(), cell_, 3);
    lift(a(), cell_, 4, 9);
    const std::string owner = a().origin().node();
    const auto listings = a().list({cell_, cell_of("nobody")});
    ASSERT_TRUE(listings[0] && listings[1]);
    EXPECT_EQ(listings[0]->total, 7U);
    ASSERT_EQ(listings[0]->components.size(), 2U);
    EXPECT_EQ(listings[0]->components[0].owner, owner);
    EXPECT_EQ(listings[0]->components[0].count, 3U);
    EXPECT_EQ(listings[0]->components[1].owner, owner_name(owner, 9));
    EXPECT_EQ(listings[0]->components[1].count, 4U);
    EXPECT_GT(listings[0]->lifetime, 100s);
    EXPECT_EQ(listings[1]->total, 0U);
    EXPECT_TRUE(listings[1]->components.empty());
    EXPECT_EQ(listings[1]->lifetime, 0s);
}

TEST_P(OriginContract, DropsACellWhenItsLifetimeIsOver) {
    CellName brief = cell_;
    brief.duration = 1s;  // Redis keeps its cells for two seconds and an eighth of that longer
    KeyComponents key = components_of(brief, 1);
    key.lifetime = 50ms;
    sync(a(), key);
    EXPECT_TRUE(a().run_until([&] {
        a().run_for(50ms);
        return read(a(), brief).total == 0;
    }));
    expect_totals(lift(b(), brief, 2), 2, 2);
}

TEST_P(OriginContract, ANodeJoinsWithItsFirstHeartbeat) {
    EXPECT_TRUE(a().heartbeat().value().has_joined);
    EXPECT_FALSE(a().heartbeat().value().has_joined);
    EXPECT_TRUE(b().heartbeat().value().has_joined);
}

TEST_P(OriginContract, NodesReadEachOthersNotes) {
    if (GetParam().name == "Sqlite") {
        EXPECT_TRUE(a().leave_note("alone").value().empty()) << "no other process opens the file";
        return;
    }
    const auto text_of = [](const std::vector<NodeNote>& notes, const std::string& node) {
        for (const NodeNote& note : notes) {
            if (note.node == node) return note.text;
        }
        return "none"s;
    };
    const std::string bytes = "two\n%\r\n\0 lines"s;
    EXPECT_EQ(text_of(a().leave_note("first").value(), a().node()), "first");
    EXPECT_EQ(text_of(a().leave_note(bytes).value(), a().node()), bytes);
    const auto seen = b().leave_note("").value();
    EXPECT_EQ(seen.size(), 2U);
    EXPECT_EQ(text_of(seen, a().node()), bytes);
    EXPECT_EQ(text_of(seen, b().node()), "");
    for (const NodeNote& note : seen)
        EXPECT_LT(note.age, 5s);
    a().origin().leave_note("written only", nullptr);
    a().run_for(100ms);
    EXPECT_EQ(text_of(b().leave_note("").value(), a().node()), "written only");
}

template <class Kit>
std::unique_ptr<OriginKit> make() {
    return std::make_unique<Kit>();
}

INSTANTIATE_TEST_SUITE_P(Origins,
                         OriginContract,
                         testing::Values(Implementation{"Memory", make<MemoryKit>},
                                         Implementation{"Sqlite", make<SqliteKit>},
                                         Implementation{"Redis", make<RedisKit>}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace sluice::redis_test
