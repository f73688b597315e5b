#include "regional/sqlite/sqlite_origin.h"

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "regional/sqlite/file_worker.h"
#include "sqlite/database.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr Duration kMinute{60'000};
constexpr UnixTime kStart{1'000'000s};
constexpr auto kSoon = 20s;  // for a machine that is busy

CellName cell(std::string identifier, Sequence sequence = 10) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = kMinute,
            .sequence = sequence};
}

// At the start of the current cell.
KeyComponents key(CellName current, Count own, Incarnation incarnation = 0) {
    return {.current = std::move(current),
            .incarnation = incarnation,
            .own = {own, 0},
            .lifetime = 2 * kMinute};
}

// The clock of a file, which also serves to block the thread that uses the file, as a stalled disk
// does. Shared with that thread, which may outlive the test. Thread-safe.
class TestClock {
  public:
    UnixTime now() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !is_stalled_; });
        --waiting_;
        return now_;
    }
    void add(Duration duration) {
        const std::lock_guard lock(mutex_);
        now_ += duration;
    }
    void stall() {
        const std::lock_guard lock(mutex_);
        is_stalled_ = true;
    }
    void go_on() {
        const std::lock_guard lock(mutex_);
        is_stalled_ = false;
        changed_.notify_all();
    }
    // Returns when a thread is blocked.
    void wait_for_stalled() {
        std::unique_lock lock(mutex_);
        ASSERT_TRUE(changed_.wait_for(lock, kSoon, [this] { return waiting_ > 0; }));
    }

  private:
    std::mutex mutex_;  // guards the rest
    std::condition_variable changed_;
    UnixTime now_ = kStart;
    bool is_stalled_ = false;
    int waiting_ = 0;
};

class SqliteOriginTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sluice_origin_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    void TearDown() override {
        clock_->go_on();
        std::filesystem::remove_all(folder_);
    }

    SqliteOriginOptions options(std::string node = "a") const {
        return {.path = folder_ / "counts.db",
                .region = "here",
                .node = std::move(node),
                .timeout = kSoon,
                .busy_timeout = 0ms,
                .now = [clock = clock_] { return clock->now(); }};
    }

    std::unique_ptr<Origin> opened(const SqliteOriginOptions& with) {
        std::unique_ptr<Origin> origin = std::move(open_sqlite_origin(loop_, with).value());
        const auto note = [this](std::string event) {
            return [this, event](const std::string& why) {
                events_ += event + " ";
                why_ = why;
            };
        };
        origin->start(
            {.available =
                 [this](bool is_intact) { events_ += is_intact ? "available " : "empty "; },
             .unavailable = note("unavailable"),
             .data_lost = [this] { events_ += "lost "; },
             .write_refused = note("refused")});
        return origin;
    }
    std::unique_ptr<Origin> opened(std::string node = "a") {
        return opened(options(std::move(node)));
    }
    std::string open_error() {
        auto origin = open_sqlite_origin(loop_, options());
        return origin ? "it opened" : origin.error().message;
    }
    sqlite::Database database() const {
        return sqlite::Database::open({.path = options().path, .purpose = "test"}).value();
    }

    // Runs the loop until `is_done`.
    template <class IsDone>
    void run_until(IsDone is_done) {
        const auto end = std::chrono::steady_clock::now() + kSoon;
        while (!is_done() && std::chrono::steady_clock::now() < end)
            loop_.run_one_for(10ms);
        ASSERT_TRUE(is_done());
    }
    // The answer to `call`, which takes a function to pass it to.
    template <class Answer, class Call>
    Answer answer_of(Call call) {
        std::optional<Answer> answer;
        int times = 0;
        call([&](Answer answered) {
            answer = std::move(answered);
            ++times;
        });
        run_until([&] { return times > 0; });
        EXPECT_EQ(times, 1);
        return answer.value_or(Answer{});
    }

    std::vector<KeyAnswer> sync(Origin& origin, std::vector<KeyComponents> keys) {
        return answer_of<std::vector<KeyAnswer>>(
            [&](auto answered) { origin.sync(std::move(keys), answered); });
    }
    KeyAnswer sync(Origin& origin, KeyComponents components) {
        return sync(origin, std::vector{std::move(components)}).at(0);
    }
    std::optional<CellTotals> lift(Origin& origin,
                                   const CellName& name,
                                   Count own,
                                   Incarnation incarnation = 0,
                                   Duration lifetime = 2 * kMinute) {
        KeyComponents components = key(name, own, incarnation);
        components.lifetime = lifetime;
        const KeyAnswer answer = sync(origin, components);
        return answer ? std::optional(answer->at(0)) : std::nullopt;
    }
    std::optional<CellTotals> read(Origin& origin,
                                   const CellName& name,
                                   Incarnation incarnation = 0) {
        return lift(origin, name, 0, incarnation);
    }
    // Spends `costs` one after the other, of a limit of 10.
    SpendAnswer spend(Origin& origin, KeyComponents components, const std::vector<Count>& costs) {
        KeySpend spend{.components = std::move(components), .requests = {}};
        for (const Count cost : costs)
            spend.requests.push_back({.elapsed = 1s, .ask = {.cost = cost, .limit = 10}});
        return answer_of<std::vector<SpendAnswer>>(
                   [&](auto answered) { origin.spend({spend}, answered); })
            .at(0);
    }
    KeyAnswer retire(Origin& origin, const KeyComponents& components) {
        return answer_of<std::vector<KeyAnswer>>(
                   [&](auto answered) { origin.retire({components}, answered); })
            .at(0);
    }
    HeartbeatAnswer heartbeat(Origin& origin) {
        return answer_of<HeartbeatAnswer>([&](auto answered) { origin.heartbeat(answered); });
    }
    CellListing list(Origin& origin, const CellName& name) {
        return answer_of<std::vector<std::optional<CellListing>>>(
                   [&](auto answered) { origin.list({name}, answered); })
            .at(0)
            .value();
    }

    std::int64_t rows() const {
        return database()
            .number("SELECT count(*) FROM components WHERE cell != x'686561727462656174'")
            .value();
    }

    std::filesystem::path folder_;
    const std::shared_ptr<TestClock> clock_ = std::make_shared<TestClock>();
    boost::asio::io_context loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
        boost::asio::make_work_guard(loop_);
    std::string events_;
    std::string why_;
};

