#include "service/open_global.h"

#include <cstdio>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "url/store_url.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

Count foreign_in(GlobalStore& store) {
    Count sum = 0;
    const auto end = store.import({.living_at = UnixTime{0ms}, .changed_since = {}},
                                  [&](const ImportedCell& cell) { sum += cell.foreign; });
    EXPECT_TRUE(std::holds_alternative<ImportEnd>(end));
    return sum;
}

void publish_five(GlobalStore& store) {
    const std::vector<RegionCount> rows{{.cell = {.workspace = "w",
                                                  .name_space = "n",
                                                  .identifier = "i",
                                                  .duration = 60s,
                                                  .sequence = 1},
                                         .count = 5}};
    EXPECT_FALSE(store.publish(rows));
}

TEST(OpenGlobal, JoinsRegionsOfOneNameInMemory) {
    const auto east = open_global({.url = "memory:one", .region = "east"}).value();
    const auto west = open_global({.url = "memory:one", .region = "west"}).value();
    const auto apart = open_global({.url = "memory:two", .region = "west"}).value();
    publish_five(*east);
    EXPECT_EQ(foreign_in(*west), 5U);
    EXPECT_EQ(foreign_in(*east), 0U);
    EXPECT_EQ(foreign_in(*apart), 0U);
}

TEST(OpenGlobal, RefusesWhatItDoesNotKnowAndNeverRepeatsIt) {
    for (const std::string url : {"",
                                  "memory:",
                                  "sqlite:",
                                  "mongo://root:hush@host/db",
                                  "hush",
                                  "mysql://root:hush@host",
                                  "mysql:root:hush@host/db"}) {
        const auto error = invalid_global(url);
        ASSERT_TRUE(error) << url;
        EXPECT_EQ(error->code, kInvalidOption);
        EXPECT_EQ(error->message.find("hush"), std::string::npos) << error->message;
        EXPECT_EQ(shown_global(url).find("hush"), std::string::npos);
        EXPECT_FALSE(open_global({.url = url, .region = "r"}));
    }
}

TEST(OpenGlobal, JoinsRegionsInAFile) {
    const std::string path =
        testing::TempDir() + "sluice_open_global_" + std::to_string(getpid()) + ".db";
    {
        const auto east = open_global({.url = "sqlite:" + path, .region = "east"}).value();
        const auto west = open_global({.url = "sqlite:" + path, .region = "west"}).value();
        publish_five(*east);
        EXPECT_EQ(foreign_in(*west), 5U);
        EXPECT_EQ(foreign_in(*east), 0U);
    }
    for (const char* suffix : {"", "-wal", "-shm"})
        std::remove((path + suffix).c_str());
}

TEST(OpenGlobal, ShowsNoPassword) {
    EXPECT_EQ(shown_global("mysql://root:hush@host:3307/limits"), "mysql://root@host:3307/limits");
    EXPECT_EQ(shown_global("sqlite:/a/b.db"), "sqlite:/a/b.db");
}

TEST(OpenGlobal, ADatabaseThatIsAwayIsToldByItsCalls) {
    const auto store =
        open_global({.url = "mysql://root:hush@127.0.0.1:1/limits", .region = "r"}).value();
    const auto deleted = store->delete_expired(1ms, 1);
    const auto* const failure = std::get_if<StoreFailure>(&deleted);
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->kind, StoreFailure::Kind::kLost);
    EXPECT_EQ(failure->why.find("hush"), std::string::npos) << failure->why;
}

}  // namespace
}  // namespace sluice
