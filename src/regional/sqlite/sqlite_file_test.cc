// The file of the SQLite origin: crashes, damage, foreign files, query plans.
#include <array>
#include <csignal>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include "regional/sqlite/sqlite_origin_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using SqliteFileTest = SqliteOriginFixture;

// The child syncs as fast as it can, and writes each answer to `out`.
[[noreturn]] void sync_until_killed(const SqliteOriginOptions& options, int out) {
    using F = SqliteOriginFixture;
    boost::asio::io_context loop;
    const auto work = boost::asio::make_work_guard(loop);
    auto origin = open_sqlite_origin(loop, options);
    if (!origin) _exit(1);
    (*origin)->start({});
    for (Count own = 1;; ++own) {
        bool is_answered = false;
        (*origin)->sync({F::key(F::cell("x"), own), F::key(F::cell("y"), own)},
                        [&](const std::vector<KeyAnswer>& answers) {
                            if (!answers.at(0) || answers.at(0)->at(0).own != own) _exit(1);
                            (void)!write(out, &own, sizeof own);
                            is_answered = true;
                        });
        while (!is_answered)
            loop.run_one();
    }
}

TEST_F(SqliteFileTest, AKilledProcessLosesNothingThatWasAnswered) {
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

TEST_F(SqliteFileTest, ASecondOwnerIsRefused) {
    const auto a = opened();
    EXPECT_NE(open_error().find("another process uses it"), std::string::npos) << open_error();
    EXPECT_TRUE(lift(*a, cell("x"), 1));
}

TEST_F(SqliteFileTest, AFileThatIsNoDatabaseIsReported) {
    std::ofstream(options().path) << std::string(8'192, 'x');
    EXPECT_NE(open_error().find("damaged or no SQLite database"), std::string::npos)
        << open_error();
    EXPECT_NE(open_error().find("begin without counts of the region"), std::string::npos);
    EXPECT_NE(open_error().find(options().path), std::string::npos);
}

TEST_F(SqliteFileTest, ADamagedPageIsReported) {
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

TEST_F(SqliteFileTest, ANewerSchemaIsLeftAlone) {
    lift(*opened(), cell("x"), 1);
    ASSERT_FALSE(database().run("PRAGMA user_version = 2"));
    EXPECT_NE(open_error().find("version 2"), std::string::npos) << open_error();
    EXPECT_EQ(rows(), 1);
}

TEST_F(SqliteFileTest, AnotherProgramsDatabaseIsLeftAlone) {
    ASSERT_FALSE(database().run("CREATE TABLE theirs (x)"));
    EXPECT_NE(open_error().find("another program"), std::string::npos) << open_error();
    ASSERT_FALSE(database().run("PRAGMA user_version = 1"));
    EXPECT_NE(open_error().find("another program"), std::string::npos) << open_error();
    EXPECT_EQ(database().number("SELECT count(*) FROM sqlite_schema").value(), 1);
}

TEST_F(SqliteFileTest, CountsOutOfRangeAreClamped) {
    lift(*opened(), cell("x"), 1);
    ASSERT_FALSE(database().run("UPDATE components SET count = -1"));
    EXPECT_EQ(read(*opened(), cell("x"))->total, 0U);
    ASSERT_FALSE(database().run("UPDATE components SET count = 9223372036854775807"));
    EXPECT_EQ(read(*opened(), cell("x"))->total, kMaxCount);
}

TEST_F(SqliteFileTest, AMissingFolderIsReported) {
    SqliteOriginOptions nowhere = options();
    nowhere.path = folder_ / "missing" / "counts.db";
    const auto origin = open_sqlite_origin(loop_, nowhere);
    ASSERT_FALSE(origin);
    EXPECT_NE(origin.error().message.find("folder must exist"), std::string::npos)
        << origin.error().message;
}

// Neither statement may become slower with the number of cells in the file.
TEST_F(SqliteFileTest, ItsStatementsUseAnIndex) {
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
