#include "service/global_store_url.h"

#include <cstdio>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "global/memory_store.h"
#include "url/store_url.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

// The counts in a store, by region: "east=5 ".
std::string counts_in(GlobalStore& store) {
    std::string counts;
    const auto end =
        store.import({.living_at = UnixTime{0ms}, .changed_since = {}}, [&](const RegionRow& row) {
            counts += row.region + "=" + std::to_string(row.count) + " ";
        });
    EXPECT_TRUE(std::holds_alternative<ImportEnd>(end));
    return counts;
}

bool publish(GlobalStore& store, const std::vector<RegionCount>& rows) {
    return std::holds_alternative<PublishEnd>(store.publish(rows, [](const RegionRow&) {}));
}

void publish_five(GlobalStore& store) {
    const std::vector<RegionCount> rows{{.cell = {.workspace = "w",
                                                  .name_space = "n",
                                                  .identifier = "i",
                                                  .duration = 60s,
                                                  .sequence = 1},
                                         .count = 5}};
    EXPECT_TRUE(publish(store, rows));
}

TEST(OpenGlobal, JoinsRegionsOfOneNameInMemory) {
    const auto east = open_global({.url = "memory:one", .region = "east"}).value();
    const auto west = open_global({.url = "memory:one", .region = "west"}).value();
    const auto apart = open_global({.url = "memory:two", .region = "west"}).value();
    publish_five(*east);
    EXPECT_EQ(counts_in(*west), "east=5 ");
    EXPECT_EQ(counts_in(*east), "east=5 ");
    EXPECT_EQ(counts_in(*apart), "");
}

TEST(OpenGlobal, RefusesUnknownUrlsWithoutShowingThem) {
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
        EXPECT_EQ(counts_in(*west), "east=5 ");
        EXPECT_EQ(counts_in(*east), "east=5 ");
    }
    for (const char* suffix : {"", "-wal", "-shm"})
        std::remove((path + suffix).c_str());
}

TEST(OpenGlobal, ShowsNoPassword) {
    EXPECT_EQ(shown_global("mysql://root:hush@host:3307/limits"), "mysql://root@host:3307/limits");
    EXPECT_EQ(shown_global("sqlite:/a/b.db"), "sqlite:/a/b.db");
}

TEST(OpenGlobal, CallsFailWhileTheDatabaseIsUnavailable) {
    const auto store =
        open_global({.url = "mysql://root:hush@127.0.0.1:1/limits", .region = "r"}).value();
    const auto deleted = store->delete_expired(1ms, 1);
    const auto* const failure = std::get_if<StoreFailure>(&deleted);
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->kind, StoreFailure::Kind::kLost);
    EXPECT_EQ(failure->why.find("hush"), std::string::npos) << failure->why;
}

constexpr UnixTime kNow{1'000'000'000ms};

// A cell that mattered until `age` before kNow.
RegionCount expired_for(std::chrono::milliseconds age, int number) {
    const auto sequence = (kNow - age).time_since_epoch() / 1s - 2;
    return {.cell = {.workspace = "w",
                     .name_space = "n",
                     .identifier = std::to_string(number),
                     .duration = 1s,
                     .sequence = sequence},
            .count = 1};
}

class CleanupTest : public testing::Test {
  protected:
    void hold(std::chrono::milliseconds age, int rows) {
        for (int i = 0; i < rows; ++i) {
            const std::vector<RegionCount> one{expired_for(age, i)};
            ASSERT_TRUE(publish(*store_, one));
        }
    }

    Result<CleanupOutcome> clean(std::size_t batch) {
        return cleanup_global(*store_, {.batch = batch, .pause = [this](auto deleted) {
                                            pauses_.push_back(deleted);
                                            return pauses_.size() < most_pauses_;
                                        }});
    }

    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([] { return kNow; });
    std::unique_ptr<GlobalStore> store_ = world_->join("here");
    std::vector<std::uint64_t> pauses_;
    std::size_t most_pauses_ = 1'000;
};

TEST_F(CleanupTest, DeletesInBatchesWithPausesBetween) {
    hold(2min, 25);
    const auto outcome = clean(10);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->deleted, 25U);
    EXPECT_TRUE(outcome->complete);
    EXPECT_EQ(pauses_, (std::vector<std::uint64_t>{10, 20}));
    EXPECT_TRUE(world_->held().empty());
}

TEST_F(CleanupTest, KeepsRowsThatANodeWithASlowClockMayNeed) {
    hold(59s, 3);
    hold(-10s, 3);
    EXPECT_EQ(clean(10)->deleted, 0U);
    EXPECT_EQ(world_->held().size(), 6U);
    hold(62s, 3);
    EXPECT_EQ(clean(10)->deleted, 3U);
    EXPECT_EQ(world_->held().size(), 6U);
}

TEST_F(CleanupTest, StopsWhenPauseReturnsFalse) {
    hold(2min, 25);
    most_pauses_ = 1;
    const auto outcome = clean(10);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->deleted, 10U);
    EXPECT_FALSE(outcome->complete);
    EXPECT_EQ(world_->held().size(), 15U);
}

// Answers deletes from a script.
class ScriptedStore final : public GlobalStore {
  public:
    explicit ScriptedStore(std::deque<StoreResult<std::size_t>> answers)
        : answers_(std::move(answers)) {}
    StoreResult<std::size_t> delete_expired(std::chrono::milliseconds, std::size_t) override {
        auto answer = answers_.front();
        answers_.pop_front();
        return answer;
    }
    StoreResult<PublishEnd> publish(std::span<const RegionCount>, const Visit&) override {
        return PublishEnd{};
    }
    StoreResult<PublishEnd> read(std::span<const RegionCount>, const Visit&) override {
        return PublishEnd{};
    }
    std::uint64_t connections() const override { return 1; }
    StoreResult<ImportEnd> import(const ImportQuery&, const Visit&) override { return ImportEnd{}; }
    StoreResult<std::vector<GlobalListing>> list(std::span<const CellName>) override {
        return std::vector<GlobalListing>{};
    }
    void interrupt() override {}

  private:
    std::deque<StoreResult<std::size_t>> answers_;
};

const StoreFailure kBusy{StoreFailure::Kind::kBusy, "db: busy"};
const StoreFailure kLost{StoreFailure::Kind::kLost, "db: gone"};

Result<CleanupOutcome> clean(std::deque<StoreResult<std::size_t>> answers) {
    ScriptedStore store(std::move(answers));
    return cleanup_global(store, {.batch = 10, .pause = [](auto) { return true; }});
}

TEST(Cleanup, RetriesWhileTheStoreIsBusy) {
    const auto outcome = clean({std::size_t{10}, kBusy, kBusy, kBusy, kBusy, std::size_t{3}});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->deleted, 13U);
}

TEST(Cleanup, GivesUpWhenTheStoreStaysBusyOrFails) {
    const auto busy = clean({std::size_t{10}, kBusy, kBusy, kBusy, kBusy, kBusy});
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().message, "db: busy; 10 rows were deleted before that");
    const auto lost = clean({kLost});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().message, "db: gone; 0 rows were deleted before that");
}

}  // namespace
}  // namespace sluice
