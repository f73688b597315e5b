// Decisions for an event loop: limit_async() never blocks. The callback runs before the call
// returns, or on a thread of the limiter where the origin has to decide. It may own move-only
// values, such as the promise here.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

int main() {
    // Counts are shared with other limiters of this process that name the same origin.
    auto limiter = sluice::Limiter::create({.origin = "memory:example"});
    if (!limiter) return EXIT_FAILURE;
    const sluice::Rule rule{.name_space = "mail", .limit = 1, .duration = 60s};

    std::vector<std::pair<std::string_view, std::future<sluice::Result<sluice::Decision>>>> pending;
    for (const std::string_view user : {"carol", "dave", "carol"}) {
        std::promise<sluice::Result<sluice::Decision>> promise;
        pending.emplace_back(user, promise.get_future());
        limiter->limit_async(rule.request(user),
                             [promise = std::move(promise)](auto decision) mutable {
                                 promise.set_value(std::move(decision));
                             });
    }
    for (auto& [user, future] : pending) {
        const auto decision = future.get();
        if (!decision) return EXIT_FAILURE;
        std::cout << user << (decision->passed ? ": pass\n" : ": deny\n");
    }
    limiter->close(1s);
}
