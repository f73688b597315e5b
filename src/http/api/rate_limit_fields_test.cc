#include "http/api/rate_limit_fields.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using std::chrono::milliseconds;

constexpr UnixTime at(std::int64_t ms) {
    return UnixTime{milliseconds{ms}};
}

std::string fields_of(const Decision& decision, milliseconds duration, UnixTime now) {
    Reply reply;
    reply.begin(200, "");
    add_rate_limit_fields(reply, decision, duration, now);
    return std::string(reply.fields());
}

Decision pass(std::int64_t remaining, UnixTime reset) {
    return {.passed = true, .limit = 10, .remaining = remaining, .reset_at = reset, .retry_at = {}};
}

Decision denial(UnixTime reset, std::optional<UnixTime> retry) {
    return {.passed = false, .limit = 10, .remaining = 0, .reset_at = reset, .retry_at = retry};
}

TEST(RateLimitFields, HaveQuotaWindowRemainingAndReset) {
    EXPECT_EQ(fields_of(pass(3, at(60'000)), milliseconds{60'000}, at(23'000)),
              "RateLimit-Policy: \"default\";q=10;w=60\r\nRateLimit: \"default\";r=3;t=37\r\n");
}

TEST(RateLimitFields, RoundSecondsUp) {
    EXPECT_EQ(fields_of(pass(3, at(3'000)), milliseconds{1'500}, at(1'501)),
              "RateLimit-Policy: \"default\";q=10;w=2\r\nRateLimit: \"default\";r=3;t=2\r\n");
    EXPECT_EQ(fields_of(pass(3, at(3'000)), milliseconds{1'000}, at(2'999)),
              "RateLimit-Policy: \"default\";q=10;w=1\r\nRateLimit: \"default\";r=3;t=1\r\n");
}

TEST(RateLimitFields, ClampIntegersToFifteenDigits) {
    const Decision decision{.passed = true,
                            .limit = 9'007'199'254'740'991,
                            .remaining = 1'000'000'000'000'000,
                            .reset_at = at(1000),
                            .retry_at = {}};
    EXPECT_EQ(fields_of(decision, milliseconds{2'592'000'000}, at(0)),
              "RateLimit-Policy: \"default\";q=999999999999999;w=2592000\r\n"
              "RateLimit: \"default\";r=999999999999999;t=1\r\n");
}

TEST(RateLimitFields, RetryAfterIsRoundedUpAndNeverZero) {
    for (const auto& [wait, seconds] :
         {std::pair{1, "1"}, {1000, "1"}, {1001, "2"}, {59'999, "60"}, {0, "1"}, {-5000, "1"}}) {
        Reply reply;
        reply.begin(200, "");
        add_retry_after(reply, at(10'000 + wait), at(10'000));
        EXPECT_EQ(reply.fields(), "Retry-After: " + std::string(seconds) + "\r\n") << wait;
    }
}

TEST(RateLimitFields, RetryTimeOfAnImpossibleRequestIsTheEndOfItsWindow) {
    EXPECT_EQ(retry_time(denial(at(60'000), std::nullopt)), at(60'000));
    EXPECT_EQ(retry_time(denial(at(60'000), at(61'000))), at(61'000));
}

TEST(RateLimitFields, OfABatchAreThoseOfTheMostRestrictiveDecision) {
    const auto worst = [](const std::vector<Decision>& decisions) {
        return most_restrictive(decisions);
    };
    EXPECT_EQ(worst({pass(3, at(1)), pass(1, at(1)), pass(2, at(1))}), 1U);
    EXPECT_EQ(worst({pass(1, at(1)), pass(1, at(2))}), 1U);
    EXPECT_EQ(worst({pass(0, at(9)), denial(at(1), at(1)), pass(5, at(1))}), 1U);
    EXPECT_EQ(worst({denial(at(1), at(5)), denial(at(9), at(4)), denial(at(1), at(7))}), 2U);
    EXPECT_EQ(worst({pass(1, at(1)), pass(1, at(1))}), 0U);
}

}  // namespace
}  // namespace sluice::http
