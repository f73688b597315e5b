// `sluice override`: sets, shows, lists and deletes the overrides of a running server.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iomanip>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <simdjson.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "config/duration.h"
#include "config/value.h"

namespace sluice::cli {
namespace {

using Json = simdjson::dom::element;

// The largest page that the server allows.
constexpr int kPageSize = 100;

constexpr const char* kFooter =
    R"(An override replaces the limit and the duration of requests. IDENTIFIER is one identifier, or a pattern in
which * stands for any characters; quote it. Exits with 0 on success, 1 if there is no such override and 2 on
an error.

Examples:
  sluice override set login alice --limit 100 --duration 60s
  sluice override set login 'bot_*' --limit 0 --duration 1h     a ban
  sluice override get login alice
  sluice override list login --json
  sluice override log
  sluice override delete login 'bot_*')";

enum class OverrideAction { kSet, kGet, kList, kDelete, kLog };

struct OverrideCommand {
    OverrideAction action = OverrideAction::kList;
    ClientCall call = {};
    std::string name_space = {};
    std::string identifier = {};  // of all but kList; a pattern may hold *
    std::int64_t limit = 0;       // of kSet, like `duration`
    std::chrono::milliseconds duration{};
};

const char* path_of(OverrideAction action) {
    switch (action) {
        case OverrideAction::kSet:
            return "/v2/ratelimit.setOverride";
        case OverrideAction::kGet:
            return "/v2/ratelimit.getOverride";
        case OverrideAction::kList:
            return "/v2/ratelimit.listOverrides";
        case OverrideAction::kDelete:
            return "/v2/ratelimit.deleteOverride";
        case OverrideAction::kLog:
            return "/v2/ratelimit.overrideLog";
    }
    return "";
}

std::string body_of(const OverrideCommand& command, const std::string& cursor) {
    if (command.action == OverrideAction::kLog) {
        return "{\"limit\":" + std::to_string(command.limit) +
               (command.name_space.empty() ? ""
                                           : ",\"namespace\":" + json_string(command.name_space)) +
               "}";
    }
    std::string body = "{\"namespace\":" + json_string(command.name_space);
    if (command.action == OverrideAction::kList) {
        body += ",\"limit\":" + std::to_string(kPageSize);
        if (!cursor.empty()) body += ",\"cursor\":" + json_string(cursor);
    } else {
        body += ",\"identifier\":" + json_string(command.identifier);
    }
    if (command.action == OverrideAction::kSet) {
        body += ",\"limit\":" + std::to_string(command.limit) +
                ",\"duration\":" + std::to_string(command.duration.count());
    }
    return body + "}";
}

struct ListedOverride {
    std::string id;
    std::string identifier;
    std::int64_t limit = 0;
    std::int64_t duration = 0;
};

std::optional<ListedOverride> override_in(const Json& json) {
    ListedOverride entry;
    std::string_view id;
    std::string_view identifier;
    const bool is_complete = json["overrideId"].get(id) == simdjson::SUCCESS &&
                             json["identifier"].get(identifier) == simdjson::SUCCESS &&
                             json["limit"].get(entry.limit) == simdjson::SUCCESS &&
                             json["duration"].get(entry.duration) == simdjson::SUCCESS;
    if (!is_complete) return std::nullopt;
    entry.id = id;
    entry.identifier = identifier;
    return entry;
}

// "alice: 10 per 60s (ovr_...)"
void print(const ListedOverride& entry, std::ostream& out) {
    out << shown(entry.identifier) << ": " << entry.limit << " per "
        << config::to_string(std::chrono::milliseconds(entry.duration)) << " (" << shown(entry.id)
        << ")\n";
}

// "10 per 60s", or "none".
std::string limit_in(const Json& change, std::string_view name) {
    std::int64_t limit = 0;
    std::int64_t duration = 0;
    const bool is_given = change[name]["limit"].get(limit) == simdjson::SUCCESS &&
                          change[name]["duration"].get(duration) == simdjson::SUCCESS;
    if (!is_given) return "none";
    return std::to_string(limit) + " per " + config::to_string(std::chrono::milliseconds(duration));
}

// "2026-11-18T19:05:35Z ops: login alice: 10 per 60s -> 20 per 60s"
void print_change(const Json& change, std::ostream& out) {
    const auto text = [&](std::string_view name) {
        std::string_view value;
        return change[name].get(value) == simdjson::SUCCESS ? value : std::string_view();
    };
    std::int64_t at = 0;
    if (change["at"].get(at) != simdjson::SUCCESS) at = 0;
    const std::time_t seconds = at / 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    const std::string_view token = text("token");
    out << std::put_time(&parts, "%Y-%m-%dT%H:%M:%SZ ") << (token.empty() ? "-" : shown(token))
        << ": " << shown(text("namespace")) << " " << shown(text("identifier")) << ": "
        << limit_in(change, "before") << " -> " << limit_in(change, "after") << "\n";
}

// One run of a command: sends its requests and prints the responses.
class OverrideRun {
  public:
    OverrideRun(const OverrideCommand& command, const CLI::App& app, const Environment& environment)
        : command_(command), app_(app), environment_(environment) {}

