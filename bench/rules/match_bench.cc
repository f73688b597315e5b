// Measures what it costs to match a descriptor of three entries: with one rule, and with 10,000
// rules nested three deep, of which a random one applies.
//
//     match_bench [FILE]      writes the figures as JSON to FILE
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rls/rules.h"

namespace {

using namespace sluice::rls;

constexpr std::size_t kRequests = 4'096;
constexpr int kRounds = 200;

std::string name(const char* prefix, std::size_t number) {
    return prefix + std::to_string(number);
}

// A domain with `fan_out` descriptors at each of three levels, all with values.
DomainConfig nested(std::size_t fan_out) {
    DomainConfig domain{.source = "bench", .domain = "web"};
    for (std::size_t i = 0; i < fan_out; ++i) {
        DescriptorConfig first{.key = "tenant", .value = name("tenant-", i)};
        for (std::size_t j = 0; j < fan_out; ++j) {
            DescriptorConfig second{.key = "path", .value = name("/v1/resource/", j)};
            for (std::size_t k = 0; k < fan_out; ++k)
                second.descriptors.push_back(
                    {.key = "method",
                     .value = name("method-", k),
                     .rate_limit = LimitConfig{.requests_per_unit = 10, .unit = "minute"}});
            first.descriptors.push_back(std::move(second));
        }
        domain.descriptors.push_back(std::move(first));
    }
    return domain;
}

// Random requests for the rules of nested(fan_out), as flat lists of texts.
std::vector<std::string> requests(std::size_t fan_out) {
    std::mt19937 random(1);
    std::uniform_int_distribution<std::size_t> any(0, fan_out - 1);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < kRequests; ++i) {
        texts.push_back(name("tenant-", any(random)));
        texts.push_back(name("/v1/resource/", any(random)));
        texts.push_back(name("method-", any(random)));
    }
    return texts;
}

struct Case {
    std::shared_ptr<const RuleSet> rules;
    std::vector<std::string> texts;
    std::vector<double> nanoseconds;  // per match, one of each round
};

Case make_case(std::size_t fan_out) {
    return {*RuleSet::build({nested(fan_out)}, SameDomain::kRefuse), requests(fan_out), {}};
}

void run(Case& measured) {
    std::string identifier;
    std::size_t found = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < measured.texts.size(); i += 3) {
        const DescriptorEntry entries[] = {{"tenant", measured.texts[i]},
                                           {"path", measured.texts[i + 1]},
                                           {"method", measured.texts[i + 2]}};
        found += measured.rules->match("web", entries, identifier) != nullptr ? 1U : 0U;
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    if (found != kRequests) std::fprintf(stderr, "only %zu of the requests matched\n", found);
    measured.nanoseconds.push_back(took.count() / kRequests);
}

// The fastest tenth of the rounds: what the machine's other work disturbs is left out.
double undisturbed(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10);
    std::ranges::nth_element(values, at);
    return *at;
}

}  // namespace

int main(int argc, char** argv) {
    Case one = make_case(1);
    Case many = make_case(22);  // 10,648 rules
    for (int round = 0; round < kRounds; ++round) {
        run(one);
        run(many);
    }
    const double alone = undisturbed(one.nanoseconds);
    const double among = undisturbed(many.nanoseconds);
    std::printf("one rule: %.1f ns per match\n%zu rules: %.1f ns per match, %.2f times\n",
                alone,
                many.rules->rules().size(),
                among,
                among / alone);
    if (argc < 2) return 0;
    std::ofstream(argv[1]) << "{\"one_rule_ns\": " << alone << ", \"many_rules_ns\": " << among
                           << ", \"rules\": " << many.rules->rules().size()
                           << ", \"ratio\": " << among / alone << "}\n";
    return 0;
}
