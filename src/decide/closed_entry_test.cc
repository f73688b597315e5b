// Replays one interleaving of four threads step by step. A decision has located its request in
// window h of an entry; another thread moves the ring on to h+5 and stops after it has opened h+3
// and h+4, before it stores the new `high`; a third one finds the entry dead, closes and unlinks
// it. The first must look its key up again. No place of the ring can serve it: h and h-1 are gone,
// h+2 was never opened.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"
#include "decide/batch.h"
#include "decide/single.h"

namespace sluice {
namespace {

constexpr Duration kSecond{1'000};
constexpr Duration kMinute{60'000};
constexpr UnixTime kNow{Duration{1'000'500}};
constexpr UnixTime kLater = kNow + 5 * kSecond;

class ClosedEntryTest : public testing::TestWithParam<Sharing> {
  protected:
    static Request request(std::string_view identifier,
                           std::int64_t cost,
                           std::int64_t limit,
                           Duration duration = kSecond) {
        return {.workspace = "w",
                .name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = duration,
                .cost = cost};
    }
    Entry* find(const Request& request) { return table_->find(table_->key(request)); }

    static void stop_while_opening_cells(Entry& entry) {
        const Sequence high = entry.high();
        for (const Sequence sequence : {high + 3, high + 4}) {
            CellCount& count = entry.admitted(sequence);
            count.reopen(count.load(), sequence);
        }
    }
    // Other keys come, each of which has the table look at a few entries for dead ones.
    void close_by_sweep(const Request& victim) {
        for (int i = 0; find(victim) != nullptr; ++i) {
            ASSERT_LT(i, 100'000);
            const std::string other = "other " + std::to_string(i);
            const Request one = request(other, 1, 10);
            Instant at{};
            table_->entry_for(table_->key(one), kLater, at);
        }
    }
    // The steps of the other threads.
    void move_and_close(const Request& victim) {
        Entry& entry = *find(victim);
        const Instant at = entry.locate(kNow);
        stop_while_opening_cells(entry);
        ASSERT_NO_FATAL_FAILURE(close_by_sweep(victim));
        expect_no_loop(entry, at);
    }
    // Fails, instead of leaving a decision to loop for ever, if the entry would send it from place
    // to place.
    static void expect_no_loop(Entry& entry, Instant at) {
        for (int i = 0; i < 8 && at.sequence != Entry::kClosed; ++i)
            at = entry.relocate(at, kNow);
        ASSERT_EQ(at.sequence, Entry::kClosed);
    }
    // Decides a batch of three: `b`, which has its turn before `a` and stays alive; `a`, whose
    // entry is closed after it was located; and one whose entry is made last. The table calls back
    // then.
    std::optional<BatchDecision> decide_batch_while_a_is_closed(std::int64_t cost_of_b) {
        requests_[0] = request("a", 3, 10);
        do {
            b_ += 'b';
            requests_[1] = request(b_, cost_of_b, 10, kMinute);
        } while (hash_of(requests_[1]) > hash_of(requests_[0]));
        requests_[2] = request(last_, 5, 10, kMinute);
        {
            const EpochPin pin;
            Instant at{};
            const Request trial = request("trial", 1, 10);
            for (const Request& one : {trial, requests_[0], requests_[1]})
                table_->entry_for(table_->key(one), kNow, at);
            // At a key beside the batch first, so that a failure is no endless loop.
            stop_while_opening_cells(*find(trial));
            find(trial)->close_if_dead(kLater);
            expect_no_loop(*find(trial), instant_at(kNow, kSecond));
            if (HasFatalFailure()) return std::nullopt;
        }
        bool is_replayed = false;
        table_->watch_new_keys([&](Entry& made) {
            if (made.key().identifier != last_) return;
            if (!std::exchange(is_replayed, true)) move_and_close(requests_[0]);
        });
        auto batch = decide_batch(*table_, requests_, kNow, SharingRule::kSkip);
        EXPECT_TRUE(is_replayed);
        return batch;
    }
    std::uint64_t hash_of(const Request& request) { return table_->key(request).hash(); }

    // The count of the victim's key in a new entry.
    Count spent(const Request& victim) {
        const Entry* const entry = find(victim);
        return entry == nullptr ? 0 : entry->spent(entry->high());
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 1'000'000, .sharing = GetParam(), .seed = 1});
    std::string b_;
    const std::string last_ = "last";
    std::array<Request, 3> requests_;
};

TEST_P(ClosedEntryTest, ASingleDecisionLooksItsKeyUpAgain) {
    const Request a = request("a", 3, 10);
    const EpochPin pin;
    Instant at{};
    Entry& entry = table_->entry_for(table_->key(a), kNow, at);
    ASSERT_NO_FATAL_FAILURE(move_and_close(a));
    Decision decision{};
    const AdmitOutcome outcome = decide_located(*table_,
                                                table_->key(a).hashed_request(),
                                                {.entry = &entry, .at = at, .now = kNow},
                                                SharingRule::kSkip,
                                                decision);
    EXPECT_EQ(outcome, AdmitOutcome::kPassed);
    EXPECT_EQ(decision.remaining, 7);
    EXPECT_NE(find(a), &entry);
    EXPECT_EQ(spent(a), 3U);
}

TEST_P(ClosedEntryTest, ADenialIsDecidedInTheNewEntryToo) {
    const Request a = request("a", 11, 10);
    const EpochPin pin;
    Instant at{};
    Entry& entry = table_->entry_for(table_->key(a), kNow, at);
    ASSERT_NO_FATAL_FAILURE(move_and_close(a));
    Decision decision{};
    const AdmitOutcome outcome = decide_located(*table_,
                                                table_->key(a).hashed_request(),
                                                {.entry = &entry, .at = at, .now = kNow},
                                                SharingRule::kSkip,
                                                decision);
    EXPECT_EQ(outcome, AdmitOutcome::kDenied);
    EXPECT_EQ(spent(a), 0U);
}

TEST_P(ClosedEntryTest, ABatchUndoesWhatItHoldsAndStartsOver) {
    const auto batch = decide_batch_while_a_is_closed(4);
    ASSERT_TRUE(batch && !HasFatalFailure());
    EXPECT_TRUE(batch->passed);
    const EpochPin pin;
    for (const Request& one : requests_) {
        EXPECT_EQ(spent(one), static_cast<Count>(one.cost)) << one.identifier;
        const Entry& entry = *find(one);
        EXPECT_EQ(entry.held(), entry.let_go()) << "the batch still holds a cost";
    }
}

// A batch that is denied weighs the requests after the denied one as well.
TEST_P(ClosedEntryTest, ABatchThatIsDeniedStartsOverToo) {
    const auto batch = decide_batch_while_a_is_closed(11);
    ASSERT_TRUE(batch && !HasFatalFailure());
    EXPECT_FALSE(batch->passed);
    EXPECT_TRUE(batch->decisions[0].passed);
    EXPECT_FALSE(batch->decisions[1].passed);
    EXPECT_EQ(batch->decisions[0].remaining, 10);
    const EpochPin pin;
    for (const Request& one : requests_)
        EXPECT_EQ(spent(one), 0U) << one.identifier;
}

INSTANTIATE_TEST_SUITE_P(All,
                         ClosedEntryTest,
                         testing::Values(Sharing::kAlone, Sharing::kSole, Sharing::kShared));

}  // namespace
}  // namespace sluice
