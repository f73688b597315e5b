#include "cli/inspect.h"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

#include <simdjson.h>

#include "cli/http_client.h"
#include "cli/json_text.h"
#include "cli/server_error.h"
#include "config/duration.h"

namespace sluice::cli {
namespace {

constexpr const char* kPath = "/v2/ratelimit.inspect";

using Json = simdjson::dom::element;

std::string to_json(const InspectCommand& command) {
    return "{\"namespace\":" + json_text(command.name_space) +
           ",\"identifier\":" + json_text(command.identifier) +
           ",\"duration\":" + std::to_string(command.duration.count()) + "}";
}

// 0 where there is none.
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

// A name of a node's incarnation: the node, or the node and a number behind a dot.
bool is_of_node(std::string_view owner, std::string_view node) {
    return owner.starts_with(node) && (owner.size() == node.size() || owner[node.size()] == '.');
}

void tell_regions_state(const Json& data, std::ostream& out) {
    if (!has(data, "globalUnavailable")) return;
    out << "The store that regions share is "
        << (is_true(data, "globalUnavailable") ? "unavailable" : "available");
    if (has(data, "importAge")) {
        out << "; what other regions spent was imported " << seconds(number_in(data, "importAge"))
            << " ago.\n";
    } else {
        out << "; nothing was imported yet.\n";
    }
}

void tell_state(const Json& data, std::ostream& out) {
    const std::int64_t now = number_in(data, "now");
    if (!is_true(data, "held")) {
        out << "This node holds nothing of this key.\n";
    } else {
        out << "Last used " << seconds(now - number_in(data, "lastUsed")) << " ago with limit "
            << number_in(data, "lastLimit") << ".\n";
    }
    tell_regions_state(data, out);
    if (!has(data, "node")) {
        out << "It counts alone: there is no origin.\n";
        return;
    }
    out << "It is node " << text_in(data, "node") << "; its origin is "
        << (is_true(data, "originUnavailable") ? "unavailable" : "available");
    if (is_true(data, "unsynced")) out << " and has not heard all that this node spent";
    out << ".\n";
    if (has(data, "refreshedAt")) {
        out << "What others spent was heard of " << seconds(now - number_in(data, "refreshedAt"))
            << " ago.\n";
    }
    if (has(data, "strictUntil")) {
        out << "It was denied lately: for another " << seconds(number_in(data, "strictUntil") - now)
            << " each pass asks the origin first.\n";
    }
}

void tell_window(const char* name, const Json& cell, std::ostream& out) {
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

void tell_components(const char* name, const Json& cell, std::string_view node, std::ostream& out) {
    simdjson::dom::array components;
    if (cell["origin"]["components"].get(components) != simdjson::SUCCESS) return;
    if (components.size() == 0) return;
    out << "\nAt the origin, in the " << name << " window, which it forgets in "
        << seconds(number_in(cell["origin"].value(), "lifetime")) << ":\n";
    for (const Json component : components) {
        const std::string owner = text_in(component, "owner");
        out << "  " << owner << "  " << number_in(component, "count")
            << (is_of_node(owner, node) ? "  (this node)" : "") << "\n";
    }
}

void tell_regions(const char* name, const Json& cell, std::ostream& out) {
    simdjson::dom::array regions;
    if (cell["regions"].get(regions) != simdjson::SUCCESS || regions.size() == 0) return;
    out << "\nPublished by regions, in the " << name << " window:\n";
    for (const Json region : regions) {
        out << "  " << text_in(region, "region") << "  " << number_in(region, "count") << "  ("
            << seconds(number_in(region, "age")) << " ago)\n";
    }
}

void tell(const InspectCommand& command, const Json& data, std::ostream& out) {
    const Json current = data["current"].value();
    const Json previous = data["previous"].value();
    out << command.name_space << " " << command.identifier << ", windows of "
        << config::to_string(command.duration) << "; the current one began "
        << seconds(number_in(data, "now") - number_in(current, "begins")) << " ago.\n";
    tell_state(data, out);
    out << "\nwindow    ";
    for (const char* column :
         {"by this node", "settled", "by others", "other regions", "at origin"})
        out << std::right << std::setw(18) << column;
    out << "\n";
    tell_window("current", current, out);
    tell_window("previous", previous, out);
    const std::string node = text_in(data, "node");
    tell_components("current", current, node, out);
    tell_components("previous", previous, node, out);
    tell_regions("current", current, out);
    tell_regions("previous", previous, out);
}

}  // namespace

ExitCode run_inspect(const InspectCommand& command, std::ostream& out, std::ostream& err) {
    const auto answer = post_json(command.target, kPath, to_json(command), command.timeout);
    if (!answer) {
        err << "sluice inspect: " << answer.error().message << "\n";
        return ExitCode::kError;
    }
    simdjson::dom::parser parser;
    Json document;
    const bool is_json = parser.parse(answer->body).get(document) == simdjson::SUCCESS;
    const bool is_answer = is_json && answer->status == 200 &&
                           document["data"]["current"].error() == simdjson::SUCCESS &&
                           document["data"]["previous"].error() == simdjson::SUCCESS;
    if (!is_answer) {
        err << "sluice inspect: the server answered " << answer->status << ": "
            << (is_json ? detail_in(document) : "not JSON; is it Sluice?") << "\n";
        return ExitCode::kError;
    }
    if (command.output == Output::kJson) {
        out << answer->body << (answer->body.ends_with('\n') ? "" : "\n");
    } else {
        tell(command, document["data"].value(), out);
    }
    return ExitCode::kOk;
}

}  // namespace sluice::cli
