// The contract of shared stores of overrides, over an SQLite file and over a real MariaDB.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mysql/mysql_connection.h"
#include "overrides/stores.h"
#include "support/mariadb_server.h"
#include "support/process.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// A database in which stores are opened.
class Place {
  public:
    virtual ~Place() = default;
    virtual std::unique_ptr<OverrideStore> open() = 0;
};

class FilePlace final : public Place {
  public:
    std::unique_ptr<OverrideStore> open() override {
        return std::make_unique<SqliteOverrideStore>(SqliteOverrideOptions{
            .path = scratch_.path("global.db"), .use = sqlite::Use::kShared, .busy_timeout = 30s});
    }

  private:
    server_test::ScratchFolder scratch_;
};

class MariadbPlace final : public Place {
  public:
    std::unique_ptr<OverrideStore> open() override {
        return make_mysql_store({.url = url_, .answer_timeout = 60s, .lock_timeout = 30s});
    }

  private:
    // One server for all tests; each has a database of its own.
    static mariadb_test::MariadbServer& server() {
        static mariadb_test::MariadbServer server;
        return server;
    }
    const MysqlUrl url_ = server().make_store();
};

Override sample(std::string identifier) {
    static int number = 0;
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .id = "rlor_" + std::to_string(++number),
            .value = {.limit = (std::int64_t{1} << 53) - 1, .duration = 8784h},
            .order = 1};
}

struct Kind {
    std::string name;
    std::function<std::unique_ptr<Place>()> make;
};

class SharedStore : public testing::TestWithParam<Kind> {
  protected:
    const std::unique_ptr<Place> place_ = GetParam().make();
    const std::unique_ptr<OverrideStore> here_ = place_->open();
    const std::unique_ptr<OverrideStore> there_ = place_->open();
};

TEST_P(SharedStore, IsEmptyAtFirst) {
    const Contents contents = here_->load_all().value();
    EXPECT_TRUE(contents.overrides.empty());
    EXPECT_EQ(contents.version, here_->version().value());
}

