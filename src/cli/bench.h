// `sluice bench`: a load generator.
#ifndef SLUICE_CLI_BENCH_H_
#define SLUICE_CLI_BENCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "cli/exit_code.h"
#include "cli/http_client.h"
#include "cli/latency.h"
#include "cli/limit.h"

namespace sluice::cli {

struct BenchCommand {
    Target target;
    std::size_t connections = 32;
    std::chrono::seconds seconds{10};
    std::size_t keys = 1000;
    std::size_t batch = 1;  // decisions per request; more than one go to multiLimit
    std::int64_t limit = 1'000'000;
    std::chrono::milliseconds duration{60'000};
    Output output = Output::kText;
};

struct BenchResult {
    std::chrono::nanoseconds took{};
    std::uint64_t requests = 0;  // answered with 200
    std::uint64_t decisions = 0;
    Latency latency;                              // of those
    std::map<std::string, std::uint64_t> errors;  // by what went wrong

    std::uint64_t error_count() const;
};

// Keeps one request in flight on each connection until the time is over. A line of progress each
// second goes to `progress`.
BenchResult generate_load(const BenchCommand& command, std::ostream& progress);

void report(const BenchCommand& command, const BenchResult& result, std::ostream& out);

// kDenied: some requests failed. kError: none was answered.
ExitCode run_bench(const BenchCommand& command, std::ostream& out, std::ostream& err);

// The bytes of request number `turn`, written over `out`. Its keys are chosen by `turn` alone.
void write_request(const BenchCommand& command, std::uint64_t turn, std::string& out);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_BENCH_H_