    ExitCode run() { return command_.action == OverrideAction::kList ? list() : single(); }

  private:
    // Sends one request. On failure prints the reason, sets `code_` and returns none.
    std::optional<Json> request(const std::string& cursor = {}) {
        auto response =
            post_json(command_.call, path_of(command_.action), body_of(command_, cursor));
        if (!response) return print_error(response.error().message);
        Json document;
        const bool is_json = parser_.parse(response->body).get(document) == simdjson::SUCCESS;
        if (is_json && response->status == 404) code_ = ExitCode::kDenied;
        const bool is_expected =
            is_json && response->status == 200 && document["data"].error() == simdjson::SUCCESS;
        if (!is_expected) return print_error(unexpected_response(*response));
        body_ = std::move(response->body);
        return document;
    }

    std::nullopt_t print_error(const std::string& why) {
        fail(app_, {kInvalidOption, why}, environment_);
        return std::nullopt;
    }

    ExitCode single() {
        const auto document = request();
        if (!document) return code_;
        if (command_.call.output == Output::kJson) {
            environment_.out << body_ << (body_.ends_with('\n') ? "" : "\n");
            return ExitCode::kOk;
        }
        const Json data = (*document)["data"].value();
        switch (command_.action) {
            case OverrideAction::kGet:
                return print_entry(data);
            case OverrideAction::kLog:
                return print_log(data);
            case OverrideAction::kDelete:
                environment_.out << "deleted: " << shown(command_.identifier) << "\n";
                return ExitCode::kOk;
            default:
                return print_set(data);
        }
    }

    ExitCode print_entry(const Json& data) {
        const auto entry = override_in(data);
        if (!entry) return unexpected();
        print(*entry, environment_.out);
        return ExitCode::kOk;
    }

    ExitCode print_log(const Json& data) {
        simdjson::dom::array changes;
        if (data["changes"].get(changes) != simdjson::SUCCESS) return unexpected();
        for (const Json change : changes)
            print_change(change, environment_.out);
        return ExitCode::kOk;
    }

    ExitCode print_set(const Json& data) {
        std::string_view id;
        if (data["overrideId"].get(id) != simdjson::SUCCESS) return unexpected();
        environment_.out << "set: ";
        print({.id = std::string(id),
               .identifier = command_.identifier,
               .limit = command_.limit,
               .duration = command_.duration.count()},
              environment_.out);
        return ExitCode::kOk;
    }

    // Reads all pages before it prints: half a list would look like a whole one.
    ExitCode list() {
        std::string cursor;
        do {
            const auto document = request(cursor);
            if (!document) return code_;
            simdjson::dom::array entries;
            if ((*document)["data"].get(entries) != simdjson::SUCCESS) return unexpected();
            for (const Json entry : entries) {
                if (!take(entry)) return unexpected();
            }
            const auto next = cursor_in(*document);
            const bool is_stuck = next && !next->empty() && *next == cursor;
            if (!next || is_stuck) return unexpected();
            cursor = *next;
        } while (!cursor.empty());
        if (command_.call.output == Output::kJson) {
            environment_.out << "{\"data\":[" << json_ << "]}\n";
        } else {
            for (const ListedOverride& entry : entries_)
                print(entry, environment_.out);
        }
        return ExitCode::kOk;
    }

