#include "global/mysql/count_statements.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

CellName cell(std::string identifier) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = 60s,
            .sequence = 10};
}

TEST(CountStatements, PublishIsOneStatementWithNamesAsBytes) {
    const std::vector<RegionCount> rows = {{cell("a'\\"), 3}, {cell("b"), kMaxCount}};
    EXPECT_EQ(publish_statement("eu", rows, Stamp::kGrown),
              "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, "
              "duration_ms, sequence, region, count, expires_at, updated_at) VALUES "
              "(_binary'w',_binary'n',x'61275C',60000,10,_binary'eu',3,720000,"
              "@sluice_stamp := CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS UNSIGNED)),"
              "(_binary'w',_binary'n',_binary'b',60000,10,_binary'eu',9007199254740991,720000,"
              "@sluice_stamp) "
              "ON DUPLICATE KEY UPDATE updated_at = IF(VALUES(count) > count, "
              "GREATEST(updated_at, CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS UNSIGNED)), "
              "updated_at), count = GREATEST(count, VALUES(count))");
}

TEST(CountStatements, ADeleteIsBoundedAndUsesTheClockOfTheServer) {
    EXPECT_EQ(delete_statement(5s, 100),
              "DELETE FROM ratelimit_window_counts WHERE expires_at < "
              "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED) - 5000 ORDER BY expires_at "
              "LIMIT 100");
}

TEST(CountStatements, AnImportAsksForChangesOnlyWhereItIsIncremental) {
    const ImportQuery full{.living_at = UnixTime{5s}};
    EXPECT_EQ(import_statement(full, {}).find("updated_at >="), std::string::npos);
    const ImportQuery changed{.living_at = UnixTime{5s}, .changed_since = UnixTime{4s}};
    EXPECT_NE(import_statement(changed, {}).find("updated_at >= 4000 AND expires_at > 5000"),
              std::string::npos);
}

TEST(CountStatements, APageFollowsTheLastCellOfTheOneBefore) {
    const ImportQuery page{.living_at = {}, .after = cell("a"), .page_rows = 100};
    const std::string statement = page_end_statement(page);
    EXPECT_NE(statement.find(
                  "WHERE (workspace_id > _binary'w' OR (workspace_id = _binary'w' AND (namespace > "
                  "_binary'n' OR (namespace = _binary'n' AND (identifier > _binary'a' OR "
                  "(identifier = _binary'a' AND (duration_ms > 60000 OR (duration_ms = 60000 AND "
                  "(sequence > 10))))))))) ORDER BY"),
              std::string::npos)
        << statement;
    EXPECT_NE(statement.find("LIMIT 99, 1"), std::string::npos) << statement;
}

}  // namespace
}  // namespace sluice