TEST_P(SharedStore, StoresAnyBytes) {
    std::vector<Override> wanted{sample("zero \0, newline \n, \xFF, \\ and 'quotes'"s),
                                 sample(std::string(2'048, 'x')),
                                 sample("a"),
                                 sample("A"),
                                 sample("a ")};
    wanted[1].workspace = std::string(2'048, 'w');
    wanted[1].name_space = std::string(2'048, '\0');
    wanted[3].value = {.limit = 0, .duration = 1s};
    for (Override& entry : wanted) {
        const Stored stored = here_->put(entry, {}).value();
        entry.order = stored.entry.order;
        EXPECT_EQ(stored.entry, entry);
    }
    EXPECT_EQ(there_->load_all()->overrides, wanted) << "in the order of their creation";
}

TEST_P(SharedStore, DistinguishesThePartsOfAKey) {
    Override left = sample("c");
    left.workspace = "a";
    left.name_space = "b";
    Override right = left;
    right.workspace = "ab";
    right.name_space = "c";
    right.id = "rlor_right";
    EXPECT_TRUE(here_->put(left, {}));
    EXPECT_TRUE(here_->put(right, {}));
    EXPECT_EQ(here_->load_all()->overrides.size(), 2U);
    EXPECT_FALSE(here_->remove({"abc", "b", "c"}, {})->found);
    EXPECT_TRUE(here_->remove(left.key(), {})->found);
    EXPECT_EQ(here_->load_all()->overrides.at(0).id, "rlor_right");
}

TEST_P(SharedStore, PuttingAgainChangesOnlyTheGrant) {
    const Override first = here_->put(sample("a"), {})->entry;
    Override again = sample("a");
    again.value = {.limit = 3, .duration = 1s};
    const Stored stored = there_->put(again, {}).value();
    EXPECT_EQ(stored.entry.id, first.id);
    EXPECT_EQ(stored.entry.order, first.order);
    EXPECT_EQ(stored.entry.value, again.value);
    EXPECT_EQ(here_->load_all()->overrides, std::vector<Override>{stored.entry});
}

TEST_P(SharedStore, AnOverrideThatIsSetAgainAfterItsRemovalIsYounger) {
    const Override first = here_->put(sample("a"), {})->entry;
    const Override other = here_->put(sample("b"), {})->entry;
    EXPECT_TRUE(here_->remove(other.key(), {})->found);
    EXPECT_GT(here_->put(sample("b"), {})->entry.order, other.order);
    EXPECT_TRUE(here_->remove(first.key(), {})->found);
    EXPECT_GT(here_->put(sample("a"), {})->entry.order, other.order);
}

TEST_P(SharedStore, EachChangeMakesTheNextVersionAndNothingElseDoes) {
    const std::uint64_t start = here_->version().value();
    const Override entry = sample("a");
    EXPECT_EQ(here_->put(entry, {})->version, start + 1);
    EXPECT_EQ(there_->put(entry, {})->version, start + 2);
    EXPECT_EQ(here_->load_all()->version, start + 2);
    EXPECT_FALSE(here_->remove(sample("b").key(), {})->found);
    EXPECT_EQ(there_->version().value(), start + 2);
    const Removed removed = there_->remove(entry.key(), {}).value();
    EXPECT_TRUE(removed.found);
    EXPECT_EQ(removed.version, start + 3);
    EXPECT_EQ(here_->version().value(), start + 3);
}

TEST_P(SharedStore, ConcurrentWritersAgreeOnOneIdPerKeyAndLoseNoChange) {
    constexpr int kNodes = 4;
    constexpr int kRounds = 20;
    std::vector<std::set<std::string>> ids(kNodes);
    std::vector<std::thread> nodes;
    const std::uint64_t start = here_->version().value();
    for (int node = 0; node < kNodes; ++node) {
        nodes.emplace_back([&, node] {
            const auto store = place_->open();
            for (int round = 0; round < kRounds; ++round) {
                Override entry{.workspace = "w",
                               .name_space = "n",
                               .identifier = "same",
                               .id = "rlor_" + std::to_string(node * 1'000 + round),
                               .value = {.limit = node, .duration = 1s},
                               .order = 1};
                ids[static_cast<std::size_t>(node)].insert(store->put(entry, {}).value().entry.id);
                entry.identifier = std::to_string(node * kRounds + round);
                entry.id += "_own";
                ASSERT_TRUE(store->put(entry, {}));
            }
        });
    }
    for (std::thread& node : nodes)
        node.join();
    std::set<std::string> all;
    for (const auto& seen : ids)
        all.insert(seen.begin(), seen.end());
    EXPECT_EQ(all.size(), 1U);
    const Contents contents = here_->load_all().value();
    EXPECT_EQ(contents.overrides.size(), kNodes * kRounds + 1U);
    EXPECT_EQ(contents.version, start + 2U * kNodes * kRounds);
}

INSTANTIATE_TEST_SUITE_P(Places,
                         SharedStore,
                         testing::Values(Kind{"File", [] { return std::make_unique<FilePlace>(); }},
                                         Kind{"Mariadb",
                                              [] { return std::make_unique<MariadbPlace>(); }}),
                         [](const auto& kind) { return kind.param.name; });

TEST(MysqlOverrideStoreTest, ReportsWhatIsWrongWithoutThePassword) {
    mariadb_test::MariadbServer server;
    const MysqlUrl url = server.make_store();
    const auto store = make_mysql_store({.url = url});
    const auto without_tables = make_mysql_store({.url = server.url(server.make_database())});
    EXPECT_TRUE(store->put(sample("a"), {}));
    const auto refused = without_tables->load_all();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, kStoreFailed);
    EXPECT_NE(refused.error().message.find("sluice migrate"), std::string::npos)
        << refused.error().message;
    server.kill();
    const auto unavailable = store->put(sample("b"), {});
    ASSERT_FALSE(unavailable);
    EXPECT_EQ(unavailable.error().code, kStoreUnavailable);
    EXPECT_EQ(unavailable.error().message.find("secret"), std::string::npos)
        << unavailable.error().message;
    server.start();
    // It does not connect again for a second.
    std::this_thread::sleep_for(1'100ms);
    EXPECT_TRUE(store->put(sample("b"), {}));
    EXPECT_EQ(store->load_all()->overrides.size(), 2U);
}

TEST(MysqlOverrideStoreTest, ReconnectsToAServerThatWasRestartedBetweenTwoCalls) {
    mariadb_test::MariadbServer server;
    const auto store = make_mysql_store({.url = server.make_store()});
    EXPECT_TRUE(store->put(sample("a"), {}));
    server.kill();
    server.start();
    const auto put = store->put(sample("b"), {});
    EXPECT_TRUE(put) << put.error().message;
}

TEST(MysqlOverrideStoreTest, WhileTheServerHangsLaterCallsFailAtOnce) {
    mariadb_test::MariadbServer server;
    const auto store =
        make_mysql_store({.url = server.make_store(), .connect_timeout = 1s, .answer_timeout = 2s});
    EXPECT_TRUE(store->put(sample("a"), {}));
    server.pause();
    EXPECT_EQ(store->put(sample("b"), {}).error().code, kStoreUnavailable);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(store->put(sample("c"), {}).error().code, kStoreUnavailable);
    EXPECT_EQ(store->remove(sample("a").key(), {}).error().code, kStoreUnavailable);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1s) << "less than one more attempt";
    server.resume();
    std::this_thread::sleep_for(1'100ms);
    EXPECT_TRUE(store->put(sample("c"), {}));
    std::set<std::string> held;
    const Contents contents = store->load_all().value();
    for (const Override& entry : contents.overrides)
        held.insert(entry.identifier);
    EXPECT_EQ(held, (std::set<std::string>{"a", "c"})) << "nothing changed while it hung";
}

}  // namespace
}  // namespace sluice::overrides
