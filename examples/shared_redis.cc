// Two nodes of one region that share their limits in Redis. The environment variable
// SLUICE_EXAMPLE_REDIS holds the address, such as redis://127.0.0.1:6379/0; without it, the nodes
// share the memory of this process.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include <unistd.h>

using namespace std::chrono_literals;

namespace {

sluice::Result<sluice::Limiter> start_node(const std::string& origin) {
    sluice::Options options{.region = "example", .origin = origin};
    options.on_origin_change = [](const sluice::OriginChange& change) {
        if (change.unavailable) std::cerr << "the origin is unavailable: " << change.why << '\n';
    };
    return sluice::Limiter::create(std::move(options));
}

}  // namespace

int main() {
    const char* const address = std::getenv("SLUICE_EXAMPLE_REDIS");
    if (address == nullptr)
        std::cout << "SLUICE_EXAMPLE_REDIS is not set; sharing in memory instead of Redis\n";
    const std::string origin = address == nullptr ? "memory:shared" : address;

    auto first = start_node(origin);
    auto second = start_node(origin);
    if (!first || !second) return EXIT_FAILURE;

    // One limit holds for both nodes together. A name of this run's own, since Redis keeps counts.
    const sluice::Rule rule{
        .name_space = "run-" + std::to_string(getpid()), .limit = 2, .duration = 60s};
    const auto spent = first->limit(rule, "alice", 2);
    const auto denied = second->limit(rule, "alice");
    if (!spent || !denied) return EXIT_FAILURE;
    std::cout << "node 1: " << (spent->passed ? "pass" : "deny") << '\n'
              << "node 2: " << (denied->passed ? "pass" : "deny") << '\n';

    first->close(1s);
    second->close(1s);
}
