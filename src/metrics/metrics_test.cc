#include "metrics/metrics.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

namespace sluice::metrics {
namespace {

using namespace std::chrono_literals;

// What a scraper makes of the text. Each line that the format doesn't allow is a fault.
struct Scrape {
    std::map<std::string, std::string> types;  // by metric
    std::map<std::string, double> samples;     // by name with labels, as written
    std::vector<std::string> faults;

    double at(const std::string& sample) const {
        const auto found = samples.find(sample);
        return found == samples.end() ? -1 : found->second;
    }
};

std::string without_histogram_suffix(const std::string& name) {
    return std::regex_replace(name, std::regex("_(bucket|sum|count)$"), "");
}

// Written from the format's description, with nothing in common with the writer.
class Parser {
  public:
    Scrape parse(const std::string& text) {
        if (text.empty() || text.back() != '\n') scrape_.faults.emplace_back("no last newline");
        std::istringstream lines(text);
        std::string line;
        while (std::getline(lines, line)) {
            parse_line(line);
        }
        return scrape_;
    }

  private:
    void parse_line(const std::string& line) {
        static const std::regex help(R"(# HELP ([a-z_]+) [^\n]+)");
        static const std::regex type(R"(# TYPE ([a-z_]+) (counter|gauge|histogram))");
        static const std::regex sample(
            R"(([a-z_]+)(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? ([0-9.e+-]+))");
        std::smatch match;
        if (std::regex_match(line, match, help)) {
            helped_ = match[1];
        } else if (std::regex_match(line, match, type)) {
            if (match[1] != helped_) fault(line, "no help before it");
            if (!scrape_.types.emplace(match[1], match[2]).second) fault(line, "twice");
            typed_ = match[1];
        } else if (std::regex_match(line, match, sample)) {
            const bool is_histogram = scrape_.types[typed_] == "histogram";
            const std::string name =
                is_histogram ? without_histogram_suffix(match[1]) : match[1].str();
            if (name != typed_) fault(line, "stands under another metric");
            const double value = std::strtod(match[6].str().c_str(), nullptr);
            const std::string key = match[1].str() + match[2].str();
            if (!scrape_.samples.emplace(key, value).second) fault(line, "twice");
        } else {
            fault(line, "not in the format");
        }
    }
    void fault(const std::string& line, const std::string& what) {
        scrape_.faults.push_back(what + ": " + line);
    }

    Scrape scrape_;
    std::string helped_;
    std::string typed_;
};

Scrape scrape(const Metrics& metrics) {
    std::string text;
    metrics.write(text);
    return Parser().parse(text);
}

MetricsOptions options(std::size_t threads = 1) {
    return {.version = "1.2.3", .region = "eu \"west\"", .threads = threads, .read = {}};
}

TEST(Metrics, TheTextIsValidAndHoldsEveryName) {
    const Scrape found = scrape(Metrics(options(2)));
    EXPECT_EQ(found.faults, std::vector<std::string>{});
    for (const Name& name : kAllNames) {
        EXPECT_TRUE(found.types.contains(std::string(name.name))) << name.name;
    }
    EXPECT_EQ(found.types.size(), kAllNames.size());
}

TEST(Metrics, NamesFollowTheConventions) {
    std::set<std::string_view> seen;
    for (const Name& name : kAllNames) {
        EXPECT_TRUE(name.name.starts_with("sluice_")) << name.name;
        EXPECT_EQ(name.type == Type::kCounter, name.name.ends_with("_total")) << name.name;
        EXPECT_TRUE(name.help.ends_with(".")) << name.help;
        EXPECT_TRUE(seen.insert(name.name).second) << name.name;
    }
}

// Every metric with its type in a row of its own, every kind of error, and no row for what doesn't
// exist.
TEST(Metrics, TheDocumentationListsEachWithItsType) {
    std::ifstream file(SLUICE_REPOSITORY "/docs/metrics.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(page.empty());
    for (const Name& name : kAllNames) {
        const std::string type = name.type == Type::kCounter ? "counter"
                                 : name.type == Type::kGauge ? "gauge"
                                                             : "histogram";
        const std::string row = "\n| `" + std::string(name.name) + "` | " + type + " |";
        EXPECT_NE(page.find(row), std::string::npos) << row;
    }
    for (const std::string_view kind : kErrorTexts) {
        EXPECT_NE(page.find("| `" + std::string(kind) + "` |"), std::string::npos) << kind;
    }
    const std::regex row("\\n\\| `sluice_");
    EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), row), {}),
              std::ptrdiff_t{kAllNames.size()});
}

TEST(Metrics, TheThreadsAreAddedUp) {
    Metrics metrics(options(2));
    metrics.thread(0).decisions(Source::kLocal, Outcome::kPassed).add(3);
    metrics.thread(1).decisions(Source::kLocal, Outcome::kPassed).add(4);
    metrics.thread(1).decisions(Source::kLocal, Outcome::kDenied).add();
    metrics.thread(0).errors[ErrorKind::kForbidden].add();
    metrics.thread(1).overridden.add(2);
    metrics.thread(0).override_writes[Success::kFailed].add();
    const Scrape found = scrape(metrics);
    EXPECT_EQ(found.at("sluice_decisions_total{source=\"local\",outcome=\"passed\"}"), 7);
    EXPECT_EQ(found.at("sluice_decisions_total{source=\"local\",outcome=\"denied\"}"), 1);
    EXPECT_EQ(found.at("sluice_decisions_total{source=\"origin\",outcome=\"passed\"}"), 0);
    EXPECT_EQ(found.at("sluice_http_errors_total{kind=\"forbidden\"}"), 1);
    EXPECT_EQ(found.at("sluice_decisions_overridden_total"), 2);
    EXPECT_EQ(found.at("sluice_override_writes_total{result=\"failed\"}"), 1);
    EXPECT_EQ(found.at("sluice_threads"), 2);
}

