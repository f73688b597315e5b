#include "base/turn_thread.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using Clock = TurnThread::Time::clock;

TEST(TurnThread, StopsAtOnceIfItWasNeverStarted) {
    TurnThread thread;
    EXPECT_TRUE(thread.stop(Clock::now()));
    EXPECT_TRUE(thread.stop(Clock::now()));
}

TEST(TurnThread, StaysStoppedOnceItHasEnded) {
    TurnThread thread;
    thread.start({.name = "sluice-test"}, [] { return Clock::now() + 1h; });
    EXPECT_TRUE(thread.stop(Clock::now() + 20s));
    EXPECT_TRUE(thread.stop(Clock::now()));
}

TEST(TurnThread, DestroysItsTurnOnItsThreadBeforeItIsStopped) {
    std::thread::id destroyed_by;
    const auto note = [&](int*) { destroyed_by = std::this_thread::get_id(); };
    TurnThread thread;
    thread.start({.name = "sluice-test"},
                 [owned = std::shared_ptr<int>(nullptr, note)] { return Clock::now() + 1h; });
    EXPECT_TRUE(thread.stop(Clock::now() + 20s));
    EXPECT_NE(destroyed_by, std::thread::id{});
    EXPECT_NE(destroyed_by, std::this_thread::get_id());
}

TEST(TurnThread, ABlockingDestructorOfItsTurnDoesNotBlockStop) {
    const auto gate = std::make_shared<std::promise<void>>();
    TurnThread thread;
    thread.start({.name = "sluice-test"}, [owned = std::shared_ptr<int>(nullptr, [gate](int*) {
                                               gate->get_future().wait();
                                           })] { return Clock::now() + 1h; });
    EXPECT_FALSE(thread.stop(Clock::now() + 10ms));
    gate->set_value();
}

TEST(TurnThread, SaysThatItIsStuckUntilTheTurnEnds) {
    // Shared: the thread may outlive the test.
    const auto gate = std::make_shared<std::promise<void>>();
    const auto entered = std::make_shared<std::promise<void>>();
    TurnThread thread;
    thread.start({.name = "sluice-test"}, [gate, entered] {
        entered->set_value();
        gate->get_future().wait();
        return Clock::now();
    });
    entered->get_future().wait();
    EXPECT_FALSE(thread.stop(Clock::now() + 10ms));
    EXPECT_FALSE(thread.stop(Clock::now() + 10ms)) << "it still uses its owner's memory";
    gate->set_value();
    const auto end = Clock::now() + 20s;
    while (!thread.stop(Clock::now()))
        ASSERT_LT(Clock::now(), end);
}

}  // namespace
}  // namespace sluice
