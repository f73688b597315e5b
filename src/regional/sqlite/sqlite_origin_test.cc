#include "regional/sqlite/sqlite_origin.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite/database.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr Duration kMinute{60'000};
constexpr UnixTime kStart{1'000'000s};

CellName cell(std::string identifier, Sequence sequence = 10) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = kMinute,
            .sequence = sequence};
}

class SqliteOriginTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sluice_origin_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    SqliteOriginOptions options(std::string node = "a") const {
        return {.path = folder_ / "counts.db",
                .region = "here",
                .node = std::move(node),
                .busy_timeout = 0ms,
                .now = [this] { return now_; }};
    }

    std::unique_ptr<Origin> opened(const SqliteOriginOptions& with) {
        std::unique_ptr<Origin> origin = std::move(open_sqlite_origin(with).value());
        origin->start({.back = [this](bool remembers) { told_ += remembers ? "back " : "empty "; },
                       .away =
                           [this](const std::string& why) {
                               told_ += "away ";
                               why_ = why;
                           },
                       .forgot = [this] { told_ += "forgot "; }});
        return origin;
    }
    std::unique_ptr<Origin> opened(std::string node = "a") {
        return opened(options(std::move(node)));
    }
    std::string open_error() const {
        auto origin = open_sqlite_origin(options());
        return origin ? "it opened" : origin.error().message;
    }
    sqlite::Database database() const {
        return sqlite::Database::open({.path = options().path, .purpose = "test"}).value();
    }

    static std::vector<CellAnswer> raise(Origin& origin, std::vector<CellComponent> components) {
        std::vector<CellAnswer> answers;
        int times = 0;
        origin.raise(std::move(components), [&](std::vector<CellAnswer> answer) {
            answers = std::move(answer);
            ++times;
        });
        EXPECT_EQ(times, 1);
        return answers;
    }
    static CellAnswer raise(Origin& origin,
                            const CellName& name,
                            Count own,
                            Incarnation incarnation = 0,
                            Duration lifetime = kMinute) {
        return raise(origin,
                     {{.cell = name, .incarnation = incarnation, .own = own, .lifetime = lifetime}})
            .at(0);
    }
    static CellAnswer read(Origin& origin, const CellName& name, Incarnation incarnation = 0) {
        CellAnswer totals;
        origin.read({{.cell = name, .incarnation = incarnation}},
                    [&](std::vector<CellAnswer> answer) { totals = answer.at(0); });
        return totals;
    }
    static CellListing list(Origin& origin, const CellName& name) {
        CellListing listing;
        origin.list({name}, [&](auto answer) { listing = answer.at(0).value(); });
        return listing;
    }

    std::int64_t rows() const {
        return database().number("SELECT count(*) FROM components").value();
    }

    std::filesystem::path folder_;
    UnixTime now_ = kStart;
    std::string told_;
    std::string why_;
};

TEST_F(SqliteOriginTest, SaysAtOnceThatItIsThere) {
    const auto origin = opened();
    EXPECT_EQ(told_, "back ");
    EXPECT_EQ(origin->node(), "a");
}

TEST_F(SqliteOriginTest, SumsTheComponentsOfItsNodesOverARestart) {
    EXPECT_EQ(raise(*opened("a"), cell("x"), 3)->total, 3U);
    const auto b = opened("b");
    EXPECT_EQ(read(*b, cell("x"))->total, 3U);
    EXPECT_EQ(read(*b, cell("x"))->own, 0U);
    EXPECT_EQ(raise(*b, cell("x"), 4)->total, 7U);
    EXPECT_EQ(read(*b, cell("x"))->total, 7U);
    EXPECT_EQ(read(*b, cell("x"))->own, 4U);
}

TEST_F(SqliteOriginTest, KnowsItsOwnComponentAgainUnderTheSameName) {
    raise(*opened("a"), cell("x"), 3);
    const auto again = opened("a");
    EXPECT_EQ(read(*again, cell("x"))->own, 3U);
    EXPECT_EQ(raise(*again, cell("x"), 2)->total, 3U);
}

TEST_F(SqliteOriginTest, TakesRepeatedAndOldComponentsForWhatTheyAre) {
    const auto a = opened();
    raise(*a, cell("x"), 5);
    EXPECT_EQ(raise(*a, cell("x"), 5)->total, 5U);
    EXPECT_EQ(raise(*a, cell("x"), 2)->own, 5U);
    EXPECT_EQ(raise(*a, cell("x"), 6)->total, 6U);
}

