// How a node fares with an origin that goes away, fails, forgets and comes back.
#include "regional/region.h"

#include <deque>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "regional/memory_origin.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr Duration kMinute{60'000};
constexpr Sequence kSequence = 100;
constexpr UnixTime kNow = start_of(kSequence, kMinute);

// An origin that does as the test says.
class TestOrigin : public Origin {
  public:
    explicit TestOrigin(MemoryRegion& region) : origin_(region.join()) {}

    void start(OriginEvents origin_events) override { events = std::move(origin_events); }
    void read(std::vector<CellQuestion> cells, Answered answered) override {
        ++reads;
        if (!fails_for.empty()) return answer_in_part(cells, std::move(answered));
        if (fails) return answered(std::vector<CellAnswer>(cells.size()));
        if (holds_back) return held.push_back({std::move(answered), cells.size()});
        origin_->read(std::move(cells), std::move(answered));
    }
    void raise(std::vector<CellComponent> components, Answered answered) override {
        ++raises;
        if (on_raise) on_raise();
        if (!fails_for.empty()) return answer_in_part(components, std::move(answered));
        if (fails) return answered(std::vector<CellAnswer>(components.size()));
        if (holds_back) return held.push_back({std::move(answered), components.size()});
        origin_->raise(std::move(components), std::move(answered));
    }
    void list(std::vector<CellName> cells, Listed listed) override {
        origin_->list(std::move(cells), std::move(listed));
    }
    std::string node() const override { return origin_->node(); }

    void time_out() {
        for (auto& [answered, cells] : std::exchange(held, {}))
            answered(std::vector<CellAnswer>(cells));
    }

    OriginEvents events;
    bool fails = false;
    std::string fails_for;  // identifiers that begin like this, where it isn't empty
    std::function<void()> on_raise;
    bool holds_back = false;
    std::deque<std::pair<Answered, std::size_t>> held;
    int reads = 0;
    int raises = 0;

  private:
    void ask(const CellQuestion& cell, const Answered& answered) {
        origin_->read({cell}, answered);
    }
    void ask(const CellComponent& cell, const Answered& answered) {
        origin_->raise({cell}, answered);
    }
    template <class Cell>
    void answer_in_part(const std::vector<Cell>& cells, const Answered& answered) {
        std::vector<CellAnswer> answers;
        for (const Cell& cell : cells) {
            answers.emplace_back();
            if (cell.cell.identifier.starts_with(fails_for)) continue;
            ask(cell, [&](const std::vector<CellAnswer>& one) { answers.back() = one[0]; });
        }
        answered(std::move(answers));
    }

    std::unique_ptr<Origin> origin_;
};

class RegionTest : public testing::Test {
  protected:
    RegionTest() {
        region_.start();
        origin_.events.back(true);
        run();
    }

    static Request request(std::string_view identifier) {
        return {.name_space = "n", .identifier = identifier, .limit = 10, .duration = kMinute};
    }
    // By a request that named `limit`; 0 is a small one.
    void spend(std::string_view identifier, Count cost, Count limit = 0) {
        const EpochPin pin;
        Instant at{};
        const Request one = request(identifier);
        Entry& entry = table_->entry_for(table_->key(one), requests_time_, at);
        entry.note_use(limit, requests_time_);
        entry.admitted(kSequence).add(kSequence, cost);
        table_->settle(entry, kSequence, cost, one);
    }
    // Steps for as long as there is something to do at once.
    void run() {
        while (std::exchange(wants_turn_, false))
            region_.step();
    }
    // Lets time pass, step by step.
    void wait(milliseconds time) {
        for (const auto end = now_ + time; now_ < end;) {
            now_ += 10ms;
            if (region_.wake_at() && *region_.wake_at() <= now_) region_.step();
            run();
        }
    }
    // The same while requests come whose limits are far.
    void wait_busy(milliseconds time) {
        for (const auto end = now_ + time; now_ < end;) {
            table_->changed().note_activity();
            wait(50ms);
        }
    }
    // Asks for a key, and tells what was heard: 1, 0, or -1 for nothing yet.
    std::shared_ptr<int> refresh(std::string_view identifier) {
        auto heard = std::make_shared<int>(-1);
        const Request one = request(identifier);
        region_.refresh({&one, 1}, kNow, [heard](bool fresh) { *heard = fresh ? 1 : 0; });
        run();
        return heard;
    }
    Count total(std::string_view identifier) {
        Count total = 0;
        witness_->read({{.cell = {.workspace = "default",
                                  .name_space = "n",
                                  .identifier = std::string(identifier),
                                  .duration = kMinute,
                                  .sequence = kSequence},
                         .incarnation = 0}},
                       [&](const auto& answers) { total = answers[0]->total; });
        return total;
    }

