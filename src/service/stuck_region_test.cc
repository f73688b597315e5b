// Callers of a limiter whose region thread is stuck in a call.
#include <sluice/limiter.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "service/region_thread.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr UnixTime kNow{milliseconds{6'000'000}};
constexpr auto kSoon = 20s;  // for a machine that does much else

// Holds a thread up until it is opened.
class Gate {
  public:
    void pass() {
        std::unique_lock lock(mutex_);
        opened_.wait(lock, [this] { return is_open_; });
    }
    void open() {
        {
            const std::lock_guard lock(mutex_);
            is_open_ = true;
        }
        opened_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool is_open_ = false;
};

Request request(std::string_view identifier, std::int64_t limit = 1'000, std::int64_t cost = 1) {
    return {
        .name_space = "n", .identifier = identifier, .limit = limit, .duration = 60s, .cost = cost};
}

class StuckRegionTest : public testing::Test {
  protected:
    // The first thing that its thread does is to say that the origin is there, and then it is
    // stuck.
    Limiter stuck_limiter(milliseconds timeout) {
        return *Limiter::create({.region = "eu",
                                 .max_keys = 100'000,
                                 .origin = origin_,
                                 .origin_timeout = timeout,
                                 .on_origin_change = [gate = gate_](auto&) { gate->pass(); }});
    }
    // Returns the result of `work`; ends the process where it hangs.
    template <class Work>
    static auto soon(Work work) {
        auto done = std::async(std::launch::async, work);
        if (done.wait_for(kSoon) != std::future_status::ready) {
            ADD_FAILURE() << "it hangs";
            std::abort();
        }
        return done.get();
    }
    static void wait_until(const std::function<bool()>& is_true) {
        const auto end = std::chrono::steady_clock::now() + kSoon;
        while (!is_true()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            std::this_thread::sleep_for(1ms);
        }
    }

