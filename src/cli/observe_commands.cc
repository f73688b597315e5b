// `sluice top`, `status` and `fleet`: what a running server sees.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <simdjson.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "config/duration.h"

namespace sluice::cli {
namespace {

using Json = simdjson::dom::element;

constexpr const char* kTopFooter =
    R"(Shows the keys with most denials, or most spend, of all nodes of the region. On a terminal it is redrawn every
second. ERROR is how much the number before it may be off.

Examples:
  sluice top
  sluice top --namespace login --window 1h --by spend --once)";

constexpr const char* kStatusFooter =
    R"(Shows the version of a node, what it holds, and the state of its stores.

Example:
  sluice status --url http://127.0.0.1:9090)";

constexpr const char* kFleetFooter = R"(Shows the nodes of the region, and the regions.

Example:
  sluice fleet --url http://127.0.0.1:9090)";

std::int64_t number_in(const Json& json, std::string_view name) {
    std::int64_t number = 0;
    return json[name].get(number) == simdjson::SUCCESS ? number : 0;
}

bool is_true(const Json& json, std::string_view name) {
    bool value = false;
    return json[name].get(value) == simdjson::SUCCESS && value;
}

std::string text_in(const Json& json, std::string_view name) {
    std::string_view text;
    return json[name].get(text) == simdjson::SUCCESS && !text.empty() ? shown(text) : "-";
}

std::string duration_in(const Json& json, std::string_view name) {
    return config::to_string(std::chrono::milliseconds{number_in(json, name)});
}

// "12.3 s"
std::string seconds(std::int64_t milliseconds) {
    const std::int64_t tenths = std::max<std::int64_t>(0, milliseconds) / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// "3d 4h", "4h 5m", "5m 6s" or "6s"
std::string uptime(std::int64_t milliseconds) {
    const std::int64_t all = milliseconds / 1000;
    const std::int64_t days = all / 86'400;
    const std::int64_t hours = all / 3'600 % 24;
    const std::int64_t minutes = all / 60 % 60;
    if (days > 0) return std::to_string(days) + "d " + std::to_string(hours) + "h";
    if (hours > 0) return std::to_string(hours) + "h " + std::to_string(minutes) + "m";
    if (minutes > 0) return std::to_string(minutes) + "m " + std::to_string(all % 60) + "s";
    return std::to_string(all) + "s";
}

// A response, or what to print instead.
struct Answer {
    simdjson::dom::parser parser;
    Json data;
    std::string body;
};

Result<std::unique_ptr<Answer>> answer_of(Result<http::FetchResponse> response) {
    if (!response) return response.error();
    auto answer = std::make_unique<Answer>();
    Json document;
    const bool is_expected =
        response->status == 200 &&
        answer->parser.parse(response->body).get(document) == simdjson::SUCCESS &&
        document["data"].get(answer->data) == simdjson::SUCCESS;
    if (!is_expected) return Error{kInvalidOption, unexpected_response(*response)};
    answer->body = std::move(response->body);
    return answer;
}

// Prints the answer as it came, or by `print`.
template <class Print>
ExitCode show(const ClientCall& call,
              const CLI::App& command,
              const Environment& environment,
              Result<http::FetchResponse> response,
              Print print) {
    const auto answer = answer_of(std::move(response));
    if (!answer) return fail(command, answer.error(), environment);
    if (call.output == Output::kJson) {
        environment.out << (*answer)->body << ((*answer)->body.ends_with('\n') ? "" : "\n");
    } else {
        print((*answer)->data, environment.out);
    }
    return ExitCode::kOk;
}

struct TopArguments {
    ClientOptions options{.listener = Listener::kAdmin};
    std::string name_space;
    std::string window = "1m";
    std::string by = "denials";
    int most = 20;
    bool is_once = false;
};

std::string body_of(const TopArguments& arguments, std::chrono::milliseconds window) {
    std::string body = "{\"window\":" + std::to_string(window.count()) +
                       ",\"by\":" + json_string(arguments.by) +
                       ",\"limit\":" + std::to_string(arguments.most);
    if (!arguments.name_space.empty())
        body += ",\"namespace\":" + json_string(arguments.name_space);
    return body + "}";
}

void print_top(const Json& data, std::ostream& out) {
    const std::int64_t nodes = number_in(data, "nodes");
    out << "Last " << duration_in(data, "window") << " by " << text_in(data, "by") << ", "
        << (is_true(data, "totalIsMinimum") ? "at least " : "") << number_in(data, "total")
        << " in total, on " << nodes << (nodes == 1 ? " node" : " nodes")
        << (is_true(data, "partial") ? " (others may be missing)" : "") << ".\n\n"
        << std::right << std::setw(12) << "DENIALS" << std::setw(9) << "ERROR" << std::setw(14)
        << "SPEND" << std::setw(9) << "ERROR" << std::setw(18) << "LIMIT"
        << "  NAMESPACE  KEY\n";
    simdjson::dom::array keys;
    if (data["keys"].get(keys) != simdjson::SUCCESS) return;
    for (const Json key : keys) {
        const std::string limit =
            std::to_string(number_in(key, "limit")) + "/" + duration_in(key, "duration");
        out << std::setw(12) << number_in(key, "denials") << std::setw(9)
            << number_in(key, "denialsError") << std::setw(14) << number_in(key, "spend")
            << std::setw(9) << number_in(key, "spendError") << std::setw(18) << limit << "  "
            << text_in(key, "namespace") << "  " << text_in(key, "identifier")
            << (is_true(key, "cut") ? "..." : "") << "\n";
    }
}

// Redraws until the process is interrupted. An error is shown, and the next request may succeed.
[[noreturn]] void run_live(const ClientCall& call,
                           const std::string& body,
                           const Environment& environment) {
    for (;;) {
        std::ostringstream screen;
        const auto answer = answer_of(post_json(call, "/v2/ratelimit.topKeys", body));
        if (answer) {
            print_top((*answer)->data, screen);
        } else {
            screen << answer.error().message << "\n";
        }
        // Moves to the top left, and clears what is below.
        environment.out << "\x1b[H\x1b[J" << screen.str() << std::flush;
        std::this_thread::sleep_for(std::chrono::seconds{1});
    }
}

ExitCode run_top(const TopArguments& arguments,
                 const CLI::App& command,
                 const Environment& environment) {
    const auto call = resolve_call(command, arguments.options, environment);
    if (!call) return fail(command, call.error(), environment);
    const auto window = duration_of("--window", arguments.window);
    if (!window) return fail(command, window.error(), environment);
    const std::string body = body_of(arguments, *window);
    const auto answer = [&] { return post_json(*call, "/v2/ratelimit.topKeys", body); };
    const bool is_live =
        !arguments.is_once && call->output == Output::kText && isatty(STDOUT_FILENO) != 0;
    // Errors of usage show in the first answer.
    if (is_live) {
        const auto first = answer_of(answer());
        if (!first) return fail(command, first.error(), environment);
        environment.out << "\x1b[2J";
        run_live(*call, body, environment);
    }
    return show(*call, command, environment, answer(), print_top);
}

const char* state_of(const Json& store) {
    if (!is_true(store, "attached")) return "none";
    return is_true(store, "unavailable") ? "unavailable" : "available";
}

void print_status(const Json& data, std::ostream& out) {
    const Json origin = data["origin"].value();
    const Json global = data["global"].value();
    out << "Node " << text_in(data, "node") << " of region " << text_in(data, "region")
        << ", version " << text_in(data, "version") << ": " << text_in(data, "state") << ", up "
        << uptime(number_in(data, "uptime")) << ".\n"
        << "listen       " << text_in(data, "listen") << "\n"
        << "admin        " << text_in(data, "adminListen") << "\n"
        << "gRPC         " << text_in(data, "grpcListen") << "\n"
        << "connections  " << number_in(data, "connections") << "\n"
        << "keys         " << number_in(data, "keysHeld") << "\n"
        << "overrides    " << number_in(data, "overridesHeld")
        << (is_true(data, "overridesFailing") ? " (their store does not answer)" : "") << "\n"
        << "origin       " << state_of(origin);
    if (is_true(origin, "attached")) {
        out << ", " << number_in(origin, "nodes") << " nodes, oldest unsynced pass "
            << seconds(number_in(origin, "oldestUnsynced")) << " old";
    }
    out << "\nglobal       " << state_of(global);
    if (is_true(global, "attached")) {
        out << ", " << number_in(global, "regions") << " regions";
        if (global["importAge"].error() == simdjson::SUCCESS)
            out << ", imported " << seconds(number_in(global, "importAge")) << " ago";
        if (is_true(global, "publishBreakerOpen") || is_true(global, "importBreakerOpen"))
            out << ", breaker open";
    }
    out << "\nbus          " << state_of(data["bus"].value()) << "\n";
}

void print_node(const Json& node, std::int64_t now, std::ostream& out) {
    std::string state = text_in(node, "state");
    simdjson::dom::array degraded;
    if (node["degraded"].get(degraded) == simdjson::SUCCESS) {
        for (const Json store : degraded) {
            std::string_view name;
            if (store.get(name) == simdjson::SUCCESS) state += ", no " + std::string(name);
        }
    }
    if (is_true(node, "overridesLagging")) state += ", overrides lag";
    out << std::left << std::setw(20) << text_in(node, "node") << std::setw(24)
        << text_in(node, "listen") << std::setw(10) << text_in(node, "version") << std::setw(10)
        << uptime(now - number_in(node, "startedAt")) << std::setw(9)
        << seconds(number_in(node, "age")) << std::right << std::setw(10)
        << number_in(node, "keysHeld") << "  " << state
        << (is_true(node, "self") ? " (this node)" : "") << "\n";
}

void print_fleet(const Json& data, std::ostream& out) {
    simdjson::dom::array nodes;
    simdjson::dom::array regions;
    if (data["nodes"].get(nodes) != simdjson::SUCCESS ||
        data["regions"].get(regions) != simdjson::SUCCESS)
        return;
    out << "Region " << text_in(data, "region") << ", " << nodes.size()
        << (nodes.size() == 1 ? " node" : " nodes")
        << (is_true(data, "partial") ? " (others may be missing)" : "") << ":\n\n"
        << std::left << std::setw(20) << "NODE" << std::setw(24) << "LISTEN" << std::setw(10)
        << "VERSION" << std::setw(10) << "UP" << std::setw(9) << "AGE" << std::right
        << std::setw(10) << "KEYS"
        << "  STATE\n";
    for (const Json node : nodes)
        print_node(node, number_in(data, "now"), out);
    if (regions.size() == 0) return;
    out << "\nREGION, PUBLISHED\n";
    for (const Json region : regions) {
        out << text_in(region, "region") << ", " << seconds(number_in(region, "age")) << " ago"
            << (is_true(region, "self") ? " (this region)" : "") << "\n";
    }
}

// A command that gets one answer and prints it.
struct View {
    const char* name;
    const char* about;
    const char* footer;
    const char* path;
    void (*print)(const Json& data, std::ostream& out);
};

void add_view(Commands& commands, const View& view) {
    CLI::App& app = commands.add(view.name, view.about, view.footer);
    const auto options =
        std::make_shared<ClientOptions>(ClientOptions{.listener = Listener::kAdmin});
    add_timeout_option(app, *options);
    add_target_options(app, *options);
    commands.set_run(app, [options, view, &app](const Environment& environment) {
        const auto call = resolve_call(app, *options, environment);
        if (!call) return fail(app, call.error(), environment);
        return show(*call, app, environment, get_json(*call, view.path), view.print);
    });
}

}  // namespace

void add_observe_commands(Commands& commands) {
    CLI::App& top = commands.add("top", "Show the keys that are denied most", kTopFooter);
    const auto arguments = std::make_shared<TopArguments>();
    top.add_option("--namespace", arguments->name_space, "Only keys of this namespace");
    top.add_option("--window", arguments->window, "1m, 10m or 1h")
        ->type_name("TIME")
        ->capture_default_str();
    top.add_option("--by", arguments->by, "denials or spend")->capture_default_str();
    top.add_option("--limit", arguments->most, "How many keys, 1 to 500")->capture_default_str();
    top.add_flag("--once", arguments->is_once, "Print once, also on a terminal");
    add_timeout_option(top, arguments->options);
    add_target_options(top, arguments->options);
    commands.set_run(top, [arguments, &top](const Environment& environment) {
        return run_top(*arguments, top, environment);
    });
    add_view(commands,
             {.name = "status",
              .about = "Show the state of a node",
              .footer = kStatusFooter,
              .path = "/v2/node.status",
              .print = print_status});
    add_view(commands,
             {.name = "fleet",
              .about = "Show the nodes of a region",
              .footer = kFleetFooter,
              .path = "/v2/node.fleet",
              .print = print_fleet});
}

}  // namespace sluice::cli
