// A first program with Sluice: three logins per second for each user.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

using namespace std::chrono_literals;

int main() {
    auto limiter = sluice::Limiter::create({});
    if (!limiter) {
        std::cerr << limiter.error().message << '\n';
        return EXIT_FAILURE;
    }

    const sluice::Rule logins{.name_space = "login", .limit = 3, .duration = 1s};
    for (const std::string_view user : {"alice", "alice", "bob", "alice", "alice"}) {
        const auto decision = limiter->limit(logins, user);
        if (!decision) return EXIT_FAILURE;
        std::cout << user << (decision->passed ? ": pass, " : ": deny, ") << decision->remaining
                  << " of " << decision->limit << " left";
        if (decision->retry_at) {
            const auto wait = *decision->retry_at - std::chrono::system_clock::now();
            std::cout << ", retry in " << std::chrono::ceil<std::chrono::milliseconds>(wait).count()
                      << " ms";
        }
        std::cout << '\n';
    }
}
