#include "cli/limit.h"

#include <optional>
#include <ostream>

#include <simdjson.h>

#include "base/clock.h"
#include "cli/json_text.h"
#include "cli/server_error.h"

namespace sluice::cli {
namespace {

constexpr const char* kPath = "/v2/ratelimit.limit";

struct Decided {
    bool passed;
    std::int64_t limit;
    std::int64_t remaining;
    std::int64_t reset;
    std::optional<std::int64_t> retry_at;
};

std::optional<Decided> decision_in(const simdjson::dom::element& document) {
    simdjson::dom::object data;
    Decided decided{};
    if (document["data"].get(data) != simdjson::SUCCESS) return std::nullopt;
    const bool is_complete = data["success"].get(decided.passed) == simdjson::SUCCESS &&
                             data["limit"].get(decided.limit) == simdjson::SUCCESS &&
                             data["remaining"].get(decided.remaining) == simdjson::SUCCESS &&
                             data["reset"].get(decided.reset) == simdjson::SUCCESS;
    if (!is_complete) return std::nullopt;
    std::int64_t retry_at = 0;
    if (data["retryAt"].get(retry_at) == simdjson::SUCCESS) decided.retry_at = retry_at;
    return decided;
}

// "12.3 s", from now.
std::string in_seconds(std::int64_t unix_ms, UnixTime now) {
    const std::int64_t tenths =
        std::max<std::int64_t>(0, (unix_ms - now.time_since_epoch().count() + 99) / 100);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void tell(const Decided& decided, UnixTime now, std::ostream& out) {
    if (decided.passed) {
        out << "passed: " << decided.remaining << " of " << decided.limit
            << " remain, the window ends in " << in_seconds(decided.reset, now) << "\n";
    } else if (decided.retry_at) {
        out << "denied: the limit is " << decided.limit << "; try again in "
            << in_seconds(*decided.retry_at, now) << "\n";
    } else {
        out << "denied: the limit is " << decided.limit << "; this cost never passes\n";
    }
}

}  // namespace

std::string to_json(const LimitQuestion& question) {
    return "{\"namespace\":" + json_text(question.name_space) +
           ",\"identifier\":" + json_text(question.identifier) +
           ",\"limit\":" + std::to_string(question.limit) +
           ",\"duration\":" + std::to_string(question.duration.count()) +
           ",\"cost\":" + std::to_string(question.cost) + "}";
}

ExitCode report_decision(
    const HttpAnswer& answer, Output output, UnixTime now, std::ostream& out, std::ostream& err) {
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    const bool is_json = parser.parse(answer.body).get(document) == simdjson::SUCCESS;
    const auto decided = is_json ? decision_in(document) : std::nullopt;
    if (answer.status != 200 || !decided) {
        err << "sluice limit: the server answered " << answer.status << ": "
            << (is_json ? detail_in(document) : "not JSON; is it Sluice?") << "\n";
        return ExitCode::kError;
    }
    if (output == Output::kJson) {
        out << answer.body << (answer.body.ends_with('\n') ? "" : "\n");
    } else {
        tell(*decided, now, out);
    }
    return decided->passed ? ExitCode::kOk : ExitCode::kDenied;
}

ExitCode run_limit(const LimitCommand& command, std::ostream& out, std::ostream& err) {
    const auto answer =
        post_json(command.target, kPath, to_json(command.question), command.timeout);
    if (!answer) {
        err << "sluice limit: " << answer.error().message << "\n";
        return ExitCode::kError;
    }
    return report_decision(*answer, command.output, exact_wall_time(), out, err);
}

}  // namespace sluice::cli
