#include "base/thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "base/turn_thread.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using Clock = TurnThread::Time::clock;

// Failures as they were reported, in words. Thread-safe.
class Failures {
  public:
    OnThreadFailure reporter() {
        return [this](const ThreadFailure& failure) {
            const std::lock_guard lock(mutex_);
            all_.push_back(std::string(failure.thread) + ": " + std::string(failure.why) +
                           (failure.has_ended ? " (ended)" : ""));
        };
    }
    std::vector<std::string> all() {
        const std::lock_guard lock(mutex_);
        return all_;
    }

  private:
    std::mutex mutex_;
    std::vector<std::string> all_;
};

TEST(Thread, HasItsName) {
    std::string name(16, '\0');
    start_thread({.name = "sluice-test"}, [&] {
        pthread_getname_np(pthread_self(), name.data(), name.size());
    }).join();
    EXPECT_STREQ(name.c_str(), "sluice-test");
}

TEST(Thread, RunsItsBodyAgainAfterAnException) {
    Failures failures;
    int calls = 0;
    start_thread({.name = "sluice-test", .on_failure = failures.reporter()}, [&] {
        ++calls;
        if (calls == 1) throw std::bad_alloc();
        if (calls == 2) throw std::runtime_error("why");
        if (calls == 3) throw 3;  // NOLINT: other libraries may
    }).join();
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(failures.all(),
              (std::vector<std::string>{"sluice-test: std::bad_alloc",
                                        "sluice-test: why",
                                        "sluice-test: an exception of an unknown type"}));
}

TEST(Thread, SurvivesAReporterThatThrows) {
    int calls = 0;
    start_thread(
        {.name = "sluice-test", .on_failure = [](const ThreadFailure&) { throw std::bad_alloc(); }},
        [&] {
            if (++calls == 1) throw std::bad_alloc();
        })
        .join();
    EXPECT_EQ(calls, 2);
}

TEST(Thread, EndsAfterAnExceptionIfItCanNotGoOn) {
    Failures failures;
    int calls = 0;
    start_thread({.name = "sluice-test",
                  .on_failure = failures.reporter(),
                  .after_failure = AfterFailure::kEnd},
                 [&] {
                     ++calls;
                     throw std::bad_alloc();
                 })
        .join();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(failures.all(), std::vector<std::string>{"sluice-test: std::bad_alloc (ended)"});
}

TEST(TurnThread, HasItsNextTurnAfterOneThatThrows) {
    Failures failures;
    std::promise<void> second;
    TurnThread thread;
    thread.start({.name = "sluice-test", .on_failure = failures.reporter()},
                 [&, calls = 0]() mutable {
                     if (++calls == 1) throw std::bad_alloc();
                     if (calls == 2) second.set_value();
                     return Clock::now() + 1h;
                 });
    EXPECT_EQ(second.get_future().wait_for(20s), std::future_status::ready);
    thread.stop();
    EXPECT_EQ(failures.all(), std::vector<std::string>{"sluice-test: std::bad_alloc"});
}

TEST(TurnThread, StopsAtOnceAfterAnExceptionThatHasEndedIt) {
    Failures failures;
    std::atomic<int> turns{0};
    TurnThread thread;
    thread.start({.name = "sluice-test",
                  .on_failure = failures.reporter(),
                  .after_failure = AfterFailure::kEnd},
                 [&]() -> TurnThread::Time {
                     ++turns;
                     throw std::bad_alloc();
                 });
    const auto end = Clock::now() + 20s;
    while (failures.all().empty())
        ASSERT_LT(Clock::now(), end);
    thread.wake();
    EXPECT_TRUE(thread.stop(Clock::now() + 20s));
    EXPECT_EQ(turns.load(), 1);
}

}  // namespace
}  // namespace sluice
