// Decisions of sluice::Limiter in one thread, measured as README.md of this folder says.
//
//     sluice_peer KEYS DECISIONS
#include <sluice/limiter.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <time.h>

namespace {

// Nanoseconds that this process, or this thread, has used of a processor: other programs don't
// count.
std::int64_t used(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double total = 0;
    double resident = 0;
    statm >> total >> resident;
    return resident * 4096;
}

// The same sequence in all languages.
class Sequence {
  public:
    std::size_t next(std::size_t below) {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return static_cast<std::size_t>(state_ % below);
    }

  private:
    std::uint64_t state_ = 42;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const std::size_t size = std::strtoul(arguments[1], nullptr, 10);
    const std::size_t decisions = std::strtoul(arguments[2], nullptr, 10);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < size; ++i)
        keys.push_back("user:" + std::to_string(i));

    const double before = resident_bytes();
    auto limiter = sluice::Limiter::create({.max_keys = std::max<std::size_t>(size, 1'000)});
    if (!limiter) return 1;
    const sluice::Rule rule{
        .name_space = "peers", .limit = 1'000'000'000, .duration = std::chrono::minutes(1)};
    const auto passes = [&](const std::string& key) { return limiter->limit(rule, key)->passed; };
    for (const std::string& key : keys)
        passes(key);
    const double bytes = (resident_bytes() - before) / static_cast<double>(size);

    Sequence sequence;
    std::uint64_t passed = 0;
    const std::int64_t began = used(CLOCK_PROCESS_CPUTIME_ID);
    for (std::size_t i = 0; i < decisions; ++i)
        passed += passes(keys[sequence.next(size)]) ? 1U : 0U;
    const std::int64_t took = used(CLOCK_PROCESS_CPUTIME_ID) - began;
    std::int64_t worst = 0;
    for (std::size_t i = 0; i < decisions; ++i) {
        const std::string& key = keys[sequence.next(size)];
        const std::int64_t start = used(CLOCK_THREAD_CPUTIME_ID);
        passed += passes(key) ? 1U : 0U;
        worst = std::max(worst, used(CLOCK_THREAD_CPUTIME_ID) - start);
    }
    std::printf("{\"ns\":%.1f,\"worst_us\":%.1f,\"bytes_per_key\":%.0f,\"passed\":%llu}\n",
                static_cast<double>(took) / static_cast<double>(decisions),
                static_cast<double>(worst) / 1'000,
                bytes,
                static_cast<unsigned long long>(passed));
    return 0;
}