    const std::string origin_ =
        std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
    // Outlives the limiter's thread, which may outlive the limiter.
    const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(StuckRegionTest, ACallerDecidesLocallyAfterItsDeadline) {
    Limiter limiter = stuck_limiter(50ms);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(soon([&] { return limiter.limit(request("a", 10, 4), kNow); })->passed);
    EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
    EXPECT_EQ(limiter.stats().origin.fallbacks, 1U);
    EXPECT_TRUE(limiter.stats().origin.unavailable) << "other callers need not wait";
    const std::vector<Request> batch{request("a", 10, 4), request("b", 10, 4)};
    EXPECT_TRUE(soon([&] { return limiter.limit_many(batch, kNow); })->passed);
    EXPECT_FALSE(soon([&] { return limiter.limit(request("a", 10, 4), kNow); })->passed);
    gate_->open();
    wait_until([&] { return !limiter.stats().origin.unavailable; });
    EXPECT_EQ(soon([&] { return limiter.limit(request("a", 10, 0), kNow); })->remaining, 2)
        << "the region's thread must not decide again what its callers have decided";
    EXPECT_EQ(soon([&] { return limiter.limit(request("b", 10, 0), kNow); })->remaining, 6);
}

TEST_F(StuckRegionTest, AsynchronousRequestsAreAnsweredOnce) {
    Limiter limiter = stuck_limiter(50ms);
    std::atomic<int> answers{0};
    std::atomic<int> passes{0};
    for (int i = 0; i < 5; ++i) {
        limiter.limit_async(request("a", 10, 2), kNow, [&](auto decision) {
            passes += decision && decision->passed ? 1 : 0;
            ++answers;
        });
    }
    const std::vector<Request> batch{request("b", 10, 3), request("c", 10, 3)};
    limiter.limit_many_async(batch, kNow, [&](auto decision) {
        passes += decision && decision->passed ? 1 : 0;
        ++answers;
    });
    wait_until([&] { return answers == 6; });
    EXPECT_EQ(passes, 6);
    gate_->open();
    wait_until([&] { return !limiter.stats().origin.unavailable; });
    EXPECT_EQ(soon([&] { return limiter.limit(request("b", 10, 0), kNow); })->remaining, 7);
    EXPECT_FALSE(soon([&] { return limiter.limit(request("a", 10, 1), kNow); })->passed);
    EXPECT_EQ(answers, 6);
}

TEST_F(StuckRegionTest, AListingIsAnsweredWithoutTheOrigin) {
    Limiter limiter = stuck_limiter(50ms);
    std::promise<Result<Inspection>> inspected;
    limiter.inspect(request("a"), kNow, [&](auto inspection) { inspected.set_value(inspection); });
    auto answer = inspected.get_future();
    ASSERT_EQ(answer.wait_for(kSoon), std::future_status::ready);
    EXPECT_FALSE(answer.get()->current.origin.has_value());
    gate_->open();
}

TEST_F(StuckRegionTest, TheQueueIsBoundedAndOverflowIsDecidedAtOnce) {
    Limiter limiter = stuck_limiter(10'000ms);
    std::atomic<std::size_t> answers{0};
    constexpr std::size_t kBatch = 100;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kBatch; ++i)
        names.push_back("k" + std::to_string(i));
    std::vector<Request> batch;
    for (const std::string& name : names)
        batch.push_back(request(name, 1'000'000));
    std::size_t asked = 0;
    for (; asked * kBatch < RegionThread::kMaxPending; ++asked)
        limiter.limit_many_async(batch, kNow, [&](auto) { ++answers; });
    EXPECT_EQ(answers, 0U);
    EXPECT_EQ(limiter.stats().origin.queue_overflows, 0U);
    int at_once = 0;
    limiter.limit_async(request("new"), kNow, [&](auto decision) {
        at_once += decision && decision->passed ? 1 : 0;
    });
    EXPECT_EQ(at_once, 1);
    EXPECT_TRUE(soon([&] { return limiter.limit(request("newer"), kNow); })->passed);
    EXPECT_EQ(limiter.stats().origin.queue_overflows, 2U);
    EXPECT_EQ(limiter.stats().origin.fallbacks, 2U);
    gate_->open();
    wait_until([&] { return answers == asked; });
    soon([&] { return limiter.limit(request("another"), kNow); }).value();
    EXPECT_EQ(limiter.stats().origin.queue_overflows, 2U) << "there is room again";
    EXPECT_EQ(soon([&] { return limiter.limit(request("k7", 1'000'000, 0), kNow); })->remaining,
              1'000'000 - static_cast<std::int64_t>(asked));
}

// Held by a callback. Reports its destruction, then blocks the thread for good: if that ended,
// ThreadSanitizer would report it as leaked.
struct Dropped {
    Dropped() = default;
    Dropped(const Dropped&) = delete;
    Dropped& operator=(const Dropped&) = delete;
    ~Dropped() {
        done.set_value();
        shut->pass();
    }
    std::promise<void> done;
    const std::shared_ptr<Gate> shut = std::make_shared<Gate>();
};

TEST_F(StuckRegionTest, NotesAreNotPassedOnAfterTheLimiterIsGone) {
    const auto is_called = std::make_shared<std::atomic<bool>>(false);
    auto held = std::make_unique<Dropped>();
    auto dropped = held->done.get_future();
    {
        Limiter limiter = stuck_limiter(50ms);
        limiter.leave_note("n", [is_called, held = std::move(held)](auto) { *is_called = true; });
        limiter.close(10ms);
    }
    gate_->open();
    EXPECT_EQ(dropped.wait_for(kSoon), std::future_status::ready);
    EXPECT_FALSE(*is_called);
}

TEST_F(StuckRegionTest, CloseIsBounded) {
    auto limiter = std::make_unique<Limiter>(stuck_limiter(5'000ms));
    std::atomic<int> answers{0};
    limiter->limit_async(request("a"), kNow, [&](auto) { ++answers; });
    soon([&] {
        limiter->close(10ms);
        return true;
    });
    EXPECT_EQ(answers, 1) << "pending requests are answered";
    EXPECT_TRUE(limiter->limit(request("a"), kNow)->passed);
    soon([&] {
        limiter.reset();
        return true;
    });
    // The gate stays shut: the thread and what it uses are left to the end of the process.
}

}  // namespace
}  // namespace sluice