TEST(Metrics, ALatencyFallsIntoItsBucketAndAllLaterOnes) {
    Metrics metrics(options());
    Histogram& latency = metrics.thread(0).latency(Route::kLimit);
    latency.observe(5us);
    latency.observe(5001ns);
    latency.observe(30ms);
    latency.observe(1min);
    latency.observe(-1ns);
    const Scrape found = scrape(metrics);
    const std::string name = "sluice_http_request_duration_seconds";
    const auto bucket = [&](const std::string& bound) {
        return found.at(name + "_bucket{route=\"limit\",le=\"" + bound + "\"}");
    };
    EXPECT_EQ(bucket("5e-06"), 2) << "a bound is part of its bucket";
    EXPECT_EQ(bucket("1e-05"), 3);
    EXPECT_EQ(bucket("0.025"), 3);
    EXPECT_EQ(bucket("0.05"), 4);
    EXPECT_EQ(bucket("10"), 4);
    EXPECT_EQ(bucket("+Inf"), 5);
    EXPECT_EQ(found.at(name + "_count{route=\"limit\"}"), 5);
    EXPECT_NEAR(found.at(name + "_sum{route=\"limit\"}"), 60.030010001, 1e-9);
    EXPECT_EQ(found.at(name + "_count{route=\"multiLimit\"}"), 0);
}

TEST(Metrics, WhatOthersHoldIsReadAtEachScrape) {
    MetricsOptions with_readings = options();
    std::uint64_t held = 1;
    with_readings.read = [&] {
        return Readings{
            .keys_held = held,
            .cas_retries = 9,
            .overrides_held = 4,
            .connections = {.open = 5, .timeouts = 6},
            .grpc = {.calls = 20, .refused = 21, .cancelled = 22, .expired = 24, .floods = 23},
            .log_lines_dropped = 17,
            .thread_failures = 19,
            .ready = true};
    };
    const Metrics metrics(std::move(with_readings));
    EXPECT_EQ(scrape(metrics).at("sluice_keys_held"), 1);
    held = 2;
    const Scrape found = scrape(metrics);
    EXPECT_EQ(found.at("sluice_keys_held"), 2);
    EXPECT_EQ(found.at("sluice_cas_retries_total"), 9);
    EXPECT_EQ(found.at("sluice_overrides_held"), 4);
    EXPECT_EQ(found.at("sluice_http_connections_open"), 5);
    EXPECT_EQ(found.at("sluice_http_timeouts_total"), 6);
    EXPECT_EQ(found.at("sluice_grpc_calls_total"), 20);
    EXPECT_EQ(found.at("sluice_grpc_calls_refused_total"), 21);
    EXPECT_EQ(found.at("sluice_grpc_calls_cancelled_total"), 22);
    EXPECT_EQ(found.at("sluice_grpc_calls_expired_total"), 24);
    EXPECT_EQ(found.at("sluice_grpc_floods_total"), 23);
    EXPECT_EQ(found.at("sluice_log_lines_dropped_total"), 17);
    EXPECT_EQ(found.at("sluice_thread_failures_total"), 19);
    EXPECT_EQ(found.at("sluice_ready"), 1);
}

TEST(Metrics, ReloadsAreCountedByResult) {
    Metrics metrics(options());
    metrics.count_reload(Success::kOk);
    metrics.count_reload(Success::kFailed);
    metrics.count_reload(Success::kFailed);
    const Scrape found = scrape(metrics);
    EXPECT_EQ(found.at("sluice_reloads_total{result=\"ok\"}"), 1);
    EXPECT_EQ(found.at("sluice_reloads_total{result=\"failed\"}"), 2);
}

TEST(Metrics, AStatusHasItsKind) {
    EXPECT_EQ(error_kind_of(400), ErrorKind::kInvalidRequest);
    EXPECT_EQ(error_kind_of(431), ErrorKind::kHeaderTooLarge);
    EXPECT_EQ(error_kind_of(505), ErrorKind::kHttpVersion);
    EXPECT_EQ(error_kind_of(418), ErrorKind::kOther);
}

// Numbers only grow, also while they are read: a scraper takes one that falls for a restart.
TEST(Metrics, AScrapeBesideBusyThreadsNeverFalls) {
    Metrics metrics(options(2));
    constexpr std::uint64_t kEach = 20'000;
    std::atomic<int> running{2};
    const auto count = [&](std::size_t index) {
        ThreadMetrics& mine = metrics.thread(index);
        for (std::uint64_t i = 0; i < kEach; ++i) {
            mine.decisions(Source::kLocal, Outcome::kPassed).add();
            mine.latency(Route::kLimit).observe(1us);
        }
        running.fetch_sub(1, std::memory_order_relaxed);
    };
    std::thread first(count, 0);
    std::thread second(count, 1);
    const std::string decisions = "sluice_decisions_total{source=\"local\",outcome=\"passed\"}";
    double before = 0;
    while (running.load(std::memory_order_relaxed) > 0) {
        const double now = scrape(metrics).at(decisions);
        EXPECT_GE(now, before);
        before = now;
    }
    first.join();
    second.join();
    EXPECT_EQ(scrape(metrics).at(decisions), 2 * kEach);
}

}  // namespace
}  // namespace sluice::metrics
