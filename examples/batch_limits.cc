// Two limits in one decision: a request counts against its user and against the user's team, or
// against neither.
#include <sluice/limiter.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

using namespace std::chrono_literals;

namespace {

void request(sluice::Limiter& limiter, std::string_view label, std::string_view user) {
    const sluice::Rule team{.name_space = "team", .limit = 50, .duration = 1min};
    const sluice::Rule per_user{.name_space = "user", .limit = 1, .duration = 1min};
    const std::array requests = {team.request("red"), per_user.request(user)};
    const auto batch = limiter.limit_many(requests);
    if (!batch) std::exit(EXIT_FAILURE);
    std::cout << label << ": " << (batch->passed ? "pass" : "deny") << ", team red has "
              << batch->decisions[0].remaining << " left\n";
}

}  // namespace

int main() {
    auto limiter = sluice::Limiter::create({});
    if (!limiter) return EXIT_FAILURE;
    request(*limiter, "alice", "alice");
    request(*limiter, "bob", "bob");
    request(*limiter, "bob again", "bob");  // denied, and costs the team nothing
}
