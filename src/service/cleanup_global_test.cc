#include "service/cleanup_global.h"

#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "global/memory_store.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

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
            ASSERT_FALSE(store_->publish(one));
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

TEST_F(CleanupTest, LeavesWhatANodeWithASlowClockMayStillNeed) {
    hold(59s, 3);
    hold(-10s, 3);
    EXPECT_EQ(clean(10)->deleted, 0U);
    EXPECT_EQ(world_->held().size(), 6U);
    hold(62s, 3);
    EXPECT_EQ(clean(10)->deleted, 3U);
    EXPECT_EQ(world_->held().size(), 6U);
}

TEST_F(CleanupTest, StopsWhereItIsTold) {
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
    std::optional<StoreFailure> publish(std::span<const RegionCount>) override { return {}; }
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

TEST(Cleanup, AsksABusyStoreAgain) {
    const auto outcome = clean({std::size_t{10}, kBusy, kBusy, kBusy, kBusy, std::size_t{3}});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->deleted, 13U);
}

TEST(Cleanup, GivesUpWhereTheStoreStaysBusyOrIsLost) {
    const auto busy = clean({std::size_t{10}, kBusy, kBusy, kBusy, kBusy, kBusy});
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().message, "db: busy; 10 rows were deleted before that");
    const auto lost = clean({kLost});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().message, "db: gone; 0 rows were deleted before that");
}

}  // namespace
}  // namespace sluice
