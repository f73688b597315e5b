#include "server/later_answer.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

rls::Answer error(const std::string& message) {
    return {.error = Error{kInvalidRequest, message}, .response = {}};
}

// Collects what was sent.
LaterAnswer::Send into(std::string& sent) {
    return [&sent](const rls::Answer& answer) { sent += answer.error->message; };
}

TEST(LaterAnswer, MayArriveAfterItIsAwaited) {
    const auto later = std::make_shared<LaterAnswer>();
    rls::RateLimiter::Later receive = LaterAnswer::receiver(later);
    std::string sent;
    later->send_by(into(sent));
    EXPECT_EQ(sent, "");
    receive(error("late"));
    EXPECT_EQ(sent, "late");
}

TEST(LaterAnswer, MayArriveBefore) {
    const auto later = std::make_shared<LaterAnswer>();
    rls::RateLimiter::Later receive = LaterAnswer::receiver(later);
    receive(error("early"));
    std::string sent;
    later->send_by(into(sent));
    EXPECT_EQ(sent, "early");
}

TEST(LaterAnswer, IsSentOnceWhenBothSidesRace) {
    for (int i = 0; i < 2'000; ++i) {
        const auto later = std::make_shared<LaterAnswer>();
        rls::RateLimiter::Later receive = LaterAnswer::receiver(later);
        std::string sent;
        std::thread other([&] { receive(error("x")); });
        later->send_by(into(sent));
        other.join();
        ASSERT_EQ(sent, "x");
    }
}

}  // namespace
}  // namespace sluice::server