    Region::Time now_{1h};
    UnixTime requests_time_ = kNow;
    std::shared_ptr<MemoryRegion> shared_ = MemoryRegion::create([this] { return now_; });
    std::unique_ptr<Origin> witness_ = shared_->join();
    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 10'000, .sharing = Sharing::kShared, .seed = 1});
    TestOrigin origin_{*shared_};
    bool wants_turn_ = false;
    std::vector<std::string> changes_;
    Region region_{*table_,
                   origin_,
                   {.clock = [this] { return now_; },
                    .much = 2,
                    .again = [this] { wants_turn_ = true; },
                    .changed =
                        [this](bool away, const std::string& why) {
                            changes_.push_back(away ? "away: " + why : "back");
                        }}};
};

TEST_F(RegionTest, TellsWhatWasSpentAsSoonAsItIs) {
    spend("a", 3);
    run();
    EXPECT_EQ(total("a"), 3U);
    EXPECT_TRUE(region_.is_settled());
    EXPECT_FALSE(wants_turn_) << "nothing to do, no turn wanted";
}

TEST_F(RegionTest, AnswersAtOnceWhileTheOriginIsAway) {
    origin_.fails = true;
    origin_.events.away("it is down");
    EXPECT_TRUE(region_.is_away());
    EXPECT_EQ(*refresh("a"), 0);
    spend("a", 3);
    wait(10s);
    EXPECT_EQ(total("a"), 0U);
    origin_.fails = false;
    origin_.events.back(true);
    run();
    EXPECT_EQ(total("a"), 3U);
    EXPECT_EQ(*refresh("a"), 1);
    EXPECT_EQ(changes_, (std::vector<std::string>{"back", "away: it is down", "back"}));
    EXPECT_EQ(region_.counts().outages, 1U);
}

