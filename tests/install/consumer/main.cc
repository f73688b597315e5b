// A program outside the repository that uses all of the public interface. It names the time itself,
// so that it prints the same on every run.
#include <sluice/limiter.h>

#include <array>
#include <chrono>
#include <iostream>
#include <utility>

using namespace std::chrono_literals;

namespace {

constexpr sluice::UnixTime kMidnight = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

void print(const sluice::Decision& decision) {
    std::cout << (decision.passed ? "passed" : "denied") << ", " << decision.remaining << " of "
              << decision.limit << " left, reset in " << (decision.reset_at - kMidnight).count()
              << " ms";
    if (decision.retry_at)
        std::cout << ", retry in " << (*decision.retry_at - kMidnight).count() << " ms";
    std::cout << '\n';
}

}  // namespace

int main() {
    const sluice::Result<sluice::Limiter> nowhere = sluice::Limiter::create({.global = "memory:x"});
    if (nowhere.has_value() || nowhere.error().code != sluice::ErrorCode::kRegionRequired) return 1;

    sluice::Result<sluice::Limiter> created =
        sluice::Limiter::create({.region = "test", .max_keys = 100});
    if (!created) return 1;
    sluice::Limiter limiter = *std::move(created);

    const sluice::Request alice{
        .name_space = "api", .identifier = "alice", .limit = 2, .duration = 60s};
    for (int i = 0; i < 3; ++i)
        print(*limiter.limit(alice, kMidnight));

    const std::array batch = {
        sluice::Request{
            .name_space = "api", .identifier = "bob", .limit = 5, .duration = 1s, .cost = 3},
        sluice::Request{
            .name_space = "api", .identifier = "carol", .limit = 5, .duration = 1s, .cost = 5},
    };
    for (int i = 0; i < 2; ++i) {
        const sluice::Result<sluice::BatchDecision> decision = limiter.limit_many(batch, kMidnight);
        std::cout << "batch " << (decision->passed ? "passed" : "denied") << '\n';
        for (const sluice::Decision& each : decision->decisions)
            print(each);
    }

    const sluice::Result<sluice::Decision> invalid =
        limiter.limit({.name_space = "api", .identifier = ""});
    if (invalid || invalid.error().code != sluice::ErrorCode::kInvalidRequest) return 1;

    const sluice::Rule uploads{.name_space = "uploads", .limit = 1, .duration = 60s};
    if (!limiter.limit(uploads, "alice")->passed || limiter.limit(uploads, "alice")->passed)
        return 1;

    // These read the clock.
    if (!limiter.limit(alice) || !limiter.limit_many(batch)) return 1;
    if (!limiter.limit(alice, std::chrono::system_clock::now()) || !limiter.try_limit(alice))
        return 1;
}
