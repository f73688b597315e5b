// Whichever allocation fails: no call throws, and an error means that nothing was spent.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "counter/changed.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "stress/failing_system.h"

namespace sluice::stress {
namespace {

using namespace std::chrono_literals;

constexpr UnixTime kNow{std::chrono::milliseconds{6'000'000}};
constexpr int kMostAllocations = 2'000;  // that a call makes, by far

// Texts that no string holds in place, and no entry.
const std::string kLong(200, 'x');

Request request(std::string_view identifier, std::int64_t cost = 1) {
    return {.name_space = kLong,
            .identifier = identifier,
            .limit = 1'000'000,
            .duration = 60s,
            .cost = cost};
}

// Calls `work(n)`, which has the n-th allocation fail, for n from 1 on, until it says that none
// did.
template <class Work>
void with_each_allocation_failing(Work work) {
    for (int n = 1; n < kMostAllocations; ++n) {
        if (!work(n)) {
            EXPECT_GT(n, 1) << "nothing was allocated";
            return;
        }
    }
    ADD_FAILURE() << "it never succeeded";
}

class OutOfMemory : public testing::TestWithParam<const char*> {
  protected:
    Limiter limiter_ =
        Limiter::create({.region = "eu", .max_keys = 1'000, .origin = GetParam()}).value();

    // What was spent of a key, by its own account.
    std::int64_t spent(const std::string& identifier) {
        const auto decision = limiter_.limit(request(identifier, 0), kNow);
        return decision ? 1'000'000 - decision->remaining : -1;
    }
};

INSTANTIATE_TEST_SUITE_P(All,
                         OutOfMemory,
                         testing::Values("", "memory:out-of-memory"),
                         [](const auto& test) { return *test.param == '\0' ? "Alone" : "Shared"; });

TEST_P(OutOfMemory, ANewKeyIsDecidedOrNothingIsSpent) {
    with_each_allocation_failing([&](int n) {
        const std::string identifier = "single" + std::to_string(n);
        const Request one = request(identifier);
        fail_allocation(n);
        const auto decision = limiter_.limit(one, kNow);
        const bool has_failed = stop_failing();
        if (!decision) {
            EXPECT_EQ(decision.error().code, kOutOfMemory);
        }
        EXPECT_EQ(spent(identifier), decision ? 1 : 0) << n;
        EXPECT_TRUE(has_failed || decision);
        return has_failed;
    });
}

TEST_P(OutOfMemory, ABatchIsDecidedOrNothingIsSpent) {
    with_each_allocation_failing([&](int n) {
        const std::string a = "a" + std::to_string(n);
        const std::string b = "b" + std::to_string(n);
        const std::vector<Request> batch{request(a, 2), request(b, 3), request(a, 4)};
        fail_allocation(n);
        const auto decision = limiter_.limit_many(batch, kNow);
        const bool has_failed = stop_failing();
        if (!decision) {
            EXPECT_EQ(decision.error().code, kOutOfMemory);
        }
        EXPECT_EQ(spent(a), decision ? 6 : 0) << n;
        EXPECT_EQ(spent(b), decision ? 3 : 0) << n;
        EXPECT_TRUE(has_failed || decision);
        return has_failed;
    });
}

TEST_P(OutOfMemory, TheAsynchronousFormsAnswerOnce) {
    with_each_allocation_failing([&](int n) {
        const std::string identifier = "later" + std::to_string(n);
        const Request one = request(identifier);
        const auto answer = std::make_shared<std::promise<Result<Decision>>>();
        std::future<Result<Decision>> answered = answer->get_future();
        Limiter::Later later = [answer](Result<Decision> decision) {
            answer->set_value(std::move(decision));  // throws the second time
        };
        fail_allocation(n);
        limiter_.limit_async(one, kNow, std::move(later));
        const bool has_failed = stop_failing();
        EXPECT_EQ(answered.wait_for(20s), std::future_status::ready);
        const auto decision = answered.get();
        if (!decision) {
            EXPECT_EQ(decision.error().code, kOutOfMemory);
        }
        EXPECT_EQ(spent(identifier), decision ? 1 : 0) << n;
        EXPECT_TRUE(has_failed || decision);
        return has_failed;
    });
    with_each_allocation_failing([&](int n) {
        const std::string identifier = "many later" + std::to_string(n);
        const std::vector<Request> batch{request(identifier), request(identifier)};
        const auto answer = std::make_shared<std::promise<Result<BatchDecision>>>();
        std::future<Result<BatchDecision>> answered = answer->get_future();
        Limiter::LaterMany later = [answer](Result<BatchDecision> decision) {
            answer->set_value(std::move(decision));
        };
        fail_allocation(n);
        limiter_.limit_many_async(batch, kNow, std::move(later));
        const bool has_failed = stop_failing();
        EXPECT_EQ(answered.wait_for(20s), std::future_status::ready);
        const auto decision = answered.get();
        EXPECT_EQ(spent(identifier), decision ? 2 : 0) << n;
        EXPECT_TRUE(has_failed || decision);
        return has_failed;
    });
}

TEST(CreateWithoutMemory, IsAnError) {
    with_each_allocation_failing([](int n) {
        Options options{.region = "eu",
                        .origin = "memory:create-without-memory",
                        .global = "memory:create-without-memory"};
        fail_allocation(n);
        const auto limiter = Limiter::create(std::move(options));
        const bool has_failed = stop_failing();
        EXPECT_TRUE(has_failed || limiter);
        if (!limiter) {
            EXPECT_EQ(limiter.error().code, kOutOfMemory);
        }
        return has_failed;
    });
}

TEST(CreateWithoutThreads, IsAnErrorAndLeavesNothingRunning) {
    int refused = 0;
    for (int n = 1; n < 20; ++n) {
        fail_thread(n);
        const auto limiter = Limiter::create({.region = "eu",
                                              .max_keys = 100,
                                              .origin = "memory:create-without-threads",
                                              .global = "memory:create-without-threads"});
        fail_thread(0);
        if (limiter) {
            EXPECT_GE(refused, 4) << "the origin has two threads, the global store two";
            return;
        }
        ++refused;
        EXPECT_EQ(limiter.error().code, kOutOfThreads);
    }
    ADD_FAILURE() << "it never succeeded";
}

// A cost that was admitted in an entry which is gone by the time it is settled.
class SettleWithoutMemory : public testing::Test {
  protected:
    Entry& entry_for(const Request& request) {
        const EpochPin pin;
        Instant at{};
        return table_->entry_for(table_->key(request), kNow, at);
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 10, .sharing = Sharing::kShared, .seed = 1});
};

TEST_F(SettleWithoutMemory, CountsTheCostAsLostWhereItsEntryCanNotBeMadeAgain) {
    const Request one = request("a", 3);
    Entry& removed = entry_for(one);
    // The table's own removal follows the same steps; a retired entry that is still linked stands
    // in for it here, until the later window replaces it.
    ASSERT_TRUE(ChangedList::leave(removed) && ChangedList::retire_leaving(removed));
    const Sequence sequence = removed.high() + 10'000;
    std::uint64_t failures = 0;
    with_each_allocation_failing([&](int n) {
        fail_allocation(n);
        table_->settle(removed, sequence, 3, one);
        const bool has_failed = stop_failing();
        failures += has_failed ? 1 : 0;
        EXPECT_EQ(table_->tally().evicted_unsynced.load(), failures);
        return has_failed;
    });
    const EpochPin pin;
    Entry* const successor = table_->find(table_->key(one));
    ASSERT_NE(successor, nullptr);
    EXPECT_EQ(successor->admitted(sequence).of(sequence), 3U) << "once, by the call that succeeded";
    table_->dispose(removed);
}

}  // namespace
}  // namespace sluice::stress
