// `sluice migrate` and `sluice cleanup` on a real server.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/mariadb_server.h"
#include "support/process.h"

namespace sluice::mariadb_test {
namespace {

using regional_test::eventually;
using server_test::Ending;
using server_test::Program;

class GlobalCommand : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = std::make_unique<MariadbServer>(); }
    static void TearDownTestSuite() { server_.reset(); }

    Ending sluice(const std::vector<std::string>& arguments) const {
        Ending ending = server_test::run(arguments, environment());
        EXPECT_EQ((ending.out + ending.err).find("secret"), std::string::npos);
        return ending;
    }
    std::vector<std::string> environment() const {
        return {"SLUICE_GLOBAL=" + server_->url_text(database_)};
    }
    std::string shown() const { return server_->url(database_).shown(); }

    std::int64_t tables() const {
        return server_->number(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + database_ +
            "'");
    }
    std::int64_t rows() const {
        return server_->number("SELECT COUNT(*) FROM " + database_ + ".ratelimit_window_counts");
    }
    // Rows that expire so many seconds from now.
    void add_rows(int count, int expiring_in) const {
        server_->run(
            "INSERT INTO " + database_ +
            ".ratelimit_window_counts (workspace_id, namespace, identifier, duration_ms, "
            "sequence, region, count, expires_at, updated_at) SELECT 'w', 'n', seq, 1000, " +
            std::to_string(expiring_in) + ", 'eu', 1, (UNIX_TIMESTAMP() + " +
            std::to_string(expiring_in) + ") * 1000, 1 FROM seq_1_to_" + std::to_string(count));
    }

    static inline std::unique_ptr<MariadbServer> server_;
    const std::string database_ = server_->make_database();
};

TEST_F(GlobalCommand, MigratePrintsItsPlanInADryRunAndRunsOnce) {
    const Ending dry = sluice({"migrate", "--dry-run"});
    EXPECT_EQ(dry.exit_code, 0) << dry.err;
    EXPECT_TRUE(dry.out.starts_with("-- " + shown() + ": would go from no tables to version 3"))
        << dry.out;
    EXPECT_NE(dry.out.find("ratelimit_window_counts"), std::string::npos);
    EXPECT_EQ(tables(), 0);
    const Ending first = sluice({"migrate"});
    EXPECT_EQ(first.exit_code, 0) << first.err;
    EXPECT_EQ(first.out, shown() + ": from no tables to version 3\n");
    EXPECT_GT(tables(), 0);
    const Ending again = sluice({"migrate"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.out, shown() + ": up to date, version 3\n");
}

TEST_F(GlobalCommand, ConcurrentMigrationsRunOnce) {
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < 4; ++i)
        programs.push_back(
            std::make_unique<Program>(std::vector<std::string>{"migrate"}, environment()));
    int made = 0;
    for (const auto& program : programs) {
        const Ending ending = program->wait();
        EXPECT_EQ(ending.exit_code, 0) << ending.err;
        if (ending.out.find("from no tables") != std::string::npos) ++made;
    }
    EXPECT_EQ(made, 1);
}

TEST_F(GlobalCommand, CleanupFailsWithoutTheTables) {
    const Ending ending = sluice({"cleanup"});
    EXPECT_EQ(ending.exit_code, 2);
    EXPECT_EQ(ending.out, "");
    EXPECT_NE(ending.err.find("sluice migrate"), std::string::npos) << ending.err;
}

TEST_F(GlobalCommand, CleanupDeletesOnlyExpiredRows) {
    ASSERT_EQ(sluice({"migrate"}).exit_code, 0);
    add_rows(25'000, -3'600);
    add_rows(100, -30);
    add_rows(100, 3'600);
    const Ending ending = sluice({"cleanup", "--pause", "0ms"});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_EQ(ending.out,
              "deleted 10000 rows so far\ndeleted 20000 rows so far\n" + shown() +
                  ": deleted 25000 expired rows\n");
    EXPECT_EQ(rows(), 200) << "a minute's grace for clocks that are behind";
}

TEST_F(GlobalCommand, CleanupWithAClockThatIsAYearAheadDeletesOnlyExpiredRows) {
    ASSERT_EQ(sluice({"migrate"}).exit_code, 0);
    add_rows(10, -3'600);
    add_rows(100, -30);
    add_rows(100, 3'600);
    auto ahead = environment();
    ahead.push_back(std::string("LD_PRELOAD=") + SHIFTED_CLOCK_LIBRARY);
    ahead.push_back("SHIFTED_CLOCK_SECONDS=31536000");
    // A library that is loaded before AddressSanitizer's.
    ahead.push_back("ASAN_OPTIONS=verify_asan_link_order=0");
    const Ending ending = server_test::run({"cleanup"}, ahead);
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_EQ(ending.out, shown() + ": deleted 10 expired rows\n");
    EXPECT_EQ(rows(), 200);
}

TEST_F(GlobalCommand, CleanupStopsAtASignalAndTheNextOneContinues) {
    ASSERT_EQ(sluice({"migrate"}).exit_code, 0);
    add_rows(30, -3'600);
    for (const int signal : {SIGTERM, SIGINT}) {
        const std::int64_t before = rows();
        Program program({"cleanup", "--batch", "10", "--pause", "10m"}, environment());
        EXPECT_TRUE(eventually([&] { return rows() < before; }));
        program.signal(signal);
        const Ending ending = program.wait();
        EXPECT_EQ(ending.exit_code, 0) << ending.err;
        EXPECT_EQ(ending.out,
                  shown() + ": deleted 10 expired rows; interrupted, more may be left\n");
    }
    EXPECT_EQ(rows(), 10);
    EXPECT_EQ(sluice({"cleanup"}).exit_code, 0);
    EXPECT_EQ(rows(), 0);
}

}  // namespace
}  // namespace sluice::mariadb_test
