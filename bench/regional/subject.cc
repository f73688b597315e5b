#include "regional/subject.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace sluice::bench {
namespace {

constexpr std::size_t kMaxKeys = 2'000'000;

}  // namespace

Limiter make_limiter(const std::string& origin) {
    auto limiter = Limiter::create(
        {.region = kRegion, .max_keys = kMaxKeys, .origin = origin, .origin_timeout = kTimeout});
    if (!limiter) give_up(limiter.error().message);
    const OriginStats stats = limiter->stats().origin;
    if (stats.attached && stats.unavailable) give_up_disturbed();
    return *std::move(limiter);
}

Request request_for(const Key& key, std::int64_t cost) {
    return {.workspace = kWorkspace,
            .name_space = kNamespace,
            .identifier = key.identifier(),
            .limit = std::int64_t{1} << 52,
            .duration = kWindow,
            .cost = cost};
}

bool decide_all(Limiter& limiter, std::span<const Key> keys) {
    bool passed = true;
    for (const Key& key : keys) {
        const Result<Decision> decision = limiter.limit(request_for(key));
        passed &= decision && decision->passed;
    }
    return passed;
}

UnixTime wall_time() {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

void give_up(const std::string& why) {
    std::cerr << "regional_bench: " << why << '\n';
    std::exit(1);
}

void give_up_disturbed() {
    std::cerr << "regional_bench: the origin was unavailable\n";
    std::exit(kDisturbed);
}

}  // namespace sluice::bench
