// `sluice inspect`: shows what a server, its origin and the global store hold of one key.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <simdjson.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "config/duration.h"

namespace sluice::cli {
namespace {

constexpr const char* kPath = "/v2/ratelimit.inspect";
constexpr const char* kFooter =
    R"(Shows the counts that the server, the other nodes of its region and the other regions have of a key, each
component that the origin holds, and each region's count: what it has published, and what the server knows of
it, since when, and whether from the global store or the bus. The answer to "why was I denied?". Then whether a
request would pass now, and otherwise when. Spends nothing.

Examples:
  sluice inspect login alice --duration 60s
  sluice inspect login alice --duration 60s --limit 20 --cost 5
  sluice inspect upload bob --duration 1h --json)";

struct InspectArguments {
    ClientOptions options;
    std::string name_space;
    std::string identifier;
    std::chrono::milliseconds duration{};
    std::optional<std::int64_t> limit = {};
    std::int64_t cost = 1;
};

using Json = simdjson::dom::element;

std::string to_json(const InspectArguments& arguments) {
    return "{\"namespace\":" + json_string(arguments.name_space) +
           ",\"identifier\":" + json_string(arguments.identifier) +
           ",\"duration\":" + std::to_string(arguments.duration.count()) +
           ",\"cost\":" + std::to_string(arguments.cost) +
           (arguments.limit ? ",\"limit\":" + std::to_string(*arguments.limit) : "") + "}";
}

// 0 if there is none.
std::int64_t number_in(const Json& json, std::string_view name) {
    std::int64_t number = 0;
    return json[name].get(number) == simdjson::SUCCESS ? number : 0;
}

bool has(const Json& json, std::string_view name) {
    return json[name].error() == simdjson::SUCCESS;
}

bool is_true(const Json& json, std::string_view name) {
    bool value = false;
    return json[name].get(value) == simdjson::SUCCESS && value;
}

std::string text_in(const Json& json, std::string_view name) {
    std::string_view text;
    return json[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

// "12.3 s"
std::string seconds(std::int64_t milliseconds) {
    const std::int64_t tenths = std::max<std::int64_t>(0, milliseconds) / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// Owners are named after their node: the node itself, or the node, a dot and a number.
bool is_of_node(std::string_view owner, std::string_view node) {
    return owner.starts_with(node) && (owner.size() == node.size() || owner[node.size()] == '.');
}

const char* availability(const Json& data, std::string_view flag) {
    return is_true(data, flag) ? "unavailable" : "available";
}

void print_global_state(const Json& data, std::ostream& out) {
    if (!has(data, "globalUnavailable")) return;
    out << "The global store is " << availability(data, "globalUnavailable");
    if (has(data, "importAge")) {
        out << "; counts of other regions were imported " << seconds(number_in(data, "importAge"))
            << " ago.\n";
    } else {
        out << "; nothing has been imported yet.\n";
    }
}

void print_state(const Json& data, std::ostream& out) {
    const std::int64_t now = number_in(data, "now");
    if (!is_true(data, "held")) {
        out << "This node does not hold the key.\n";
    } else {
        out << "Last used " << seconds(now - number_in(data, "lastUsed")) << " ago with limit "
            << number_in(data, "lastLimit") << ".\n";
    }
    print_global_state(data, out);
    if (!has(data, "node")) {
        out << "There is no origin: this node counts alone.\n";
        return;
    }
    out << "This is node " << shown(text_in(data, "node")) << "; its origin is "
        << availability(data, "originUnavailable");
    if (is_true(data, "unsynced")) out << " and lacks counts of this node";
    out << ".\n";
    if (has(data, "refreshedAt")) {
        out << "Counts of the other nodes were read "
            << seconds(now - number_in(data, "refreshedAt")) << " ago.\n";
    }
    if (has(data, "strictUntil")) {
        out << "Denied recently: for another " << seconds(number_in(data, "strictUntil") - now)
            << " a request passes only after the origin has been asked.\n";
    }
}

void print_override(const Json& data, std::ostream& out) {
    if (!has(data, "override")) return;
    const Json applied = data["override"].value();
    out << "The override " << shown(text_in(applied, "identifier")) << " applies: limit "
        << number_in(applied, "limit") << " per "
        << config::to_string(std::chrono::milliseconds{number_in(applied, "duration")}) << ".\n";
}

void print_verdict(const Json& data, std::ostream& out) {
    if (!has(data, "verdict")) return;
    const Json verdict = data["verdict"].value();
    out << "\nA request of cost " << number_in(verdict, "cost") << " with limit "
        << number_in(verdict, "limit");
    if (is_true(verdict, "passed")) {
        out << " would pass, and leave " << number_in(verdict, "remaining") << ".\n";
    } else if (has(verdict, "retryAt")) {
        out << " would be denied for another "
            << seconds(number_in(verdict, "retryAt") - number_in(data, "now")) << ".\n";
    } else {
        out << " would never pass.\n";
    }
}

void print_window(const char* name, const Json& cell, std::ostream& out) {
    out << std::left << std::setw(10) << name << std::right;
    for (const char* count : {"admitted", "settled", "peers", "global"})
        out << std::setw(18) << number_in(cell, count);
    if (has(cell, "origin")) {
        out << std::setw(18) << number_in(cell["origin"].value(), "total");
    } else {
        out << std::setw(18) << "-";
    }
    out << "\n";
}

void print_components(const char* name,
                      const Json& cell,
                      std::string_view node,
                      std::ostream& out) {
    simdjson::dom::array components;
    if (cell["origin"]["components"].get(components) != simdjson::SUCCESS) return;
    if (components.size() == 0) return;
    out << "\nAt the origin, in the " << name << " window, which expires in "
        << seconds(number_in(cell["origin"].value(), "lifetime")) << ":\n";
    for (const Json component : components) {
        const std::string owner = text_in(component, "owner");
        out << "  " << shown(owner) << "  " << number_in(component, "count")
            << (is_of_node(owner, node) ? "  (this node)" : "") << "\n";
    }
}

// ", 5 known here (0.3 s ago, from the bus)"
void print_known(const Json& region, std::ostream& out) {
    const std::string source = text_in(region, "source");
    if (source.empty()) {
        out << ", not known here";
        return;
    }
    out << ", " << number_in(region, "known") << " known here ("
        << seconds(number_in(region, "knownAge")) << " ago, from the "
        << (source == "bus" ? "bus" : "global store") << ")";
}

void print_regions(const char* name, const Json& cell, std::ostream& out) {
    simdjson::dom::array regions;
    if (cell["regions"].get(regions) != simdjson::SUCCESS || regions.size() == 0) return;
    out << "\nCounts of regions, in the " << name << " window:\n";
    for (const Json region : regions) {
        out << "  " << shown(text_in(region, "region")) << "  ";
        // The first announcement of a region may arrive before its first row.
        if (number_in(region, "count") == 0) {
            out << "not published";
        } else {
            out << number_in(region, "count") << " published (" << seconds(number_in(region, "age"))
                << " ago)";
        }
        print_known(region, out);
        out << "\n";
    }
}

void print(const InspectArguments& arguments, const Json& data, std::ostream& out) {
    const Json current = data["current"].value();
    const Json previous = data["previous"].value();
    out << shown(arguments.name_space) << " " << shown(arguments.identifier) << ", windows of "
        << config::to_string(arguments.duration) << "; the current one began "
        << seconds(number_in(data, "now") - number_in(current, "begins")) << " ago.\n";
    print_state(data, out);
    print_override(data, out);
    out << "\nwindow    ";
    for (const char* column : {"this node", "settled", "other nodes", "other regions", "origin"})
        out << std::right << std::setw(18) << column;
    out << "\n";
    print_window("current", current, out);
    print_window("previous", previous, out);
    const std::string node = text_in(data, "node");
    print_components("current", current, node, out);
    print_components("previous", previous, node, out);
    print_regions("current", current, out);
    print_regions("previous", previous, out);
    print_verdict(data, out);
}

ExitCode run_inspect(const InspectArguments& arguments,
                     const ClientCall& call,
                     const CLI::App& command,
                     const Environment& environment) {
    const auto response = post_json(call, kPath, to_json(arguments));
    if (!response) return fail(command, response.error(), environment);
    simdjson::dom::parser parser;
    Json document;
    const bool is_expected = response->status == 200 &&
                             parser.parse(response->body).get(document) == simdjson::SUCCESS &&
                             document["data"]["current"].error() == simdjson::SUCCESS &&
                             document["data"]["previous"].error() == simdjson::SUCCESS;
    if (!is_expected)
        return fail(command, {kInvalidOption, unexpected_response(*response)}, environment);
    if (call.output == Output::kJson) {
        environment.out << response->body << (response->body.ends_with('\n') ? "" : "\n");
    } else {
        print(arguments, document["data"].value(), environment.out);
    }
    return ExitCode::kOk;
}

}  // namespace

void add_inspect_command(Commands& commands) {
    CLI::App& inspect = commands.add("inspect", "Show the counts of a key", kFooter);
    const auto arguments = std::make_shared<InspectArguments>();
    add_key_options(inspect, arguments->name_space, arguments->identifier);
    add_duration_option(inspect, arguments->options);
    inspect.add_option("--limit", arguments->limit, "Whether a request with this limit would pass")
        ->type_name("N");
    inspect.add_option("--cost", arguments->cost, "The cost of that request (default 1)")
        ->type_name("N");
    add_timeout_option(inspect, arguments->options);
    add_target_options(inspect, arguments->options);
    commands.set_run(inspect, [arguments, &inspect](const Environment& environment) {
        const auto call = resolve_call(inspect, arguments->options, environment);
        if (!call) return fail(inspect, call.error(), environment);
        const auto duration = window_duration(arguments->options);
        if (!duration) return fail(inspect, duration.error(), environment);
        arguments->duration = *duration;
        return run_inspect(*arguments, *call, inspect, environment);
    });
}

}  // namespace sluice::cli
