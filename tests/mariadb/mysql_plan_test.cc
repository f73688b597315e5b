// Query plans: statements use the intended indexes, and read a bounded number of rows.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "global/mysql/count_statements.h"
#include "support/mariadb_server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

using namespace std::chrono_literals;
using global_test::cell_of;
using global_test::Components;
using global_test::end_of;
using global_test::import_all;
using global_test::import_changed;
using global_test::publish;

constexpr Sequence kOld = 10;
constexpr Sequence kNew = 100'000'000;  // still matters in a hundred years
const UnixTime kNow = end_of(cell_of("x", kOld)) + 1ms;

// The EXPLAIN row of one table of a statement.
struct Step {
    std::string table;
    std::string type;
    std::string key;
    std::string extra;
};

class MysqlPlan : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = new MariadbServer; }
    static void TearDownTestSuite() {
        delete server_;
        server_ = nullptr;
    }
    void SetUp() override { server_->run("USE " + url_.database); }

    // Components of so many cells with this sequence, in three regions each, that changed long ago.
    void fill(int cells, Sequence sequence) {
        const std::string number = std::to_string(sequence);
        const std::string end = std::to_string((sequence + 2) * 60'000);
        server_->run(
            "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, "
            "duration_ms, sequence, region, count, expires_at, updated_at) SELECT CONCAT('w', "
            "c.seq % 50), 'n', CONCAT('user', c.seq), 60000, " +
            number + ", CONCAT('r', r.seq), 5, " + end + ", 1000000 + c.seq FROM seq_1_to_" +
            std::to_string(cells) + " AS c JOIN seq_1_to_3 AS r");
    }
    void analyze() { server_->run("ANALYZE TABLE ratelimit_window_counts"); }
    std::int64_t rows() { return server_->number("SELECT COUNT(*) FROM ratelimit_window_counts"); }
    std::int64_t rows_deleted_so_far() {
        return std::stoll(server_->rows("SHOW GLOBAL STATUS LIKE 'Handler_delete'").at(0).at(1));
    }

    // Rows and entries of indexes, by all sessions.
    std::int64_t rows_read_so_far() {
        std::int64_t sum = 0;
        for (const auto& row : server_->rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'"))
            sum += std::stoll(row.at(1));
        return sum;
    }
    static CellName page_cell(const std::string& workspace, const std::string& identifier) {
        CellName cell = cell_of(identifier, kNew);
        cell.workspace = workspace;
        return cell;
    }

    std::vector<Step> plan_of(const std::string& statement) {
        std::vector<Step> steps;
        for (const auto& row : server_->rows("EXPLAIN " + statement))
            steps.push_back({row.at(2), row.at(3), row.at(5), row.at(9)});
        return steps;
    }

    static MariadbServer* server_;
    const MysqlUrl url_ = server_->make_store();
};

MariadbServer* MysqlPlan::server_ = nullptr;

TEST_F(MysqlPlan, APageOfAFullImportIsARangeOfTheUniqueKey) {
    fill(5'000, kOld);
    fill(1'000, kNew);
    analyze();
    const PageEnd end{.cell = page_cell("w7", "user4"), .changed = {}};
    const ImportQuery query{.living_at = kNow, .after = page_cell("w42", "user3")};
    const ImportQuery first{.living_at = kNow};
    for (const std::string& statement :
         {import_statement(query, end), import_statement(query, std::nullopt)}) {
        const auto plan = plan_of(statement);
        ASSERT_EQ(plan.size(), 1U);
        EXPECT_EQ(plan[0].type, "range");
        EXPECT_EQ(plan[0].key, "unique_window_region");
        EXPECT_NE(plan[0].extra.find("index condition"), std::string::npos) << plan[0].extra;
        EXPECT_EQ(plan[0].extra.find("temporary"), std::string::npos) << plan[0].extra;
        EXPECT_EQ(plan[0].extra.find("filesort"), std::string::npos) << plan[0].extra;
    }
    for (const ImportQuery& page : {query, first}) {
        for (const Step& step : plan_of(page_end_statement(page))) {
            EXPECT_EQ(step.extra.find("filesort"), std::string::npos) << step.extra;
            if (step.table != "ratelimit_window_counts") continue;
            EXPECT_NE(step.type, "ALL");
            EXPECT_EQ(step.key, "unique_window_region");
            EXPECT_NE(step.extra.find("Using index"), std::string::npos) << step.extra;
        }
    }
}

// Of 45,000 rows, two thirds have expired.
TEST_F(MysqlPlan, APageReadsRowsInProportionToItsSize) {
    constexpr std::size_t kPageRows = 300;
    fill(10'000, kOld);
    fill(5'000, kNew);
    analyze();
    MysqlGlobalStore store(patient(url_, "r1"));
    static_cast<void>(store.list({}));  // connects
    const auto read_a_page = [&](const ImportQuery& query) {
        const std::int64_t before = rows_read_so_far();
        const auto end = store.import(query, [](const RegionRow&) {});
        EXPECT_TRUE(std::holds_alternative<ImportEnd>(end));
        EXPECT_TRUE(std::get<ImportEnd>(end).rest);
        return rows_read_so_far() - before;
    };
    const ImportQuery scan{
        .living_at = kNow, .after = page_cell("w42", "user3"), .page_rows = kPageRows};
    // Once to find the end of the page, and once to read it.
    EXPECT_LE(read_a_page(scan), static_cast<std::int64_t>(3 * kPageRows));
    const ImportQuery changes{
        .living_at = kNow, .changed_since = UnixTime{1'005s}, .page_rows = kPageRows};
    EXPECT_LE(read_a_page(changes), static_cast<std::int64_t>(3 * kPageRows));
}

TEST_F(MysqlPlan, AnIncrementalImportReadsOnlyRowsThatChanged) {
    fill(15'000, kNew);
    server_->run("UPDATE ratelimit_window_counts SET updated_at = 5000000 WHERE pk % 100 = 0");
    analyze();
    const ImportQuery query{.living_at = kNow, .changed_since = UnixTime{5'000s}};
    const PageEnd end{.cell = {}, .changed = UnixTime{6'000s}};
    const auto plan = plan_of(import_statement(query, end));
    ASSERT_EQ(plan.size(), 1U);
    EXPECT_EQ(plan[0].table, "ratelimit_window_counts");
    EXPECT_EQ(plan[0].type, "range");
    EXPECT_EQ(plan[0].key, "updated_at_idx");
    EXPECT_EQ(plan[0].extra.find("temporary"), std::string::npos) << plan[0].extra;
    MysqlGlobalStore store(patient(url_, "r1"));
    static_cast<void>(store.list({}));  // connects
    const std::int64_t before = rows_read_so_far();
    const auto changed = import_changed(store, *query.changed_since, kNow);
    EXPECT_GT(changed.visits, 0U);
    EXPECT_LE(rows_read_so_far() - before, static_cast<std::int64_t>(2 * changed.visits + 50));
}

TEST_F(MysqlPlan, ADeleteUsesTheIndexOnTheExpiryTime) {
    fill(10'000, kOld);
    fill(5'000, kNew);
    analyze();
    const auto plan = plan_of(delete_statement(1min, 1'000));
    ASSERT_EQ(plan.size(), 1U);
    EXPECT_EQ(plan[0].type, "range");
    EXPECT_EQ(plan[0].key, "expires_at_idx");
    EXPECT_EQ(plan[0].extra.find("filesort"), std::string::npos) << plan[0].extra;
}

// A chunk of a publish: other cells lie between those of the chunk.
TEST_F(MysqlPlan, AReadBackReadsTheRowsOfItsCells) {
    fill(5'000, kOld);
    fill(5'000, kNew);
    analyze();
    std::vector<RegionCount> chunk;
    for (int i = 1; i <= 1'000; ++i)
        chunk.push_back(
            {page_cell("w" + std::to_string(i * 5 % 50), "user" + std::to_string(i * 5)), 1});
    std::size_t ranges = 0;
    for (const Step& step : plan_of(components_statement(chunk))) {
        if (step.table != "ratelimit_window_counts") continue;
        ++ranges;
        EXPECT_EQ(step.type, "range");
        EXPECT_EQ(step.key, "unique_window_region");
        EXPECT_EQ(step.extra.find("filesort"), std::string::npos) << step.extra;
    }
    EXPECT_EQ(ranges, 1U);
    MysqlGlobalStore store(patient(url_, "r1"));
    static_cast<void>(store.list({}));  // connects
    std::size_t visits = 0;
    const std::int64_t before = rows_read_so_far();
    const auto end = store.read(chunk, [&](const RegionRow& row) {
        ++visits;
        EXPECT_EQ(row.cell.sequence, kNew);
    });
    ASSERT_TRUE(std::holds_alternative<PublishEnd>(end));
    EXPECT_EQ(visits, 3 * chunk.size());
    // A lookup for each cell, its rows, and the end of its range.
    EXPECT_LE(rows_read_so_far() - before, static_cast<std::int64_t>(5 * chunk.size() + 50));
}

TEST_F(MysqlPlan, AListingReadsTheRowsOfItsCell) {
    fill(5'000, kNew);
    analyze();
    const auto plan = plan_of(list_statement(cell_of("user7", kNew)));
    ASSERT_EQ(plan.size(), 1U);
    EXPECT_EQ(plan[0].type, "ref");
    EXPECT_EQ(plan[0].key, "unique_window_region");
    EXPECT_EQ(plan[0].extra.find("filesort"), std::string::npos) << plan[0].extra;
}

TEST_F(MysqlPlan, AnImportAfterFewChangesReturnsFewRows) {
    fill(15'000, kNew);
    MysqlGlobalStore store(patient(url_, "r1"));
    const auto full = import_all(store, kNow);
    EXPECT_EQ(full.visits, 45'000U);
    ASSERT_TRUE(full.newest);
    std::vector<RegionCount> grown;
    for (int i = 1; i <= 450; ++i) {
        RegionCount row{cell_of("user" + std::to_string(i * 7), kNew), 50};
        row.cell.workspace = "w" + std::to_string(i * 7 % 50);
        grown.push_back(row);
    }
    publish(store, grown);
    const auto changed = import_changed(store, *full.newest + 1ms, kNow);
    EXPECT_EQ(changed.visits, grown.size());
    EXPECT_LE(changed.visits * 20, full.visits);
    for (const RegionCount& row : grown) {
        EXPECT_EQ(changed.of(row.cell), (Components{{"r1", 50}}));
    }
}

TEST_F(MysqlPlan, ABacklogIsDeletedInBoundedBatchesAndLiveRowsStay) {
    constexpr std::size_t kAtMost = 1'500;
    fill(13'334, kOld);
    fill(1'000, kNew);
    ASSERT_EQ(rows(), 43'002);
    MysqlGlobalStore store(patient(url_));
    std::size_t deleted = 0;
    for (std::int64_t left = rows(); left > 3'000;) {
        const std::int64_t before = rows_deleted_so_far();
        const std::size_t now = global_test::delete_expired(store, 1min, kAtMost);
        const std::int64_t by_the_server = rows_deleted_so_far() - before;
        ASSERT_GT(now, 0U);
        EXPECT_LE(now, kAtMost);
        EXPECT_EQ(by_the_server, static_cast<std::int64_t>(now));
        EXPECT_EQ(left - rows(), static_cast<std::int64_t>(now));
        left = rows();
        deleted += now;
    }
    EXPECT_EQ(deleted, 40'002U);
    EXPECT_EQ(global_test::delete_expired(store, 1min, kAtMost), 0U);
    EXPECT_EQ(rows(), 3'000);
    EXPECT_EQ(import_all(store, kNow).visits, 3'000U);
}

TEST_F(MysqlPlan, TheCommentOfTheTableNamesItsIndexes) {
    const std::string comment =
        server_
            ->rows("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" +
                   url_.database + "' AND table_name = 'ratelimit_window_counts'")
            .at(0)
            .at(0);
    const auto indexes = server_->rows(
        "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = '" +
        url_.database + "' AND table_name = 'ratelimit_window_counts'");
    EXPECT_EQ(indexes.size(), 4U);
    for (const auto& index : indexes) {
        if (index.at(0) == "PRIMARY") continue;
        EXPECT_NE(comment.find(index.at(0)), std::string::npos) << index.at(0);
    }
}

}  // namespace
}  // namespace sluice::mariadb_test