TEST_F(SqliteOriginTest, TellsIncarnationsApart) {
    const auto a = opened();
    raise(*a, cell("x"), 5, 0);
    const CellAnswer second = raise(*a, cell("x"), 2, 1);
    EXPECT_EQ(second->total, 7U);
    EXPECT_EQ(second->own, 2U);
    EXPECT_EQ(read(*a, cell("x"), 4'294'967'295U)->own, 0U);
    EXPECT_EQ(raise(*a, cell("x"), 1, 4'294'967'295U)->own, 1U);
}

// Their owners have one name in a listing, and are still two.
TEST_F(SqliteOriginTest, TellsNodesApartWhoseNamesLookLikeIncarnations) {
    raise(*opened("a"), cell("x"), 5, 1);
    const auto other = opened("a.1");
    EXPECT_EQ(read(*other, cell("x"))->own, 0U);
    EXPECT_EQ(raise(*other, cell("x"), 2)->total, 7U);
}

TEST_F(SqliteOriginTest, AnswersInTheOrderOfItsCellsWithTheTotalsAfterwards) {
    const auto a = opened();
    raise(*a, cell("y"), 9);
    const auto answers =
        raise(*a,
              {{.cell = cell("x"), .incarnation = 0, .own = 1, .lifetime = kMinute},
               {.cell = cell("y"), .incarnation = 0, .own = 0, .lifetime = kMinute},
               {.cell = cell("x"), .incarnation = 1, .own = 2, .lifetime = kMinute}});
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0]->total, 3U);
    EXPECT_EQ(answers[0]->own, 1U);
    EXPECT_EQ(answers[1]->total, 9U);
    EXPECT_EQ(answers[2]->total, 3U);
    EXPECT_EQ(answers[2]->own, 2U);
}

TEST_F(SqliteOriginTest, HoldsNothingThatWasOnlyAsked) {
    {
        const auto a = opened();
        EXPECT_EQ(read(*a, cell("x"))->total, 0U);
        EXPECT_EQ(raise(*a, cell("x"), 0)->total, 0U);
        EXPECT_TRUE(raise(*a, std::vector<CellComponent>{}).empty());
    }
    EXPECT_EQ(rows(), 0);
}

TEST_F(SqliteOriginTest, KeepsCellsApartThatDifferInAnyPart) {
    const auto moved = [](std::string workspace, std::string name_space, std::string identifier) {
        return CellName{.workspace = std::move(workspace),
                        .name_space = std::move(name_space),
                        .identifier = std::move(identifier),
                        .duration = kMinute,
                        .sequence = 10};
    };
    std::vector<CellName> cells = {cell("x"),
                                   cell("X"),
                                   cell("x "),
                                   cell(" x"),
                                   cell("x\n"),
                                   cell("x\0"s),
                                   cell("\0x"s),
                                   cell(""),
                                   cell("\0"s),
                                   cell("x", 11),
                                   cell("x", 1),
                                   cell("x", -10),
                                   cell("1:x"),
                                   cell("x60000:10"),
                                   cell("\xFF"),
                                   cell("\xC3\xA9"),
                                   cell("e\xCC\x81"),
                                   cell("é "),
                                   cell("' OR 1 --"),
                                   moved("wn", "", "x"),
                                   moved("", "wn", "x"),
                                   moved("w", "nx", ""),
                                   moved("w", "", "nx"),
                                   moved("w1:n", "", "x"),
                                   moved("w", "n1:x", ""),
                                   moved("w-n", "n", "x"),
                                   moved("w", "n-n", "x"),
                                   moved("W", "n", "x"),
                                   cell(std::string(512, 'x')),
                                   cell(std::string(511, 'x')),
                                   cell(std::string(511, 'x') + '\0'),
                                   cell(std::string(511, 'x') + 'X'),
                                   moved(std::string(512, 'x'), std::string(512, 'x'), "")};
    CellName longer = cell("x");
    longer.duration = Duration{60'001};
    CellName shifted = cell("x", 0);
    shifted.duration = Duration{6'000};
    shifted.sequence = 10;
    cells.push_back(longer);
    cells.push_back(shifted);

    const auto a = opened();
    for (std::size_t i = 0; i < cells.size(); ++i)
        EXPECT_EQ(raise(*a, cells[i], i + 1)->total, i + 1) << i;
    for (std::size_t i = 0; i < cells.size(); ++i)
        EXPECT_EQ(read(*a, cells[i])->total, i + 1) << i;
}

TEST_F(SqliteOriginTest, KeepsRegionsApart) {
    raise(*opened(), cell("x"), 3);
    SqliteOriginOptions there = options();
    there.region = "there";
    EXPECT_EQ(read(*opened(there), cell("x"))->total, 0U);
}

TEST_F(SqliteOriginTest, SumsUpToTheLargestCountAndNoFurther) {
    raise(*opened("a"), cell("x"), kMaxCount);
    EXPECT_EQ(read(*opened("a"), cell("x"))->own, kMaxCount);
    const auto b = opened("b");
    const CellAnswer answer = raise(*b, cell("x"), kMaxCount);
    EXPECT_EQ(answer->total, kMaxCount);
    EXPECT_EQ(answer->own, kMaxCount);
    EXPECT_EQ(list(*b, cell("x")).total, kMaxCount);
}

TEST_F(SqliteOriginTest, ForgetsAComponentWhenItsLifetimeIsOver) {
    const auto a = opened();
    raise(*a, cell("x"), 3, 0, 10s);
    now_ += 9'999ms;
    EXPECT_EQ(read(*a, cell("x"))->total, 3U);
    now_ += 1ms;
    EXPECT_EQ(read(*a, cell("x"))->total, 0U);
    EXPECT_EQ(read(*a, cell("x"))->own, 0U);
    EXPECT_TRUE(list(*a, cell("x")).components.empty());
}

TEST_F(SqliteOriginTest, LengthensALifetimeAndNeverShortensIt) {
    const auto a = opened();
    raise(*a, cell("x"), 3, 0, 10s);
    raise(*a, cell("x"), 4, 0, 1s);
    EXPECT_EQ(list(*a, cell("x")).lifetime, 10s);
    raise(*a, cell("x"), 1, 0, 20s);
    EXPECT_EQ(list(*a, cell("x")).lifetime, 20s);
    now_ += 19'999ms;
    EXPECT_EQ(read(*a, cell("x"))->total, 4U);
}

TEST_F(SqliteOriginTest, DeletesDeadRowsABoundedNumberAtATime) {
    {
        const auto a = opened();
        for (int batch = 0; batch < 5; ++batch) {
            std::vector<CellComponent> components;
            for (int i = 0; i < 500; ++i) {
                const std::string identifier = std::to_string(batch) + " " + std::to_string(i);
                components.push_back(
                    {.cell = cell(identifier), .incarnation = 0, .own = 1, .lifetime = 10s});
            }
            raise(*a, std::move(components));
        }
        raise(*a, cell("lives"), 1, 0, 20s);
        now_ += 10s;
        raise(*a, cell("x"), 1);
    }
    EXPECT_EQ(rows(), 2'502 - 1'001);
    {
        const auto a = opened();
        raise(*a, cell("x"), 0);
        raise(*a, cell("x"), 0);
        EXPECT_EQ(read(*a, cell("lives"))->total, 1U);
    }
    EXPECT_EQ(rows(), 2);
}

TEST_F(SqliteOriginTest, ListsAllThatItHolds) {
    raise(*opened("a"), cell("x"), 3, 0, 10s);
    raise(*opened("b"), cell("x"), 4, 7, 5s);
    const auto b = opened("b");
    const CellListing listing = list(*b, cell("x"));
    EXPECT_EQ(listing.total, 7U);
    ASSERT_EQ(listing.components.size(), 2U);
    EXPECT_EQ(listing.components[0].owner, "a");
    EXPECT_EQ(listing.components[0].count, 3U);
    EXPECT_EQ(listing.components[1].owner, "b.7");
    EXPECT_EQ(listing.components[1].count, 4U);
    EXPECT_EQ(listing.lifetime, 10s);
    EXPECT_EQ(list(*b, cell("y")).lifetime, 0s);
    EXPECT_EQ(list(*b, cell("y")).total, 0U);
}

TEST_F(SqliteOriginTest, MayBeCalledFromAnAnswer) {
    const auto a = opened();
    CellAnswer inner;
    a->raise({{.cell = cell("x"), .incarnation = 0, .own = 1, .lifetime = kMinute}},
             [&](const auto&) { inner = raise(*a, cell("x"), 2); });
    EXPECT_EQ(inner->total, 2U);
}

// While writes fail, as on a disk that breaks.
class NoWrites {
  public:
    NoWrites() {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ~NoWrites() { setrlimit(RLIMIT_FSIZE, &before_); }
    NoWrites(const NoWrites&) = delete;
    NoWrites& operator=(const NoWrites&) = delete;

  private:
    rlimit before_{};
};

TEST_F(SqliteOriginTest, IsAwayWhileWritesFailAndBackWithTheFirstCallThatWorks) {
    const auto a = opened();
    raise(*a, cell("x"), 1);
    told_.clear();
    std::vector<CellAnswer> answers;
    {
        const NoWrites broken;
        answers = raise(*a,
                        {{.cell = cell("x"), .incarnation = 0, .own = 2, .lifetime = kMinute},
                         {.cell = cell("y"), .incarnation = 0, .own = 2, .lifetime = kMinute}});
        EXPECT_FALSE(raise(*a, cell("x"), 3));
    }
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_FALSE(answers[0]);
    EXPECT_FALSE(answers[1]);
    EXPECT_EQ(told_, "away ");
    EXPECT_NE(why_.find(options().path), std::string::npos) << why_;
    EXPECT_NE(why_.find("reading or writing it failed"), std::string::npos) << why_;
    EXPECT_EQ(raise(*a, cell("x"), 2)->total, 2U);
    EXPECT_EQ(read(*a, cell("y"))->total, 0U);
    EXPECT_EQ(told_, "away back ");
}

TEST_F(SqliteOriginTest, AFullFileTakesCountsAgainWhenOldOnesHaveDied) {
    SqliteOriginOptions small = options();
    small.max_bytes = 256 * 1'024;
    const auto a = opened(small);
    told_.clear();
    const auto batch = [](int number, Count own) {
        std::vector<CellComponent> components;
        for (int i = 0; i < 512; ++i) {
            const std::string identifier = std::to_string(number) + " " + std::to_string(i);
            components.push_back(
                {.cell = cell(identifier), .incarnation = 0, .own = own, .lifetime = 10s});
        }
        return components;
    };
    int held = 0;
    while (held < 100 && raise(*a, batch(held, 1)).at(0))
        ++held;
    ASSERT_GT(held, 0);
    ASSERT_LT(held, 100);
    EXPECT_EQ(told_, "away ");
    EXPECT_NE(why_.find("disk is full"), std::string::npos) << why_;
    EXPECT_FALSE(raise(*a, batch(held, 1)).at(0));
    EXPECT_EQ(told_, "away ");
    EXPECT_TRUE(read(*a, cell("0 0")));
    EXPECT_EQ(told_, "away ") << "that it can be read does not make it one that works";
    now_ += 10s;
    EXPECT_TRUE(raise(*a, batch(held, 1)).at(0));
}

// So large a batch that what dies beside it makes too little room.
TEST_F(SqliteOriginTest, AFullFileMakesRoomAlsoBetweenCallsThatFail) {
    SqliteOriginOptions small = options();
    small.max_bytes = 1'024 * 1'024;
    const auto a = opened(small);
    const auto identifier = [](int i) { return std::string(400, 'x') + std::to_string(i); };
    int held = 0;
    while (held < 100'000 && raise(*a, cell("y" + std::to_string(held)), 1, 0, 10s))
        ++held;
    ASSERT_GT(held, 5'000);
    ASSERT_LT(held, 100'000);
    now_ += 10s;
    std::vector<CellComponent> large;
    for (int i = 0; i < 600; ++i)
        large.push_back({.cell = cell(identifier(i)), .incarnation = 0, .own = 1, .lifetime = 10s});
    int failures = 0;
    while (failures < 100 && !raise(*a, large).at(0))
        ++failures;
    EXPECT_GT(failures, 0);
    EXPECT_LT(failures, 100);
}

// The child raises as fast as it can, and tells of each answer.
[[noreturn]] void raise_until_killed(const SqliteOriginOptions& options, int says) {
    auto origin = open_sqlite_origin(options);
    if (!origin) _exit(1);
    (*origin)->start({});
    for (Count own = 1;; ++own) {
        (*origin)->raise({{.cell = cell("x"), .incarnation = 0, .own = own, .lifetime = kMinute},
                          {.cell = cell("y"), .incarnation = 0, .own = own, .lifetime = kMinute}},
                         [&](const std::vector<CellAnswer>& answers) {
                             if (!answers.at(0) || answers.at(0)->own != own) _exit(1);
                             (void)!write(says, &own, sizeof own);
                         });
    }
}

TEST_F(SqliteOriginTest, AKilledProcessLosesNothingThatWasAnswered) {
    Count last = 0;
    for (int round = 0; round < 5; ++round) {
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe(ends.data()), 0);
        const std::string node = "child " + std::to_string(round);
        const pid_t child = fork();
        if (child == 0) raise_until_killed(options(node), ends[1]);
        close(ends[1]);
        Count answered = 0;
        while (answered < 40 && ::read(ends[0], &answered, sizeof answered) > 0) {
        }
        EXPECT_NE(open_error().find("another process uses it"), std::string::npos);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        while (::read(ends[0], &answered, sizeof answered) > 0) {
        }
        close(ends[0]);
        ASSERT_GE(answered, 40U);
        const auto origin = opened(node);
        const CellAnswer x = read(*origin, cell("x"));
        const CellAnswer y = read(*origin, cell("y"));
        EXPECT_GE(x->own, answered);
        EXPECT_LE(x->own, answered + 1);
        EXPECT_EQ(x->own, y->own);
        EXPECT_EQ(x->total, last + x->own);
        last = x->total;
    }
}

TEST_F(SqliteOriginTest, ASecondOwnerIsTold) {
    const auto a = opened();
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
    EXPECT_TRUE(raise(*a, cell("x"), 1));
}

TEST_F(SqliteOriginTest, AFileThatIsNoDatabaseIsReported) {
    std::ofstream(options().path) << std::string(8'192, 'x');
    EXPECT_NE(open_error().find("damaged or no SQLite database"), std::string::npos)
        << open_error();
    EXPECT_NE(open_error().find("begin without counts of the region"), std::string::npos);
    EXPECT_NE(open_error().find(options().path), std::string::npos);
}

TEST_F(SqliteOriginTest, ADamagedPageIsReported) {
    {
        const auto a = opened();
        for (int i = 0; i < 100; ++i)
            raise(*a, cell(std::string(400, 'x') + std::to_string(i)), 1);
    }
    const auto size = std::filesystem::file_size(options().path);
    std::fstream file(options().path, std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t at = 12'288; at < size; at += 4'096) {
        file.seekp(static_cast<std::streamoff>(at));
        file << std::string(2'000, '\x5A');
    }
    file.close();
    EXPECT_NE(open_error().find("damaged"), std::string::npos) << open_error();
}

TEST_F(SqliteOriginTest, ANewerSchemaIsLeftAlone) {
    raise(*opened(), cell("x"), 1);
    ASSERT_FALSE(database().run("PRAGMA user_version = 2"));
    EXPECT_NE(open_error().find("version 2"), std::string::npos) << open_error();
    EXPECT_EQ(rows(), 1);
}

TEST_F(SqliteOriginTest, AnotherProgramsDatabaseIsLeftAlone) {
    ASSERT_FALSE(database().run("CREATE TABLE theirs (x)"));
    EXPECT_NE(open_error().find("another program"), std::string::npos) << open_error();
    ASSERT_FALSE(database().run("PRAGMA user_version = 1"));
    EXPECT_NE(open_error().find("another program"), std::string::npos) << open_error();
    EXPECT_EQ(database().number("SELECT count(*) FROM sqlite_schema").value(), 1);
}

TEST_F(SqliteOriginTest, NumbersThatAreNoCountsAreTakenForTheNearestOnes) {
    raise(*opened(), cell("x"), 1);
    ASSERT_FALSE(database().run("UPDATE components SET count = -1"));
    EXPECT_EQ(read(*opened(), cell("x"))->total, 0U);
    ASSERT_FALSE(database().run("UPDATE components SET count = 9223372036854775807"));
    EXPECT_EQ(read(*opened(), cell("x"))->total, kMaxCount);
}

TEST_F(SqliteOriginTest, AMissingFolderIsReported) {
    SqliteOriginOptions nowhere = options();
    nowhere.path = folder_ / "missing" / "counts.db";
    const auto origin = open_sqlite_origin(nowhere);
    ASSERT_FALSE(origin);
    EXPECT_NE(origin.error().message.find("folder must exist"), std::string::npos)
        << origin.error().message;
}

// Neither statement may become slower with the number of cells in the file.
TEST_F(SqliteOriginTest, FindsWhatItNeedsByAnIndex) {
    (void)opened();
    auto file = database();
    const auto plan = [&](const char* sql) {
        std::string steps;
        auto statement = file.prepare("EXPLAIN QUERY PLAN "s + sql).value();
        (void)statement.for_each(
            [&](const sqlite::Statement& row) { steps += row.bytes(3) + "; "; });
        return steps;
    };
    EXPECT_EQ(plan("SELECT node FROM components WHERE cell = x'00' AND +dies_ms > 1"),
              "SEARCH components USING PRIMARY KEY (cell=?); ");
    EXPECT_EQ(plan("DELETE FROM components WHERE (cell, node, incarnation) IN (SELECT cell, node, "
                   "incarnation FROM components WHERE dies_ms <= 1 ORDER BY dies_ms LIMIT 1000)")
                  .find("SCAN components"),
              std::string::npos);
}

}  // namespace
}  // namespace sluice