TEST_F(SqliteOriginTest, IsAvailableFromTheStart) {
    const auto origin = opened();
    EXPECT_EQ(events_, "available ");
    EXPECT_EQ(origin->node(), "a");
}

TEST_F(SqliteOriginTest, RefusesOptionsThatItCannotUse) {
    SqliteOriginOptions wrong = options("stopped");
    EXPECT_EQ(open_sqlite_origin(loop_, wrong).error().code, kInvalidOption);
    wrong = options();
    wrong.timeout = 0ms;
    EXPECT_EQ(open_sqlite_origin(loop_, wrong).error().code, kInvalidOption);
}

TEST_F(SqliteOriginTest, SumsTheComponentsOfItsNodesOverARestart) {
    EXPECT_EQ(lift(*opened("a"), cell("x"), 3)->total, 3U);
    const auto b = opened("b");
    EXPECT_EQ(read(*b, cell("x"))->total, 3U);
    EXPECT_EQ(read(*b, cell("x"))->own, 0U);
    EXPECT_EQ(lift(*b, cell("x"), 4)->total, 7U);
    EXPECT_EQ(read(*b, cell("x"))->total, 7U);
    EXPECT_EQ(read(*b, cell("x"))->own, 4U);
}

TEST_F(SqliteOriginTest, KnowsItsOwnComponentAgainUnderTheSameName) {
    lift(*opened("a"), cell("x"), 3);
    const auto again = opened("a");
    EXPECT_EQ(read(*again, cell("x"))->own, 3U);
    EXPECT_EQ(lift(*again, cell("x"), 2)->total, 3U);
}

TEST_F(SqliteOriginTest, ARepeatedOrOutdatedComponentChangesNothing) {
    const auto a = opened();
    lift(*a, cell("x"), 5);
    EXPECT_EQ(lift(*a, cell("x"), 5)->total, 5U);
    EXPECT_EQ(lift(*a, cell("x"), 2)->own, 5U);
    EXPECT_EQ(lift(*a, cell("x"), 6)->total, 6U);
}

