#include "server/thread_failures.h"

#include <algorithm>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::server {
namespace {

TEST(ThreadFailures, AreAllCountedAndLoggedOnceASecond) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    {
        Log log({.descriptor = pipe[1]});
        ThreadFailures failures(log);
        for (int i = 0; i < 100; ++i)
            failures.note({.thread = "sluice-import", .why = "std::bad_alloc", .has_ended = false});
        EXPECT_EQ(failures.count(), 100U);
    }
    ::close(pipe[1]);
    std::string text(65'536, '\0');
    const ssize_t size = ::read(pipe[0], text.data(), text.size());
    ::close(pipe[0]);
    ASSERT_GT(size, 0);
    text.resize(static_cast<std::size_t>(size));
    EXPECT_NE(text.find("error thread_failed thread=sluice-import why=std::bad_alloc failures=1\n"),
              std::string::npos)
        << text;
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50);
}

TEST(ThreadFailuresDeathTest, OfAThreadThatHasEndedAborts) {
    const auto fail = [] {
        Log log({});
        ThreadFailures(log).note(
            {.thread = "sluice-worker", .why = "std::bad_alloc", .has_ended = true});
    };
    EXPECT_DEATH(fail(), "error thread_ended thread=sluice-worker why=std::bad_alloc then=");
}

}  // namespace
}  // namespace sluice::server
