// Calls of the rate-limit service that are decided locally: they take no lock, allocate nothing,
// and threads don't slow each other down.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "rls/request_encoder.h"
#include "rls/service_fixture.h"
#include "stress/allocation_count.h"
#include "stress/effort.h"
#include "stress/lock_count.h"
#include "stress/racing_threads.h"

namespace sluice::rls {
namespace {

using stress::allocations_of_this_thread;
using stress::locks_of_this_thread;
using stress::race;
using stress::scaled;

// One serving thread: from the bytes of a request to those of the answer.
class Caller {
  public:
    explicit Caller(const ServiceParts& parts) : limiter_(parts) {}

    void call(const std::string& bytes, UnixTime now) {
        ASSERT_FALSE(decode(bytes, request_));
        ASSERT_TRUE(limiter_.should_rate_limit(request_, now, answer_));
        ASSERT_FALSE(answer_.error);
        bytes_.clear();
        encode(answer_.response, bytes_);
    }

  private:
    RateLimiter limiter_;
    RateLimitRequest request_;
    Answer answer_;
    std::string bytes_;
};

class RateLimitCall : public ServiceFixture {
  protected:
    RateLimitCall() {
        load_descriptors(
            {"key: plain, rate_limit: {unit: hour, requests_per_unit: 4000000000, name: a rule "
             "with "
             "a name that no string holds in place}",
             "key: denied, rate_limit: {unit: hour}",
             "key: detailed, detailed_metric: true, rate_limit: {unit: hour, requests_per_unit: "
             "4000000000}",
             "key: by_value, value_to_metric: true, descriptors: [{key: path, rate_limit: {unit: "
             "hour, requests_per_unit: 4000000000}}]"});
    }

    // A request with one descriptor of each kind, of the user `user`.
    std::string request_of(const std::string& user) {
        const std::string value = user + " with a name that no string holds in place";
        return encode_request(
            request_for({{{{"plain", value}}},
                         {{{"denied", value}}},
                         {{{"detailed", value}}},
                         {{{"by_value", value}, {"path", "/" + value}}},
                         {{{"own", value}}, {}, LimitOverride{100, Unit::kHour}}}));
    }

    insight::Recorder recorder_{KeyHash(1)};
};

TEST(LockCount, SeesALock) {
    std::mutex mutex;
    const std::int64_t before = locks_of_this_thread();
    for (int i = 0; i < 3; ++i)
        const std::lock_guard lock(mutex);
    EXPECT_EQ(locks_of_this_thread() - before, 3);
}

TEST_F(RateLimitCall, TakesNoLockAndAllocatesNothingOnceItsKindWasSeen) {
    set_options({.response_headers = LimitHeaders{},
                 .request_headers = LimitHeaders{},
                 .ietf_headers = true});
    ServiceParts parts = this->parts();
    parts.recorder = &recorder_;
    Caller caller(parts);
    std::vector<std::string> requests;
    for (int i = 0; i < 100; ++i)
        requests.push_back(request_of("user " + std::to_string(i)));
    const auto call_all = [&] {
        for (const std::string& request : requests)
            caller.call(request, kNow);
    };
    call_all();
    call_all();
    const std::int64_t allocations = allocations_of_this_thread();
    const std::int64_t locks = locks_of_this_thread();
    call_all();
    EXPECT_EQ(allocations_of_this_thread() - allocations, 0);
    EXPECT_EQ(locks_of_this_thread() - locks, 0);
}

// A client that invents values can fill the series, but not make each of its calls take the lock.
TEST_F(RateLimitCall, TakesNoLockForAValueThatHasNoRoom) {
    Caller caller(parts());
    const auto call = [&](std::size_t user) {
        caller.call(encode_request(request_for({{{{"detailed", std::to_string(user)}}}})), kNow);
    };
    for (std::size_t i = 0; i <= RuleMetrics::kMaxValueSeries; ++i)
        call(i);
    const std::string request = encode_request(request_for({{{{"detailed", "one more"}}}}));
    caller.call(request, kNow);
    const std::int64_t locks = locks_of_this_thread();
    caller.call(request, kNow);
    EXPECT_EQ(locks_of_this_thread() - locks, 0);
}

// The sum of the hits that the metrics show.
std::uint64_t hits_in(const RuleMetrics& metrics) {
    std::string text;
    metrics.write(text);
    const std::string name = "\nratelimit_service_rate_limit_total_hits{";
    std::uint64_t sum = 0;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
        sum += std::stoull(text.substr(text.find("} ", at) + 2));
    return sum;
}

TEST_F(RateLimitCall, NoHitIsLostWhileRulesAreReloadedAndMetricsRead) {
    constexpr int kThreads = 4;
    constexpr int kCalls = scaled(4'000);
    std::vector<std::vector<std::string>> requests(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) {
        for (int user = 0; user < 40; ++user)
            requests[i].push_back(
                request_of("user " + std::to_string(user + 20 * static_cast<int>(i))));
    }
    std::atomic<bool> is_done{false};
    std::jthread reloads([&] {
        const auto rules = current_.get()->rules;
        while (!is_done.load()) {
            current_.replace(metrics_.activate(rules));
            static_cast<void>(hits_in(metrics_));
        }
    });
    race(kThreads, [&](int thread) {
        Caller caller(parts());
        const auto& own = requests[static_cast<std::size_t>(thread)];
        for (int i = 0; i < kCalls; ++i)
            caller.call(own[static_cast<std::size_t>(i) % own.size()], kNow);
    });
    is_done.store(true);
    reloads.join();
    EXPECT_EQ(hits_in(metrics_), std::uint64_t{5} * kThreads * kCalls);
}

#if !SLUICE_TSAN
double seconds_of_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Measured in CPU time, which waiting for a busy machine does not use. A try counts if the threads
// ran nearly all of the time, so that they met; other work may have slowed it down all the same, so
// one good try is enough.
TEST_F(RateLimitCall, TwoThreadsDoNearlyTwiceTheCallsOfOne) {
    constexpr int kCalls = scaled(4'000);
    constexpr int kTries = 100;
    std::vector<std::string> requests;
    for (const char* user : {"alice", "bob"})
        requests.push_back(request_of(user));
    struct Times {
        double cpu = 0;           // of the slowest thread for its calls
        bool is_parallel = true;  // no thread waited for a core
    };
    const auto time_of = [&](int threads) {
        std::vector<Times> times(static_cast<std::size_t>(threads));
        race(threads, [&](int thread) {
            const auto index = static_cast<std::size_t>(thread);
            Caller caller(parts());
            caller.call(requests[index], kNow);
            const auto began = std::chrono::steady_clock::now();
            const double start = seconds_of_thread();
            for (int i = 0; i < kCalls; ++i)
                caller.call(requests[index], kNow);
            const double cpu = seconds_of_thread() - start;
            const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
            times[index] = {cpu, cpu > 0.9 * wall.count()};
        });
        Times all;
        for (const Times& own : times)
            all = {std::max(all.cpu, own.cpu), all.is_parallel && own.is_parallel};
        return all;
    };
    double best = 0;
    for (int i = 0; i < kTries && best < 1.8; ++i) {
        const double alone = time_of(1).cpu;
        const Times both = time_of(2);
        if (both.is_parallel) best = std::max(best, 2 * alone / both.cpu);
    }
    if (best == 0) GTEST_SKIP() << "the two threads never had a core each";
    EXPECT_GE(best, 1.8) << "times the calls of one thread, in the best of " << kTries << " tries";
}
#endif

}  // namespace
}  // namespace sluice::rls