    bool take(const Json& json) {
        auto entry = override_in(json);
        if (!entry) return false;
        if (command_.call.output == Output::kJson) {
            json_ += (json_.empty() ? "" : ",") + std::string(simdjson::minify(json));
        } else {
            entries_.push_back(*std::move(entry));
        }
        return true;
    }

    // The cursor of the next page: empty after the last one, none if the response has no cursor.
    static std::optional<std::string> cursor_in(const Json& document) {
        bool has_more = false;
        std::string_view cursor;
        if (document["pagination"]["hasMore"].get(has_more) != simdjson::SUCCESS)
            return std::nullopt;
        if (!has_more) return std::string();
        if (document["pagination"]["cursor"].get(cursor) != simdjson::SUCCESS) return std::nullopt;
        return std::string(cursor);
    }

    ExitCode unexpected() {
        print_error("the response holds no overrides; is it Sluice?");
        return ExitCode::kError;
    }

    const OverrideCommand& command_;
    const CLI::App& app_;
    const Environment& environment_;
    simdjson::dom::parser parser_;
    std::string body_;  // of the last response
    ExitCode code_ = ExitCode::kError;
    std::vector<ListedOverride> entries_;  // of a list, as text
    std::string json_;                     // of a list, as JSON
};

struct OverrideArguments {
    ClientOptions options;
    OverrideCommand command;
};

// Adds `override NAME`. `add_more` adds the options that only this action has.
template <class AddMore>
void add_action(Commands& commands,
                CLI::App& parent,
                OverrideAction action,
                const char* name,
                const char* about,
                AddMore add_more) {
    CLI::App& app = *parent.add_subcommand(name, about);
    app.footer(kFooter);
    const auto arguments = std::make_shared<OverrideArguments>();
    arguments->command.action = action;
    app.add_option("NAMESPACE", arguments->command.name_space, kNamespaceHelp)
        ->required(action != OverrideAction::kLog);
    add_more(app, *arguments);
    add_timeout_option(app, arguments->options);
    add_target_options(app, arguments->options);
    commands.set_run(app, [arguments, &app](const Environment& environment) {
        OverrideCommand& command = arguments->command;
        auto call = resolve_call(app, arguments->options, environment);
        if (!call) return fail(app, call.error(), environment);
        command.call = *std::move(call);
        if (command.action == OverrideAction::kSet) {
            const auto duration = window_duration(arguments->options);
            if (!duration) return fail(app, duration.error(), environment);
            command.duration = *duration;
        }
        return OverrideRun(command, app, environment).run();
    });
}

}  // namespace

void add_override_command(Commands& commands) {
    CLI::App& parent =
        commands.add("override", "Set, show, list and delete overrides of limits", kFooter);
    parent.require_subcommand(1);
    const auto add_identifier = [](CLI::App& app, OverrideArguments& arguments) {
        app.add_option("IDENTIFIER",
                       arguments.command.identifier,
                       "An identifier, or a pattern with * such as 'bot_*'")
            ->required();
    };
    const auto add_limit = [&](CLI::App& app, OverrideArguments& arguments) {
        add_identifier(app, arguments);
        app.add_option("--limit", arguments.command.limit, "The limit to apply instead; 0 bans")
            ->required();
        add_duration_option(app, arguments.options);
    };
    const auto add_nothing = [](CLI::App&, OverrideArguments&) {};
    using enum OverrideAction;
    add_action(commands, parent, kSet, "set", "Set or change an override", add_limit);
    add_action(commands, parent, kGet, "get", "Show one override", add_identifier);
    add_action(commands, parent, kList, "list", "List the overrides of a namespace", add_nothing);
    const auto add_most = [](CLI::App& app, OverrideArguments& arguments) {
        arguments.command.limit = 20;
        app.add_option("--limit", arguments.command.limit, "How many changes, 1 to 100")
            ->capture_default_str();
    };
    add_action(
        commands, parent, kLog, "log", "Show the last changes, and whose they were", add_most);
    add_action(commands, parent, kDelete, "delete", "Delete an override", add_identifier);
}

}  // namespace sluice::cli
