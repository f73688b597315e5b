// Regions over a store whose calls are lost, repeated, reordered and cut in pieces, with nodes that
// restart: what must hold at all times does, and in the end all know the exact counts.
#include <gtest/gtest.h>

#include "global/fleet.h"
#include "global/memory_store.h"

namespace sluice {
namespace {

using std::chrono::seconds;

TEST(GlobalNetwork, ComponentsStayApartAndEndExact) {
    constexpr std::uint64_t kSeeds = 300;
    std::size_t cells = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto world = MemoryWorld::create([] { return UnixTime{seconds{1'700'000'000}}; });
        Fleet fleet(seed,
                    {.regions = 2 + seed % 4,
                     .nodes_per_region = 1 + seed % 3,
                     .join = [&](const std::string& region) { return world->join(region); }});
        fleet.run(seconds{90});
        ASSERT_EQ(fleet.fault(), "") << "seed " << seed;
        fleet.settle();
        ASSERT_EQ(fleet.fault(), "") << "seed " << seed;
        ASSERT_EQ(fleet.difference(), "") << "seed " << seed;
        cells += fleet.published_cells();
    }
    EXPECT_GT(cells, kSeeds);
}

}  // namespace
}  // namespace sluice
