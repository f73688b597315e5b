#include "cli/limit_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <simdjson.h>

#include "base/clock.h"
#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr const char* kPath = "/v2/ratelimit.limit";

constexpr const char* kFooter =
    R"(Exits with 0 if the request passed, 1 if it was denied and 2 if there was no decision.

Examples:
  sluice limit login alice --limit 10 --duration 60s
  sluice limit upload bob --limit 1000 --duration 1h --cost 25 --json
  sluice limit jobs nightly --limit 1 --duration 1d && ./nightly-job)";

struct ReceivedDecision {
    bool passed;
    std::int64_t limit;
    std::int64_t remaining;
    std::int64_t reset;
    std::optional<std::int64_t> retry_at;
};

std::optional<ReceivedDecision> decision_in(const simdjson::dom::element& document) {
    simdjson::dom::object data;
    ReceivedDecision decision{};
    if (document["data"].get(data) != simdjson::SUCCESS) return std::nullopt;
    const bool is_complete = data["success"].get(decision.passed) == simdjson::SUCCESS &&
                             data["limit"].get(decision.limit) == simdjson::SUCCESS &&
                             data["remaining"].get(decision.remaining) == simdjson::SUCCESS &&
                             data["reset"].get(decision.reset) == simdjson::SUCCESS;
    if (!is_complete) return std::nullopt;
    std::int64_t retry_at = 0;
    if (data["retryAt"].get(retry_at) == simdjson::SUCCESS) decision.retry_at = retry_at;
    return decision;
}

// The time left until then: "12.3 s".
std::string in_seconds(std::int64_t unix_ms, UnixTime now) {
    const std::int64_t tenths =
        std::max<std::int64_t>(0, (unix_ms - now.time_since_epoch().count() + 99) / 100);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void print(const ReceivedDecision& decision, UnixTime now, std::ostream& out) {
    if (decision.passed) {
        out << "passed: " << decision.remaining << " of " << decision.limit
            << " remain, the window ends in " << in_seconds(decision.reset, now) << "\n";
    } else if (decision.retry_at) {
        out << "denied: the limit is " << decision.limit << "; try again in "
            << in_seconds(*decision.retry_at, now) << "\n";
    } else {
        out << "denied: the limit is " << decision.limit << "; this cost never passes\n";
    }
}

}  // namespace

std::string to_json(const LimitParameters& parameters) {
    return "{\"namespace\":" + json_string(parameters.name_space) +
           ",\"identifier\":" + json_string(parameters.identifier) +
           ",\"limit\":" + std::to_string(parameters.limit) +
           ",\"duration\":" + std::to_string(parameters.duration.count()) +
           ",\"cost\":" + std::to_string(parameters.cost) + "}";
}

ExitCode report_decision(const http::FetchResponse& response,
                         Output output,
                         UnixTime now,
                         const Environment& environment) {
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    const bool is_json = parser.parse(response.body).get(document) == simdjson::SUCCESS;
    const auto decision = is_json ? decision_in(document) : std::nullopt;
    if (response.status != 200 || !decision) {
        environment.err << "sluice limit: " << unexpected_response(response) << "\n";
        return ExitCode::kError;
    }
    if (output == Output::kJson) {
        environment.out << response.body << (response.body.ends_with('\n') ? "" : "\n");
    } else {
        print(*decision, now, environment.out);
    }
    return decision->passed ? ExitCode::kOk : ExitCode::kDenied;
}

void add_limit_command(Commands& commands) {
    struct Arguments {
        ClientOptions options;
        LimitParameters parameters;
    };
    CLI::App& limit = commands.add("limit", "Get one decision from a server", kFooter);
    const auto arguments = std::make_shared<Arguments>();
    LimitParameters& parameters = arguments->parameters;
    add_key_options(limit, parameters.name_space, parameters.identifier);
    limit.add_option("--limit", parameters.limit, "How much may pass per duration")->required();
    add_duration_option(limit, arguments->options);
    limit.add_option("--cost", parameters.cost, "How much this request takes")
        ->capture_default_str();
    add_timeout_option(limit, arguments->options);
    add_target_options(limit, arguments->options);
    commands.set_run(limit, [arguments, &limit](const Environment& environment) {
        const auto call = resolve_call(limit, arguments->options, environment);
        if (!call) return fail(limit, call.error(), environment);
        const auto duration = window_duration(arguments->options);
        if (!duration) return fail(limit, duration.error(), environment);
        arguments->parameters.duration = *duration;
        const auto response = post_json(*call, kPath, to_json(arguments->parameters));
        if (!response) return fail(limit, response.error(), environment);
        return report_decision(*response, call->output, exact_wall_time(), environment);
    });
}

}  // namespace sluice::cli