TEST_F(RegionTest, TellsEverythingAgainToAnOriginThatForgot) {
    for (int i = 0; i < 5'000; ++i)
        spend("key " + std::to_string(i), 1 + static_cast<Count>(i % 3));
    run();
    EXPECT_EQ(total("key 4999"), 2U);
    shared_->forget();
    origin_.events.forgot();
    run();
    for (int i = 0; i < 5'000; ++i)
        ASSERT_EQ(total("key " + std::to_string(i)), 1U + static_cast<Count>(i % 3)) << i;
    EXPECT_EQ(region_.counts().resubmissions, 1U);
}

TEST_F(RegionTest, TellsEverythingAgainToAnOriginThatComesBackWithoutItsMemory) {
    spend("a", 3);
    run();
    origin_.events.away("it is down");
    shared_->forget();
    spend("b", 4);
    origin_.events.back(false);
    run();
    EXPECT_EQ(total("a"), 3U);
    EXPECT_EQ(total("b"), 4U);
}

TEST_F(RegionTest, RestsWhereAllLimitsAreFarUntilSomethingIsNot) {
    spend("far", 1, 1'000'000);
    run();
    EXPECT_EQ(total("far"), 1U) << "after a time of quiet there is no reason to wait";
    spend("far", 1, 1'000'000);
    wait_busy(900ms);
    EXPECT_EQ(total("far"), 1U);
    wait_busy(200ms);
    EXPECT_EQ(total("far"), 2U);
    spend("far", 1, 1'000'000);
    table_->changed().hurry();
    wait(20ms);
    EXPECT_EQ(total("far"), 3U);
}

TEST_F(RegionTest, ARestEndsSoonWhereNothingIsSpentAnyMore) {
    spend("far", 1, 1'000'000);
    run();
    spend("far", 1, 1'000'000);
    wait_busy(300ms);
    EXPECT_EQ(total("far"), 1U);
    wait(510ms);
    EXPECT_EQ(total("far"), 2U);
}

// But what was heard has to stay fresh.
TEST_F(RegionTest, ARestIsLongerTheLongerItTookToTell) {
    milliseconds takes = 40ms;
    origin_.on_raise = [&] { now_ += takes; };
    spend("far", 1, 1'000'000);
    run();
    spend("far", 1, 1'000'000);
    wait_busy(1'900ms);
    EXPECT_EQ(total("far"), 1U);
    takes = 1'000ms;
    wait_busy(200ms);
    EXPECT_EQ(total("far"), 2U);
    spend("far", 1, 1'000'000);
    wait_busy(3'500ms);
    EXPECT_EQ(total("far"), 2U);
    wait_busy(300ms);
    EXPECT_EQ(total("far"), 3U);
}

// At a time when the cell before the newest is known, so that nothing but far limits is to be told,
// of two keys, which is much here.
class HearingTest : public RegionTest {
  protected:
    void SetUp() override {
        requests_time_ = kNow + 10s;
        spend_both();
        run();
        ASSERT_EQ(total("far"), 1U);
        spend_both();
    }
    void spend_both() {
        spend("far", 1, 1'000'000);
        spend("beside", 1, 1'000'000);
    }
    void spend_elsewhere(Count count) {
        witness_->raise({{.cell = {.workspace = "default",
                                   .name_space = "n",
                                   .identifier = "far",
                                   .duration = kMinute,
                                   .sequence = kSequence},
                          .incarnation = 0,
                          .own = count,
                          .lifetime = kMinute}},
                        [](const auto&) {});
    }
    Count others() {
        const EpochPin pin;
        return table_->find(table_->key(request("far")))->foreign(kSequence);
    }

    static constexpr milliseconds kRest = 1'050ms;
};

TEST_F(HearingTest, TwoOfThreeRoundsTellNothing) {
    for (int times = 0; times < 3; ++times) {
        const Count before = total("far");
        spend_elsewhere(100 + static_cast<Count>(times));
        const Count theirs = total("far") - before + others();
        wait_busy(kRest);
        EXPECT_EQ(others(), theirs) << "it is heard all the same";
        EXPECT_EQ(total("far"), theirs + (times < 2 ? 1 : 2));
    }
}

TEST_F(HearingTest, ALittleIsToldEachTime) {
    wait(600ms);
    for (Count told = 2; told < 6; ++told) {
        spend("far", 1, 1'000'000);
        wait_busy(2 * kRest);
        ASSERT_EQ(total("far"), told + 1);
    }
}

TEST_F(HearingTest, WhatWasNotToldIsToldWhenNothingIsSpentAnyMore) {
    wait_busy(kRest);
    ASSERT_EQ(total("far"), 1U);
    wait(510ms);
    EXPECT_EQ(total("far"), 2U);
}

TEST_F(HearingTest, WhatWasNotToldIsToldWhenALimitIsNotFarAnyMore) {
    wait_busy(kRest);
    ASSERT_EQ(total("far"), 1U);
    spend("near", 1);
    table_->changed().hurry();
    wait(20ms);
    EXPECT_EQ(total("far"), 2U);
}

TEST_F(HearingTest, WhatWasNotToldIsToldToAnOriginThatForgot) {
    wait_busy(kRest);
    ASSERT_EQ(total("far"), 1U);
    shared_->forget();
    origin_.events.forgot();
    wait(20ms);
    EXPECT_EQ(total("far"), 2U);
}

TEST_F(HearingTest, WhatWasNotToldIsToldBeforeTheEnd) {
    wait_busy(kRest);
    ASSERT_EQ(total("far"), 1U);
    region_.stop_resting();
    wants_turn_ = true;
    wait(20ms);
    EXPECT_EQ(total("far"), 2U);
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(HearingTest, WhatWasNotAnsweredIsToldInTheNextRound) {
    origin_.fails_for = "beside";
    table_->changed().hurry();
    wait(20ms);
    ASSERT_EQ(total("far"), 2U);
    ASSERT_EQ(total("beside"), 1U);
    origin_.fails_for.clear();
    wait_busy(kRest);
    EXPECT_EQ(total("beside"), 2U);
}

// A round of several batches goes on where it was.
TEST_F(HearingTest, ARoundThatAnOutageInterruptedTells) {
    const auto spend_many = [this] {
        for (int i = 0; i < 2'000; ++i)
            spend("key " + std::to_string(i), 1, 1'000'000);
    };
    spend_many();
    wait(600ms);
    spend_many();
    origin_.holds_back = true;
    wait_busy(kRest);
    ASSERT_EQ(origin_.held.size(), 1U);
    origin_.holds_back = false;
    origin_.events.away("it is down");
    origin_.time_out();
    origin_.events.back(true);
    wait(100ms);
    for (int i = 0; i < 2'000; ++i)
        ASSERT_EQ(total("key " + std::to_string(i)), 2U) << i;
}

TEST_F(HearingTest, ARefreshOfWhatIsOnItsWayLeavesARestAlone) {
    EXPECT_EQ(*refresh("far"), 1);
    wait_busy(100ms);
    EXPECT_EQ(total("far"), 1U);
}

TEST_F(RegionTest, FarLimitsAreToldAgainToAnOriginThatForgotInTheMidstOfARound) {
    constexpr int kKeys = 5'000;
    for (int i = 0; i < kKeys; ++i)
        spend("key " + std::to_string(i), 1, 1'000'000);
    origin_.on_raise = [this, before = origin_.raises] {
        if (origin_.raises != before + 3) return;
        shared_->forget();
        origin_.events.forgot();
    };
    wait(100ms);
    for (int i = 0; i < kKeys; ++i)
        ASSERT_EQ(total("key " + std::to_string(i)), 1U) << i;
}

// What waits to be told can't be evicted, so it is told before there is too much of it.
TEST_F(RegionTest, AFullTableDoesNotWaitForTheEndOfARest) {
    spend("far", 1, 1'000'000);
    run();
    const auto before = now_;
    for (int i = 0; i < 25'000; ++i) {
        spend("key " + std::to_string(i), 1, 1'000'000);
        table_->changed().note_activity();
        if (i % 1'000 == 0) wait(10ms);
    }
    ASSERT_LT(now_ - before, 1s) << "the rest would have ended";
    EXPECT_GT(table_->tally().evicted.load(), 0U);
    EXPECT_EQ(table_->tally().evicted_untold.load(), 0U);
}

TEST_F(RegionTest, AnOriginThatForgotDoesNotWaitForTheEndOfARest) {
    spend("far", 1, 1'000'000);
    run();
    shared_->forget();
    origin_.events.forgot();
    wait(20ms);
    EXPECT_EQ(total("far"), 1U);
    spend("far", 1, 1'000'000);
    origin_.events.away("it is down");
    shared_->forget();
    origin_.events.back(false);
    wait(20ms);
    EXPECT_EQ(total("far"), 2U);
}

TEST_F(RegionTest, ACallWithoutAnAnswerIsTheOnlyOneThatWaits) {
    origin_.holds_back = true;
    const auto first = refresh("a");
    EXPECT_EQ(*first, -1);
    now_ += 300ms;
    origin_.events.away("no answer within 300 ms");
    origin_.time_out();
    run();
    EXPECT_EQ(*first, 0);
    EXPECT_TRUE(region_.is_away());
    EXPECT_EQ(*refresh("b"), 0) << "nobody waits any more";
}

TEST_F(RegionTest, ABatchWithNothingToReadIsHeardAtOnce) {
    int heard = 0;
    region_.refresh({}, kNow, [&](bool fresh) { heard += fresh ? 1 : 0; });
    EXPECT_EQ(heard, 1);
}

TEST_F(RegionTest, OpensWhenMostCallsFailAndComesBackByItself) {
    origin_.fails = true;
    region_.note_refusal("Redis says: OOM");
    for (int i = 0; i < 30 && !region_.is_away(); ++i)
        EXPECT_EQ(*refresh("a"), 0);
    EXPECT_TRUE(region_.is_away());
    EXPECT_EQ(changes_.back(), "away: it refuses calls; Redis says: OOM");
    spend("a", 3);
    wait(4s);
    EXPECT_TRUE(region_.is_away());
    origin_.fails = false;
    wait(2s);
    EXPECT_FALSE(region_.is_away()) << "a probe of its own found out";
    EXPECT_EQ(total("a"), 3U);
}

TEST_F(RegionTest, WaitsLongerAfterEachBatchThatFails) {
    origin_.fails = true;
    spend("a", 3);
    run();
    const int before = origin_.raises;
    wait(1s);
    EXPECT_GE(origin_.raises - before, 2);
    EXPECT_LE(origin_.raises - before, 12);
    origin_.fails = false;
    wait(5s);
    EXPECT_EQ(total("a"), 3U);
}

// A file whose disk was full, say: it finds out only when it is written to.
TEST_F(RegionTest, TriesAnOriginThatNeedsACallToComeBack) {
    origin_.fails = true;
    spend("a", 3);
    run();
    origin_.events.away("the disk is full");
    run();
    const int before = origin_.raises;
    wait(2s);
    EXPECT_GE(origin_.raises - before, 4);
    EXPECT_LE(origin_.raises - before, 10) << "now and then, not all the time";
    EXPECT_EQ(total("a"), 0U);
    origin_.fails = false;
    origin_.on_raise = [this] { origin_.events.back(true); };
    wait(1s);
    EXPECT_EQ(total("a"), 3U);
    EXPECT_FALSE(region_.is_away());
}

// One server of a cluster, say, while the others work.
TEST_F(RegionTest, WhatIsNotAnsweredHoldsUpNothingElse) {
    origin_.fails_for = "lost";
    for (int i = 0; i < 3'000; ++i)
        spend((i % 3 == 0 ? "lost " : "key ") + std::to_string(i), 1);
    wait(200ms);
    for (int i = 0; i < 3'000; ++i) {
        if (i % 3 == 0) continue;
        ASSERT_EQ(total("key " + std::to_string(i)), 1U) << i;
    }
    EXPECT_FALSE(region_.is_away());
    EXPECT_FALSE(region_.is_settled());
    origin_.fails_for.clear();
    wait(5s);
    EXPECT_EQ(total("lost 2997"), 1U);
    EXPECT_TRUE(region_.is_settled());
}

TEST_F(RegionTest, AProbeIsGoodIfAnyPartOfTheOriginAnswers) {
    origin_.fails = true;
    for (int i = 0; i < 30 && !region_.is_away(); ++i)
        refresh("a");
    ASSERT_TRUE(region_.is_away());
    origin_.fails = false;
    origin_.fails_for = "1";  // whose probes these are
    wait(6s);
    EXPECT_FALSE(region_.is_away());
}

TEST_F(RegionTest, WhatDiesWhileTheOriginIsAwayCostsNoMemory) {
    const auto small = *Table::create({.max_keys = 100, .sharing = Sharing::kShared, .seed = 1});
    TestOrigin origin(*shared_);
    Region region(*small,
                  origin,
                  {.clock = [this] { return now_; },
                   .again = [] {},
                   .changed = [](bool, const std::string&) {}});
    region.start();
    origin.events.away("it is down");
    for (Sequence window = 0; window < 300; ++window) {
        for (int i = 0; i < 100; ++i) {
            const std::string identifier = std::to_string(window) + "-" + std::to_string(i);
            const Request one{.name_space = "n", .identifier = identifier, .duration = kMinute};
            const EpochPin pin;
            Instant at{};
            const UnixTime time = start_of(kSequence + window, kMinute);
            Entry& entry = small->entry_for(small->key(one), time, at);
            entry.admitted(at.sequence).add(at.sequence, 1);
            small->settle(entry, at.sequence, 1, one);
        }
        now_ += 6s;
        region.step();
    }
    EXPECT_LE(small->tally().held(), 400U) << "three windows are alive or may be";
}

TEST_F(RegionTest, ConfirmsAheadOfReplay) {
    origin_.holds_back = true;
    spend("a", 3);
    run();
    spend("b", 4);
    origin_.holds_back = false;
    bool is_done = false;
    const Request one = request("b");
    region_.confirm({&one, 1}, [&] { is_done = true; });
    EXPECT_TRUE(is_done);
    EXPECT_EQ(total("b"), 4U) << "although a batch is underway";
}

TEST_F(RegionTest, GivesUpOnWhoeverWaits) {
    origin_.holds_back = true;
    const auto waiting = refresh("a");
    region_.give_up();
    EXPECT_EQ(*waiting, 0);
    EXPECT_EQ(*refresh("b"), 0);
}

}  // namespace
}  // namespace sluice
