// A limiter on a clock of the caller's: every call takes the time as an argument, so that tests and
// simulations repeat exactly.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>

using namespace std::chrono_literals;

namespace {

class ManualClock {
  public:
    std::chrono::sys_seconds now() const { return now_; }
    void advance(std::chrono::seconds by) { now_ += by; }

  private:
    std::chrono::sys_seconds now_ = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1} + 12h;
};

void print(std::chrono::sys_seconds now, const sluice::Decision& decision) {
    const std::chrono::hh_mm_ss time(now - std::chrono::floor<std::chrono::days>(now));
    std::cout << std::setfill('0') << std::setw(2) << time.hours().count() << ':' << std::setw(2)
              << time.minutes().count() << ':' << std::setw(2) << time.seconds().count()
              << (decision.passed ? ": pass\n" : ": deny\n");
}

}  // namespace

int main() {
    auto limiter = sluice::Limiter::create({});
    if (!limiter) return EXIT_FAILURE;
    const sluice::Rule rule{.name_space = "reports", .limit = 2, .duration = 1min};
    ManualClock clock;
    // The window slides: half a minute into the next one, half of the last minute still counts.
    for (const auto step : {0s, 10s, 20s, 60s}) {
        clock.advance(step);
        const auto decision = limiter->limit(rule.request("alice"), clock.now());
        if (!decision) return EXIT_FAILURE;
        print(clock.now(), *decision);
    }
}
