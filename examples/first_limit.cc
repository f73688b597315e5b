// A first program with Sluice: three logins per second for each user, then two limits in one batch.
#include <sluice/limiter.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

using namespace std::chrono_literals;

void print(std::string_view what, const sluice::Decision& decision) {
    std::cout << what << (decision.passed ? ": pass, " : ": deny, ") << decision.remaining << " of "
              << decision.limit << " left";
    if (decision.retry_at) {
        const auto now =
            std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
        std::cout << ", retry in " << (*decision.retry_at - now).count() << " ms";
    }
    std::cout << '\n';
}

int main() {
    auto limiter = sluice::Limiter::create({.region = "eu-west"});
    if (!limiter) {
        std::cerr << limiter.error().message << '\n';
        return EXIT_FAILURE;
    }

    for (const std::string_view user : {"alice", "alice", "bob", "alice", "alice"}) {
        const auto decision =
            limiter->limit({.name_space = "login", .identifier = user, .limit = 3, .duration = 1s});
        if (decision) print(user, *decision);
    }

    // A batch spends from all of its limits or from none: bob's denial costs the team nothing.
    const std::array batch = {
        sluice::Request{.name_space = "team", .identifier = "red", .limit = 50, .duration = 1min},
        sluice::Request{.name_space = "user", .identifier = "bob", .limit = 1, .duration = 1min},
    };
    for (int i = 0; i < 2; ++i) {
        const auto decision = limiter->limit_many(batch);
        if (!decision) continue;
        std::cout << "batch: " << (decision->passed ? "pass" : "deny") << '\n';
        print("  team red", decision->decisions[0]);
        print("  user bob", decision->decisions[1]);
    }
}
