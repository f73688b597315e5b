#include "cli/bench_command.h"

#include <cstdio>
#include <memory>
#include <ostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
    R"(Exits with 0 if all requests succeeded, 1 if some failed and 2 if all failed.

Examples:
  sluice bench
  sluice bench --connections 64 --seconds 30 --keys 100000
  sluice bench --batch 100 --json)";

double per_second(std::uint64_t count, std::chrono::nanoseconds took) {
    const double seconds = std::chrono::duration<double>(took).count();
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// "1,234,567"
std::string grouped(double number) {
    std::string digits = std::to_string(static_cast<std::uint64_t>(number));
    for (std::size_t at = digits.size(); at > 3;)
        digits.insert(at -= 3, 1, ',');
    return digits;
}

// "87 us", "1.25 ms", "2.50 s"
std::string readable(std::chrono::nanoseconds took) {
    const auto ns = static_cast<double>(took.count());
    char text[32];
    if (ns < 1e6) {
        std::snprintf(text, sizeof text, "%.0f us", ns / 1e3);
    } else if (ns < 1e9) {
        std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
    } else {
        std::snprintf(text, sizeof text, "%.2f s", ns / 1e9);
    }
    return text;
}

void print_json(const BenchOptions& options, const BenchResult& result, std::ostream& out) {
    const auto us = [&](double share) {
        return std::to_string(static_cast<double>(result.latency.percentile(share).count()) / 1e3);
    };
    out << "{\"connections\":" << options.connections << ",\"keys\":" << options.keys
        << ",\"batch\":" << options.batch
        << ",\"seconds\":" << std::chrono::duration<double>(result.took).count()
        << ",\"requests\":" << result.requests << ",\"decisions\":" << result.decisions
        << ",\"requests_per_second\":" << std::to_string(per_second(result.requests, result.took))
        << ",\"decisions_per_second\":" << std::to_string(per_second(result.decisions, result.took))
        << ",\"latency_us\":{\"p50\":" << us(0.5) << ",\"p99\":" << us(0.99)
        << ",\"p99.9\":" << us(0.999) << "},\"errors\":{";
    const char* separator = "";
    for (const auto& [what, count] : result.errors) {
        out << separator << json_string(what) << ":" << count;
        separator = ",";
    }
    out << "}}\n";
}

ExitCode run_bench(const BenchOptions& options, const Environment& environment) {
    environment.err << options.connections << " connections to " << options.target.url.authority()
                    << " for " << options.seconds.count() << " s, " << options.keys << " keys, "
                    << options.batch << " per request\n";
    const BenchResult result = generate_load(options, environment.err);
    print_result(options, result, environment.out);
    if (result.requests == 0) return ExitCode::kError;
    return result.errors.empty() ? ExitCode::kOk : ExitCode::kDenied;
}

}  // namespace

void print_result(const BenchOptions& options, const BenchResult& result, std::ostream& out) {
    if (options.output == Output::kJson) return print_json(options, result, out);
    out << "decisions  " << grouped(static_cast<double>(result.decisions)) << ", "
        << grouped(per_second(result.decisions, result.took)) << " per second\n"
        << "requests   " << grouped(static_cast<double>(result.requests)) << ", "
        << grouped(per_second(result.requests, result.took)) << " per second\n"
        << "latency    p50 " << readable(result.latency.percentile(0.5)) << ", p99 "
        << readable(result.latency.percentile(0.99)) << ", p99.9 "
        << readable(result.latency.percentile(0.999)) << "\n"
        << "errors     " << grouped(static_cast<double>(result.error_count())) << "\n";
    for (const auto& [what, count] : result.errors)
        out << "           " << count << " times: " << what << "\n";
}

void add_bench_command(Commands& commands) {
    struct Arguments {
        ClientOptions client;
        BenchOptions bench;
        std::int64_t seconds = 10;
    };
    CLI::App& bench = commands.add("bench", "Measure a server under load", kFooter);
    const auto arguments = std::make_shared<Arguments>();
    arguments->client.duration = "60s";
    BenchOptions& options = arguments->bench;
    bench
        .add_option(
            "--connections", options.connections, "Connections, each with one request in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 60'000));
    bench.add_option("--seconds", arguments->seconds, "Duration of the measurement")
        ->capture_default_str()
        ->check(CLI::Range(1, 86'400));
    bench.add_option("--keys", options.keys, "Number of identifiers")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
    bench.add_option("--batch", options.batch, "Decisions per request")
        ->capture_default_str()
        ->check(CLI::Range(1, 100));
    bench.add_option("--limit", options.limit, "Limit of each identifier")->capture_default_str();
    bench.add_option("--duration", arguments->client.duration, "Window of each identifier")
        ->type_name("TIME")
        ->capture_default_str();
    add_target_options(bench, arguments->client);
    commands.set_run(bench, [arguments, &bench](const Environment& environment) {
        BenchOptions& chosen = arguments->bench;
        auto target = resolve_target(bench, arguments->client, environment);
        if (!target) return fail(bench, target.error(), environment);
        const auto duration = window_duration(arguments->client);
        if (!duration) return fail(bench, duration.error(), environment);
        chosen.target = *std::move(target);
        chosen.seconds = std::chrono::seconds(arguments->seconds);
        chosen.duration = *duration;
        chosen.output = arguments->client.output();
        return run_bench(chosen, environment);
    });
}

}  // namespace sluice::cli
