#include "cli/bench.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "cli/json_text.h"

namespace sluice::cli {
namespace {

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

void append_item(const BenchCommand& command, std::uint64_t key, std::string& out) {
    out += R"({"namespace":"bench","identifier":"key-)";
    out += std::to_string(key);
    out += R"(","limit":)";
    out += std::to_string(command.limit);
    out += R"(,"duration":)";
    out += std::to_string(command.duration.count());
    out += '}';
}

// Spreads consecutive numbers over all keys, each as often as any other in the long run.
std::uint64_t key_of(std::uint64_t number, std::size_t keys) {
    return (number * 0x9E3779B97F4A7C15U >> 20U) % keys;
}

void append_body(const BenchCommand& command, std::uint64_t turn, std::string& out) {
    if (command.batch == 1) return append_item(command, key_of(turn, command.keys), out);
    out += '[';
    for (std::size_t i = 0; i < command.batch; ++i) {
        if (i != 0) out += ',';
        append_item(command, key_of(turn * command.batch + i, command.keys), out);
    }
    out += ']';
}

void report_json(const BenchCommand& command, const BenchResult& result, std::ostream& out) {
    const auto us = [&](double share) {
        return std::to_string(static_cast<double>(result.latency.percentile(share).count()) / 1e3);
    };
    out << "{\"connections\":" << command.connections << ",\"keys\":" << command.keys
        << ",\"batch\":" << command.batch
        << ",\"seconds\":" << std::chrono::duration<double>(result.took).count()
        << ",\"requests\":" << result.requests << ",\"decisions\":" << result.decisions
        << ",\"requests_per_second\":" << std::to_string(per_second(result.requests, result.took))
        << ",\"decisions_per_second\":" << std::to_string(per_second(result.decisions, result.took))
        << ",\"latency_us\":{\"p50\":" << us(0.5) << ",\"p99\":" << us(0.99)
        << ",\"p99.9\":" << us(0.999) << "},\"errors\":{";
    const char* separator = "";
    for (const auto& [what, count] : result.errors) {
        out << separator << json_text(what) << ":" << count;
        separator = ",";
    }
    out << "}}\n";
}

}  // namespace

std::uint64_t BenchResult::error_count() const {
    std::uint64_t sum = 0;
    for (const auto& [what, count] : errors)
        sum += count;
    return sum;
}

void write_request(const BenchCommand& command, std::uint64_t turn, std::string& out) {
    // Room for the length, which is known only once the body is written.
    constexpr std::size_t kLengthDigits = 8;
    out.assign("POST ");
    out += command.target.url.prefix;
    out += command.batch == 1 ? "/v2/ratelimit.limit" : "/v2/ratelimit.multiLimit";
    out += " HTTP/1.1\r\nHost: ";
    out += command.target.url.authority();
    out += "\r\nContent-Type: application/json\r\n";
    if (!command.target.token.empty()) {
        out += "Authorization: Bearer ";
        out += command.target.token;
        out += "\r\n";
    }
    out += "Content-Length: ";
    const std::size_t length_at = out.size();
    out += "00000000\r\n\r\n";
    const std::size_t body_at = out.size();
    append_body(command, turn, out);
    std::size_t length = out.size() - body_at;
    for (std::size_t i = kLengthDigits; i-- > 0; length /= 10) {
        out[length_at + i] = static_cast<char>('0' + length % 10);
    }
}

void report(const BenchCommand& command, const BenchResult& result, std::ostream& out) {
    if (command.output == Output::kJson) return report_json(command, result, out);
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

ExitCode run_bench(const BenchCommand& command, std::ostream& out, std::ostream& err) {
    err << command.connections << " connections to " << command.target.url.authority() << " for "
        << command.seconds.count() << " s, " << command.keys << " keys, " << command.batch
        << " per request\n";
    const BenchResult result = generate_load(command, err);
    report(command, result, out);
    if (result.requests == 0) return ExitCode::kError;
    return result.errors.empty() ? ExitCode::kOk : ExitCode::kDenied;
}

}  // namespace sluice::cli