TEST_F(SqliteOriginTest, SyncsBothCellsOfAKey) {
    KeyComponents components = key(cell("x", 11), 1);
    components.own[1] = 2;
    sync(*opened("b"), components);
    const auto a = opened("a");
    components.own = {3, 4};
    const KeyAnswer answer = sync(*a, components);
    EXPECT_EQ(answer->at(0).total, 4U);
    EXPECT_EQ(answer->at(0).own, 3U);
    EXPECT_EQ(answer->at(1).total, 6U);
    EXPECT_EQ(answer->at(1).own, 4U);
    EXPECT_EQ(read(*a, cell("x", 10))->total, 6U) << "the previous cell is the one before";
}

TEST_F(SqliteOriginTest, KeepsIncarnationsApart) {
    const auto a = opened();
    lift(*a, cell("x"), 5, 0);
    const auto second = lift(*a, cell("x"), 2, 1);
    EXPECT_EQ(second->total, 7U);
    EXPECT_EQ(second->own, 2U);
    EXPECT_EQ(read(*a, cell("x"), 4'294'967'295U)->own, 0U);
    EXPECT_EQ(lift(*a, cell("x"), 1, 4'294'967'295U)->own, 1U);
}

// Their owners have the same name in a listing, and are still two.
TEST_F(SqliteOriginTest, KeepsNodesApartWhoseNamesLookLikeIncarnations) {
    lift(*opened("a"), cell("x"), 5, 1);
    const auto other = opened("a.1");
    EXPECT_EQ(read(*other, cell("x"))->own, 0U);
    EXPECT_EQ(lift(*other, cell("x"), 2)->total, 7U);
}

TEST_F(SqliteOriginTest, AnswersInTheOrderOfItsKeys) {
    const auto a = opened();
    lift(*a, cell("y"), 9);
    const auto answers = sync(*a, {key(cell("x"), 1), key(cell("y"), 0), key(cell("x"), 2, 1)});
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0]->at(0).own, 1U);
    EXPECT_EQ(answers[1]->at(0).total, 9U);
    EXPECT_EQ(answers[2]->at(0).total, 3U);
    EXPECT_EQ(answers[2]->at(0).own, 2U);
}

TEST_F(SqliteOriginTest, StoresNothingThatWasOnlyRead) {
    {
        const auto a = opened();
        EXPECT_EQ(read(*a, cell("x"))->total, 0U);
        EXPECT_TRUE(sync(*a, std::vector<KeyComponents>{}).empty());
        EXPECT_FALSE(spend(*a, key(cell("x"), 0), {11})->granted.at(0));
        EXPECT_EQ(retire(*a, key(cell("x"), 0))->at(0).total, 0U);
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
        EXPECT_EQ(lift(*a, cells[i], i + 1)->total, i + 1) << i;
    for (std::size_t i = 0; i < cells.size(); ++i)
        EXPECT_EQ(read(*a, cells[i])->total, i + 1) << i;
}

TEST_F(SqliteOriginTest, KeepsRegionsApart) {
    lift(*opened(), cell("x"), 3);
    SqliteOriginOptions there = options();
    there.region = "there";
    EXPECT_EQ(read(*opened(there), cell("x"))->total, 0U);
}

TEST_F(SqliteOriginTest, SumsSaturateAtTheLargestCount) {
    lift(*opened("a"), cell("x"), kMaxCount);
    EXPECT_EQ(read(*opened("a"), cell("x"))->own, kMaxCount);
    const auto b = opened("b");
    const auto totals = lift(*b, cell("x"), kMaxCount);
    EXPECT_EQ(totals->total, kMaxCount);
    EXPECT_EQ(totals->own, kMaxCount);
    EXPECT_EQ(list(*b, cell("x")).total, kMaxCount);
    retire(*b, key(cell("x"), kMaxCount));
    EXPECT_EQ(list(*b, cell("x")).total, kMaxCount);
}

TEST_F(SqliteOriginTest, SpendsWhatFitsOnTopOfAllNodes) {
    lift(*opened("b"), cell("x"), 4);
    {
        const auto a = opened("a");
        const SpendAnswer grants = spend(*a, key(cell("x"), 1), {3, 3, 2});
        EXPECT_EQ(grants->granted, (std::vector{true, false, true}));
        EXPECT_EQ(grants->totals[0].own, 6U);
        EXPECT_EQ(grants->totals[0].total, 10U);
    }
    const auto a = opened("a");
    EXPECT_EQ(read(*a, cell("x"))->own, 6U) << "it is stored";
    EXPECT_EQ(read(*a, cell("x"))->total, 10U);
    EXPECT_EQ(spend(*a, key(cell("x"), 6), {1})->granted, std::vector{false});
}

TEST_F(SqliteOriginTest, SpendCountsAndLiftsThePreviousCell) {
    const auto a = opened();
    KeyComponents components = key(cell("x", 11), 0);
    components.own[1] = 61;
    const SpendAnswer grants = spend(*a, components, {0});
    EXPECT_EQ(grants->granted, std::vector{false});
    EXPECT_EQ(grants->totals[1].own, 61U);
    EXPECT_EQ(read(*a, cell("x", 10))->total, 61U);
}

TEST_F(SqliteOriginTest, AGrantWhoseAnswerWasLostIsNotAddedAgain) {
    const auto a = opened();
    spend(*a, key(cell("x"), 0), {6});
    const SpendAnswer again = spend(*a, key(cell("x"), 0), {6});
    EXPECT_EQ(again->granted, std::vector{true});
    EXPECT_EQ(again->totals[0].total, 6U);
    EXPECT_EQ(read(*a, cell("x"))->total, 6U);
}

TEST_F(SqliteOriginTest, RetireMovesComponentsToTheOneOfStoppedNodes) {
    KeyComponents components = key(cell("x", 11), 3);
    components.own[1] = 4;
    for (const std::string node : {"a", "b"}) {
        const auto origin = opened(node);
        sync(*origin, components);
        for (int i = 0; i < 2; ++i) {  // the second time changes nothing
            const KeyAnswer answer = retire(*origin, components);
            EXPECT_EQ(answer->at(0).total, node == "a" ? 3U : 6U);
            EXPECT_EQ(answer->at(0).own, 0U);
            EXPECT_EQ(answer->at(1).total, node == "a" ? 4U : 8U);
        }
    }
    const auto c = opened("c");
    const CellListing current = list(*c, cell("x", 11));
    ASSERT_EQ(current.components.size(), 1U);
    EXPECT_EQ(current.components[0].owner, "stopped");
    EXPECT_EQ(current.components[0].count, 6U);
    EXPECT_EQ(current.lifetime, 2 * kMinute);
    EXPECT_EQ(list(*c, cell("x", 10)).components.at(0).count, 8U);
}

TEST_F(SqliteOriginTest, RetireLeavesOtherOwners) {
    lift(*opened("b"), cell("x"), 1);
    const auto a = opened("a");
    lift(*a, cell("x"), 3);
    lift(*a, cell("x"), 4, 1);
    retire(*a, key(cell("x"), 3));
    const CellListing listing = list(*a, cell("x"));
    ASSERT_EQ(listing.components.size(), 3U);
    EXPECT_EQ(listing.components[0].owner, "a.1");
    EXPECT_EQ(listing.components[1].owner, "b");
    EXPECT_EQ(listing.components[2].owner, "stopped");
    EXPECT_EQ(listing.components[2].count, 3U);
}

TEST_F(SqliteOriginTest, HeartbeatsComeFromOneNodeThatJoinsOnce) {
    {
        const auto a = opened();
        for (const bool is_first : {true, false}) {
            const HeartbeatAnswer answer = heartbeat(*a);
            EXPECT_EQ(answer->nodes, 1U);
            EXPECT_EQ(answer->has_joined, is_first);
            EXPECT_EQ(answer->clock_offset, 0ms);
        }
    }
    EXPECT_EQ(database()
                  .number("SELECT count FROM components WHERE cell = CAST('heartbeat' AS BLOB)")
                  .value(),
              2);
    EXPECT_TRUE(heartbeat(*opened())->has_joined) << "another process";
}

TEST_F(SqliteOriginTest, IgnoresAComponentWhenItsLifetimeIsOver) {
    const auto a = opened();
    lift(*a, cell("x"), 3, 0, 10s);
    clock_->add(9'999ms);
    EXPECT_EQ(read(*a, cell("x"))->total, 3U);
    clock_->add(1ms);
    EXPECT_EQ(read(*a, cell("x"))->total, 0U);
    EXPECT_EQ(read(*a, cell("x"))->own, 0U);
    EXPECT_TRUE(list(*a, cell("x")).components.empty());
}

TEST_F(SqliteOriginTest, ThePreviousCellLivesOneDurationLess) {
    KeyComponents components = key(cell("x", 11), 1);
    components.own[1] = 2;
    {
        const auto a = opened();
        sync(*a, components);
        EXPECT_EQ(list(*a, cell("x", 11)).lifetime, 2 * kMinute);
        EXPECT_EQ(list(*a, cell("x", 10)).lifetime, kMinute);
        components.current = cell("late", 11);
        components.lifetime = kMinute;
        EXPECT_EQ(sync(*a, components)->at(1).total, 0U) << "it no longer matters";
    }
    EXPECT_EQ(rows(), 3);
}

TEST_F(SqliteOriginTest, ExtendsALifetimeAndNeverShortensIt) {
    const auto a = opened();
    lift(*a, cell("x"), 3, 0, 10s);
    lift(*a, cell("x"), 4, 0, 1s);
    EXPECT_EQ(list(*a, cell("x")).lifetime, 10s);
    lift(*a, cell("x"), 1, 0, 20s);
    EXPECT_EQ(list(*a, cell("x")).lifetime, 20s);
    clock_->add(19'999ms);
    EXPECT_EQ(read(*a, cell("x"))->total, 4U);
}

TEST_F(SqliteOriginTest, DeletesExpiredRowsABoundedNumberAtATime) {
    {
        const auto a = opened();
        for (int batch = 0; batch < 5; ++batch) {
            std::vector<KeyComponents> keys;
            for (int i = 0; i < 500; ++i) {
                keys.push_back(key(cell(std::to_string(batch) + " " + std::to_string(i)), 1));
                keys.back().lifetime = 10s;
            }
            sync(*a, std::move(keys));
        }
        lift(*a, cell("lives"), 1, 0, 20s);
        clock_->add(10s);
        lift(*a, cell("x"), 1);
    }
    EXPECT_EQ(rows(), 2'502 - 1'002);
    {
        const auto a = opened();
        heartbeat(*a);
        heartbeat(*a);
        EXPECT_EQ(read(*a, cell("lives"))->total, 1U);
    }
    EXPECT_EQ(rows(), 2);
}

TEST_F(SqliteOriginTest, ListsTheComponentsByOwner) {
    lift(*opened("a"), cell("x"), 3, 0, 10s);
    lift(*opened("b"), cell("x"), 4, 7, 5s);
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

TEST_F(SqliteOriginTest, MayBeCalledAndDestroyedInAnAnswer) {
    auto a = opened();
    Count second = 0;
    a->sync({key(cell("x"), 1)}, [&](const auto&) {
        a->sync({key(cell("x"), 2)}, [&](const auto& answers) {
            second = answers.at(0)->at(0).total;
            a.reset();
        });
        a->heartbeat([](auto) { FAIL() << "its origin is gone"; });
    });
    run_until([&] { return second > 0; });
    EXPECT_EQ(second, 2U);
    EXPECT_EQ(a, nullptr);
    loop_.poll();
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

TEST_F(SqliteOriginTest, AFailedWriteIsReportedAsRefused) {
    const auto a = opened();
    lift(*a, cell("x"), 1);
    events_.clear();
    std::vector<KeyAnswer> answers;
    {
        const NoWrites broken;
        answers = sync(*a, {key(cell("x"), 2), key(cell("y"), 2)});
        EXPECT_EQ(events_, "refused ");
        EXPECT_FALSE(spend(*a, key(cell("x"), 1), {1}));
        EXPECT_FALSE(retire(*a, key(cell("x"), 1)));
        EXPECT_FALSE(heartbeat(*a));
        EXPECT_EQ(events_, "refused refused refused refused ");
        EXPECT_EQ(read(*a, cell("x"))->total, 1U) << "it can still be read";
    }
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_FALSE(answers[0]);
    EXPECT_FALSE(answers[1]);
    EXPECT_NE(why_.find(options().path), std::string::npos) << why_;
    EXPECT_NE(why_.find("reading or writing it failed"), std::string::npos) << why_;
    EXPECT_NE(why_.find("[SQLite: disk I/O error"), std::string::npos) << why_;
    EXPECT_TRUE(heartbeat(*a)->has_joined) << "the first one that was answered";
    EXPECT_EQ(lift(*a, cell("x"), 2)->total, 2U);
    EXPECT_EQ(read(*a, cell("y"))->total, 0U);
    EXPECT_EQ(events_, "refused refused refused refused ");
}

// While reads of a file that this process has opened fail, as on a disk that breaks.
class NoReads {
  public:
    explicit NoReads(const std::string& path) {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(entry, gone) == path)
                file_ = std::stoi(entry.path().filename());
        }
        EXPECT_NE(file_, -1);
        saved_ = dup(file_);
        const int folder = open("/", O_RDONLY | O_CLOEXEC);  // can't be read
        dup2(folder, file_);
        close(folder);
    }
    ~NoReads() {
        dup2(saved_, file_);
        close(saved_);
    }
    NoReads(const NoReads&) = delete;
    NoReads& operator=(const NoReads&) = delete;

  private:
    int file_ = -1;
    int saved_ = -1;
};

TEST_F(SqliteOriginTest, AFailedReadMakesItUnavailableUntilItFindsThatItWorks) {
    // More than SQLite caches.
    const auto identifier = [](int i) { return std::string(500, 'x') + std::to_string(i); };
    std::vector<CellName> cells;
    {
        const auto a = opened();
        std::vector<KeyComponents> keys;
        for (int i = 0; i < 10'000; ++i) {
            cells.push_back(cell(identifier(i)));
            keys.push_back(key(cells.back(), 1));
        }
        sync(*a, std::move(keys));
    }
    const auto a = opened();
    const auto list_all = [&] {
        return answer_of<std::vector<std::optional<CellListing>>>(
            [&](auto answered) { a->list(cells, answered); });
    };
    events_.clear();
    {
        const NoReads broken(options().path);
        const auto listings = list_all();
        ASSERT_EQ(listings.size(), cells.size());
        EXPECT_FALSE(listings[0]);
        EXPECT_EQ(events_, "unavailable ");
        EXPECT_NE(why_.find(options().path), std::string::npos) << why_;
    }
    run_until([&] { return events_ == "unavailable available "; });  // nobody called
    EXPECT_TRUE(list_all().at(0));
    EXPECT_EQ(events_, "unavailable available ");
}

TEST_F(SqliteOriginTest, FindsOutByItselfThatADiskWorksThatStalledAndFailed) {
    SqliteOriginOptions quick = options();
    quick.timeout = 50ms;
    const auto a = opened(quick);
    run_until([&] { return lift(*a, cell("x"), 1).has_value(); });
    events_.clear();
    clock_->stall();
    EXPECT_FALSE(lift(*a, cell("x"), 2));
    EXPECT_EQ(events_, "unavailable ");
    {
        const NoWrites broken;
        clock_->go_on();
        run_until([&] { return events_ == "unavailable refused "; });
    }
    run_until([&] { return events_.ends_with(" available "); });
    EXPECT_TRUE(events_.starts_with("unavailable refused ")) << events_;
}

TEST_F(SqliteOriginTest, AFullFileTakesCountsAgainWhenOldOnesHaveExpired) {
    SqliteOriginOptions small = options();
    small.max_bytes = 256 * 1'024;
    const auto a = opened(small);
    events_.clear();
    const auto batch = [](int number) {
        std::vector<KeyComponents> keys;
        for (int i = 0; i < 512; ++i) {
            keys.push_back(key(cell(std::to_string(number) + " " + std::to_string(i)), 1));
            keys.back().lifetime = 10s;
        }
        return keys;
    };
    int held = 0;
    while (held < 100 && sync(*a, batch(held)).at(0))
        ++held;
    ASSERT_GT(held, 0);
    ASSERT_LT(held, 100);
    EXPECT_EQ(events_, "refused ");
    EXPECT_NE(why_.find("disk is full"), std::string::npos) << why_;
    EXPECT_TRUE(read(*a, cell("0 0")));
    EXPECT_FALSE(heartbeat(*a)) << "there is room for one row, but not for a large call";
    EXPECT_FALSE(heartbeat(*a));
    clock_->add(10s);
    run_until([&] { return heartbeat(*a).has_value(); });
    EXPECT_TRUE(sync(*a, batch(held)).at(0));
}

// A call so large that the rows that are deleted with it make too little room.
TEST_F(SqliteOriginTest, AFullFileMakesRoomAlsoBetweenCallsThatFail) {
    SqliteOriginOptions small = options();
    small.max_bytes = 1'024 * 1'024;
    const auto a = opened(small);
    const auto keys_of = [](const std::string& prefix, int size) {
        std::vector<KeyComponents> keys;
        for (int i = 0; i < size; ++i) {
            keys.push_back(key(cell(prefix + std::to_string(i)), 1));
            keys.back().lifetime = 10s;
        }
        return keys;
    };
    int held = 0;
    while (held < 1'000 && sync(*a, keys_of("y" + std::to_string(held) + " ", 100)).at(0))
        ++held;
    ASSERT_GT(held, 50);
    ASSERT_LT(held, 1'000);
    clock_->add(10s);
    int failures = 0;
    while (failures < 100 && !sync(*a, keys_of(std::string(400, 'x'), 600)).at(0))
        ++failures;
    EXPECT_GT(failures, 0);
    EXPECT_LT(failures, 100);
}

TEST_F(SqliteOriginTest, AStalledDiskDelaysACallUpToItsTimeoutAndTheNextNotAtAll) {
    SqliteOriginOptions quick = options();
    quick.timeout = 50ms;
    const auto a = opened(quick);
    run_until([&] { return lift(*a, cell("x"), 1).has_value(); });
    events_.clear();
    clock_->stall();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_FALSE(lift(*a, cell("x"), 2));
    EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
    EXPECT_EQ(events_, "unavailable ");
    EXPECT_NE(why_.find("has taken 50 ms"), std::string::npos) << why_;
    int at_once = 0;
    a->sync({key(cell("x"), 3)}, [&](const auto& answers) { at_once += answers.at(0) ? 0 : 1; });
    a->heartbeat([&](auto answer) { at_once += answer ? 0 : 1; });
    EXPECT_EQ(at_once, 2);
    clock_->go_on();
    run_until([&] { return events_ == "unavailable available "; });
    run_until([&] { return read(*a, cell("x")).value_or(CellTotals{}).own == 2; });
}

// The calls behind a stuck one are dropped at their own deadlines, and their writes are not made up
// for later: their owner repeats them.
TEST_F(SqliteOriginTest, CallsThatWaitBehindAStuckOneEndAtTheirDeadlines) {
    SqliteOriginOptions quick = options();
    quick.timeout = 200ms;
    const auto a = opened(quick);
    clock_->stall();
    int answers = 0;
    int values = 0;
    for (Count own = 1; own <= 3; ++own) {
        a->sync({key(cell("x"), own)}, [&](const auto& answer) {
            ++answers;
            values += answer.at(0) ? 1 : 0;
        });
        clock_->wait_for_stalled();
    }
    EXPECT_EQ(answers, 0);
    run_until([&] { return answers == 3; });
    a->heartbeat([&](auto) { ++answers; });
    EXPECT_EQ(answers, 4) << "at once, while the first one is stuck";
    EXPECT_EQ(values, 0);
    clock_->go_on();
    run_until([&] { return events_ == "available unavailable available "; });
    EXPECT_EQ(answers, 4) << "each is answered once";
    run_until([&] { return read(*a, cell("x")).has_value(); });
    EXPECT_EQ(read(*a, cell("x")).value_or(CellTotals{}).own, 1U);
}

TEST_F(SqliteOriginTest, TheQueueIsBounded) {
    const auto a = opened();
    clock_->stall();
    std::size_t answers = 0;
    std::size_t values = 0;
    const auto beat = [&] {
        a->heartbeat([&](auto answer) {
            ++answers;
            values += answer ? 1U : 0U;
        });
    };
    beat();
    clock_->wait_for_stalled();
    for (std::size_t i = 0; i < FileWorker::kMaxQueued; ++i)
        beat();
    EXPECT_EQ(answers, 0U);
    beat();
    EXPECT_EQ(answers, 1U) << "at once";
    EXPECT_EQ(values, 0U);
    clock_->go_on();
    run_until([&] { return values == FileWorker::kMaxQueued + 1; });
    EXPECT_TRUE(heartbeat(*a)) << "there is room again";
}

TEST_F(SqliteOriginTest, ItsEndIsBoundedWhileTheDiskIsStalled) {
    lift(*opened(), cell("x"), 1);
    auto loop = std::make_unique<boost::asio::io_context>();
    std::unique_ptr<Origin> a = std::move(open_sqlite_origin(*loop, options()).value());
    clock_->stall();
    for (Count own = 2; own <= 3; ++own)
        a->sync({key(cell("x"), own)}, [](const auto&) { FAIL() << "its origin is gone"; });
    clock_->wait_for_stalled();
    const auto began = std::chrono::steady_clock::now();
    a.reset();
    EXPECT_GE(std::chrono::steady_clock::now() - began, FileWorker::kStopTimeout);
    EXPECT_LT(std::chrono::steady_clock::now() - began, FileWorker::kStopTimeout + kSoon);
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
    loop.reset();
    clock_->go_on();
    // The thread that was left behind ends the call that it was in, and closes the file.
    std::unique_ptr<Origin> again;
    run_until([&] {
        auto opening = open_sqlite_origin(loop_, options());
        if (opening) again = *std::move(opening);
        return again != nullptr;
    });
    EXPECT_EQ(read(*again, cell("x"))->own, 2U) << "and nothing that waited behind it";
}

// The child syncs as fast as it can, and writes each answer to `out`.
[[noreturn]] void sync_until_killed(const SqliteOriginOptions& options, int out) {
    boost::asio::io_context loop;
    const auto work = boost::asio::make_work_guard(loop);
    auto origin = open_sqlite_origin(loop, options);
    if (!origin) _exit(1);
    (*origin)->start({});
    for (Count own = 1;; ++own) {
        bool is_answered = false;
        (*origin)->sync({key(cell("x"), own), key(cell("y"), own)},
                        [&](const std::vector<KeyAnswer>& answers) {
                            if (!answers.at(0) || answers.at(0)->at(0).own != own) _exit(1);
                            (void)!write(out, &own, sizeof own);
                            is_answered = true;
                        });
        while (!is_answered)
            loop.run_one();
    }
}

TEST_F(SqliteOriginTest, AKilledProcessLosesNothingThatWasAnswered) {
    Count last = 0;
    for (int round = 0; round < 5; ++round) {
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe(ends.data()), 0);
        const std::string node = "child " + std::to_string(round);
        const pid_t child = fork();
        if (child == 0) sync_until_killed(options(node), ends[1]);
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
        const auto x = read(*origin, cell("x"));
        const auto y = read(*origin, cell("y"));
        EXPECT_GE(x->own, answered);
        EXPECT_LE(x->own, answered + 1);
        EXPECT_EQ(x->own, y->own);
        EXPECT_EQ(x->total, last + x->own);
        last = x->total;
    }
}

TEST_F(SqliteOriginTest, ASecondOwnerIsRefused) {
    const auto a = opened();
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
    EXPECT_TRUE(lift(*a, cell("x"), 1));
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
            lift(*a, cell(std::string(400, 'x') + std::to_string(i)), 1);
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
    lift(*opened(), cell("x"), 1);
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
    lift(*opened(), cell("x"), 1);
    ASSERT_FALSE(database().run("UPDATE components SET count = -1"));
    EXPECT_EQ(read(*opened(), cell("x"))->total, 0U);
    ASSERT_FALSE(database().run("UPDATE components SET count = 9223372036854775807"));
    EXPECT_EQ(read(*opened(), cell("x"))->total, kMaxCount);
}

TEST_F(SqliteOriginTest, AMissingFolderIsReported) {
    SqliteOriginOptions nowhere = options();
    nowhere.path = folder_ / "missing" / "counts.db";
    const auto origin = open_sqlite_origin(loop_, nowhere);
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
