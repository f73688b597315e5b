// Ten regions on one file, ten minutes of their time, with faults at random.
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "global/fleet.h"
#include "global/sqlite/sqlite_global_store.h"
#include "support/process.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST(TenRegions, AfterAQuietIntervalAllKnowTheExactTotals) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const server_test::ScratchFolder folder;
        const std::string path = folder.path("global.db");
        Fleet fleet(seed,
                    {.regions = 10,
                     .nodes_per_region = 1,
                     .join = [&](const std::string& region) -> std::unique_ptr<GlobalStore> {
                         return std::make_unique<SqliteGlobalStore>(
                             SqliteGlobalOptions{.path = path, .region = region});
                     }});
        fleet.run(10min);
        ASSERT_EQ(fleet.fault(), "") << "seed " << seed;
        fleet.settle();
        ASSERT_EQ(fleet.fault(), "") << "seed " << seed;
        EXPECT_EQ(fleet.difference(), "") << "seed " << seed;
        EXPECT_GT(fleet.published_cells(), 20U);
        RecordProperty("decisions", static_cast<int>(fleet.decisions()));
    }
}

}  // namespace
}  // namespace sluice
