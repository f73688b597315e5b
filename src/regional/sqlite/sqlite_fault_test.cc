// The SQLite origin on a disk that fails, stalls or is full.
#include <csignal>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "regional/sqlite/file_worker.h"
#include "regional/sqlite/sqlite_origin_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

using SqliteFaultTest = SqliteOriginFixture;

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

TEST_F(SqliteFaultTest, AFailedWriteIsReportedAsRefused) {
    const auto a = opened();
    lift(*a, cell("x"), 1);
    events_.clear();
    std::vector<KeyAnswer> answers;
    {
        const NoWrites broken;
        answers = sync(*a, {key(cell("x"), 2), key(cell("y"), 2)});
        EXPECT_EQ(events_, "refused ");
        EXPECT_FALSE(spend(*a, key(cell("x"), 1), {1}));
        EXPECT_FALSE(heartbeat(*a));
        EXPECT_EQ(events_, "refused refused refused ");
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
    EXPECT_EQ(events_, "refused refused refused ");
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

TEST_F(SqliteFaultTest, AFailedReadMakesItUnavailableUntilAProbeSucceeds) {
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
    run_until([&] { return events_ == "unavailable available "; });  // without a call
    EXPECT_TRUE(list_all().at(0));
    EXPECT_EQ(events_, "unavailable available ");
}

TEST_F(SqliteFaultTest, DetectsThatADiskWorksAgainAfterAStallAndAFailure) {
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

TEST_F(SqliteFaultTest, AFullFileAcceptsCountsAgainWhenOldOnesHaveExpired) {
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
TEST_F(SqliteFaultTest, AFullFileDeletesExpiredRowsAlsoBetweenCallsThatFail) {
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

TEST_F(SqliteFaultTest, AStalledDiskDelaysACallUpToItsTimeoutAndTheNextNotAtAll) {
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

// The calls behind a stuck one are dropped at their own deadlines, and their writes are not made
// later: their owner repeats them.
TEST_F(SqliteFaultTest, CallsQueuedBehindAStuckOneEndAtTheirDeadlines) {
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

TEST_F(SqliteFaultTest, TheQueueIsBounded) {
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

TEST_F(SqliteFaultTest, ItsDestructionIsBoundedWhileTheDiskIsStalled) {
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
    // The detached thread finishes its call and closes the file.
    std::unique_ptr<Origin> again;
    run_until([&] {
        auto opening = open_sqlite_origin(loop_, options());
        if (opening) again = *std::move(opening);
        return again != nullptr;
    });
    EXPECT_EQ(read(*again, cell("x"))->own, 2U) << "and no call that was queued behind it";
}

}  // namespace
}  // namespace sluice
