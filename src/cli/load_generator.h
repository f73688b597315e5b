// The load generator of `sluice bench`, with the latency histogram and the response reader it uses.
#ifndef SLUICE_CLI_LOAD_GENERATOR_H_
#define SLUICE_CLI_LOAD_GENERATOR_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

#include "cli/client.h"

namespace sluice::cli {

// A histogram of durations in constant memory. Buckets are at most 1/64 as wide as the values in
// them, so a percentile is off by less than 1.6 %. Thread-compatible.
class LatencyHistogram {
  public:
    void add(std::chrono::nanoseconds took);
    std::uint64_t count() const { return count_; }

    // The duration that the fraction `share` of all did not exceed, such as 0.99; zero if there are
    // none.
    std::chrono::nanoseconds percentile(double share) const;

  private:
    static constexpr std::size_t kSubBits = 6;  // 64 buckets per doubling
    static constexpr std::size_t kSub = 1U << kSubBits;
    static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

    static std::size_t bucket_of(std::uint64_t ns);
    static std::int64_t upper_bound(std::size_t bucket);

    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t count_ = 0;
};

enum class ResponseState { kComplete, kIncomplete, kMalformed };

struct ResponseExtent {
    ResponseState state;
    int status = 0;        // these are set if it is complete
    std::size_t size = 0;  // of head and body together
    bool closes = false;   // the server closes the connection after it
};

// Finds the end of the HTTP response at the start of `received`. One without Content-Length is
// malformed.
ResponseExtent find_response(std::string_view received);

struct BenchOptions {
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
    std::uint64_t requests = 0;  // with status 200
    std::uint64_t decisions = 0;
    LatencyHistogram latency;                     // of those requests
    std::map<std::string, std::uint64_t> errors;  // by message

    std::uint64_t error_count() const;
};

// Writes the bytes of request number `turn` over `out`. Its keys depend on `turn` alone.
void write_request(const BenchOptions& options, std::uint64_t turn, std::string& out);

// Keeps one request in flight on each connection until the time is over. Writes a line of progress
// to `progress` each second.
BenchResult generate_load(const BenchOptions& options, std::ostream& progress);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_LOAD_GENERATOR_H_
