#include "http/api/rate_limit_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace sluice::http {
namespace {

// The value of a header field, of constants and numbers, built without an allocation.
class FieldValue {
  public:
    FieldValue& add(std::string_view text) {
        end_ = std::ranges::copy(text, end_).out;
        return *this;
    }
    FieldValue& add(std::int64_t number) {
        constexpr std::int64_t kMaxStructuredInteger = 999'999'999'999'999;
        number = std::min(number, kMaxStructuredInteger);
        end_ = std::to_chars(end_, buffer_.data() + buffer_.size(), number).ptr;
        return *this;
    }
    std::string_view view() const {
        return {buffer_.data(), static_cast<std::size_t>(end_ - buffer_.data())};
    }

  private:
    std::array<char, 64> buffer_;  // "default";q= and ;w= take 16, the two numbers 15 each
    char* end_ = buffer_.data();
};

std::int64_t seconds_up(std::chrono::milliseconds time) {
    return std::chrono::ceil<std::chrono::seconds>(time).count();
}

std::int64_t seconds_until(UnixTime at, UnixTime now) {
    return std::max<std::int64_t>(seconds_up(at - now), 0);
}

// True if `a` is less restrictive than `b`.
bool is_looser(const Decision& a, const Decision& b) {
    if (a.passed != b.passed) return a.passed;
    if (!a.passed) return retry_time(a) < retry_time(b);
    if (a.remaining != b.remaining) return a.remaining > b.remaining;
    return a.reset_at < b.reset_at;
}

}  // namespace

void add_rate_limit_fields(Reply& reply,
                           const Decision& decision,
                           std::chrono::milliseconds duration,
                           UnixTime now) {
    FieldValue policy;
    policy.add("\"default\";q=").add(decision.limit).add(";w=").add(seconds_up(duration));
    reply.header("RateLimit-Policy", policy.view());
    FieldValue state;
    state.add("\"default\";r=")
        .add(decision.remaining)
        .add(";t=")
        .add(seconds_until(decision.reset_at, now));
    reply.header("RateLimit", state.view());
}

void add_retry_after(Reply& reply, UnixTime at, UnixTime now) {
    FieldValue seconds;
    seconds.add(std::max<std::int64_t>(seconds_until(at, now), 1));
    reply.header("Retry-After", seconds.view());
}

UnixTime retry_time(const Decision& denial) {
    return denial.retry_at.value_or(denial.reset_at);
}

std::size_t most_restrictive(std::span<const Decision> decisions) {
    const auto worst = std::max_element(decisions.begin(), decisions.end(), is_looser);
    return static_cast<std::size_t>(worst - decisions.begin());
}

}  // namespace sluice::http
