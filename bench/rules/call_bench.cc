// Measures calls of the rate-limit service that are decided locally, from the bytes of the request
// to those of the answer: on one thread, and on two at the same time.
//
//     call_bench [FILE]      writes the figures as JSON to FILE
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rls/messages.h"
#include "rls/rate_limiter.h"
#include "rls/request_encoder.h"
#include "rls/rule_file.h"

namespace {

using namespace sluice;
using namespace sluice::rls;

constexpr int kCalls = 200'000;
constexpr int kRounds = 15;
constexpr UnixTime kNow{std::chrono::milliseconds{1'699'999'200'000}};

constexpr const char* kRules = R"(domain: web
descriptors:
  - key: plain
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
  - key: detailed
    detailed_metric: true
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
  - key: by_value
    value_to_metric: true
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
)";

// No overrides.
class NoOverrides final : public overrides::OverrideStore {
  public:
    Result<std::uint64_t> version() override { return 0; }
    Result<overrides::Contents> load_all() override { return overrides::Contents{}; }
    Result<overrides::Stored> put(const overrides::Override& entry,
                                  const std::optional<overrides::Author>&) override {
        return overrides::Stored{entry, 0};
    }
    Result<std::vector<overrides::Change>> changes(const overrides::ChangeQuery&) override {
        return std::vector<overrides::Change>{};
    }
    Result<overrides::Removed> remove(const overrides::OverrideKey&,
                                      const std::optional<overrides::Author>&) override {
        return overrides::Removed{true, 0};
    }
};

struct Service {
    Limiter limiter = Limiter::create({.region = "bench", .max_keys = 10'000}).value();
    RuleMetrics metrics;
    Current<ActiveRules> rules{metrics.activate(
        RuleSet::build({parse_rules(kRules, "bench").value()}, SameDomain::kRefuse).value())};
    std::unique_ptr<overrides::OverrideSet> overrides =
        overrides::OverrideSet::open(std::make_unique<NoOverrides>()).value();
    std::shared_ptr<const AnswerOptions> options = std::make_shared<const AnswerOptions>();

    ServiceParts parts() { return {limiter, rules, *overrides, metrics, options}; }
};

std::string request_of(const std::string& key, const std::string& value, bool has_own_limit) {
    RateLimitRequest request;
    request.domain = "web";
    request.entries = {{key, value}};
    request.descriptors = {{.first_entry = 0, .entry_count = 1}};
    if (has_own_limit) request.descriptors[0].limit = LimitOverride{4'000'000'000, Unit::kHour};
    return encode_request(request);
}

double cpu_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// CPU time per call of the slowest of some threads. Each has a key of its own, but the same rule.
double nanoseconds_per_call(Service& service, const std::string& key, std::size_t threads) {
    std::latch start(static_cast<std::ptrdiff_t>(threads));
    std::vector<double> took(threads);
    {
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i < threads; ++i) {
            running.emplace_back([&, i] {
                RateLimiter limiter(service.parts());
                const std::string bytes =
                    request_of(key, "user " + std::to_string(i), key == "own");
                RateLimitRequest request;
                Answer answer;
                std::string encoded;
                start.arrive_and_wait();
                const double began = cpu_nanoseconds();
                for (int call = 0; call < kCalls; ++call) {
                    if (decode(bytes, request) ||
                        !limiter.should_rate_limit(request, kNow, answer) || answer.error)
                        std::abort();
                    encoded.clear();
                    encode(answer.response, encoded);
                }
                took[i] = (cpu_nanoseconds() - began) / kCalls;
            });
        }
    }
    return *std::ranges::max_element(took);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    Service service;
    std::string json;
    for (const std::string key : {"plain", "detailed", "by_value", "own"}) {
        std::vector<double> alone;
        std::vector<double> beside;
        for (int round = 0; round < kRounds; ++round) {
            alone.push_back(nanoseconds_per_call(service, key, 1));
            beside.push_back(nanoseconds_per_call(service, key, 2));
        }
        const double one = median(alone);
        const double two = median(beside);
        std::printf(
            "%-8s  %4.0f ns per call, %4.0f beside another thread: two do %.2f times as many\n",
            key.c_str(),
            one,
            two,
            2 * one / two);
        json += (json.empty() ? "\"" : ", \"") + key +
                "\": {\"one_thread_ns\": " + std::to_string(one) +
                ", \"two_threads_ns\": " + std::to_string(two) + "}";
    }
    if (argc > 1) std::ofstream(argv[1]) << "{" << json << "}\n";
    return 0;
}
