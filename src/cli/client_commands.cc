#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/limit.h"
#include "cli/override_command.h"
#include "config/token.h"

namespace sluice::cli {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLimitFooter =
    "Exits with 0 if the request passed, 1 if it was denied, 2 if there was no decision.\n"
    "\nExamples:\n"
    "  sluice limit login alice --limit 10 --duration 60s\n"
    "  sluice limit upload bob --limit 1000 --duration 1h --cost 25 --json\n"
    "  sluice limit jobs nightly --limit 1 --duration 1d && ./nightly-job";

constexpr const char* kInspectFooter =
    "Tells what the server holds of a key, what it has heard of the other nodes of its region, and "
    "what the origin\n"
    "holds, component by component: the answer to \"why was I denied?\". Spends nothing.\n"
    "\nExamples:\n"
    "  sluice inspect login alice --duration 60s\n"
    "  sluice inspect upload bob --duration 1h --json";

constexpr const char* kBenchFooter =
    "Exits with 0 if every request was answered, 1 if some failed, 2 if all did.\n"
    "\nExamples:\n"
    "  sluice bench\n"
    "  sluice bench --connections 64 --seconds 30 --keys 100000\n"
    "  sluice bench --batch 100 --json";

constexpr const char* kOverrideFooter =
    "An override replaces the limit and the duration that requests ask for. IDENTIFIER is one "
    "identifier, or a\n"
    "pattern in which * stands for any run of characters; quote it. Exits with 0 on success, 1 if "
    "there is no such\n"
    "override, 2 on an error.\n"
    "\nExamples:\n"
    "  sluice override set login alice --limit 100 --duration 60s\n"
    "  sluice override set login 'bot_*' --limit 0 --duration 1h     a ban\n"
    "  sluice override get login alice\n"
    "  sluice override list login --json\n"
    "  sluice override delete login 'bot_*'";

// The shortest window that a server accepts.
constexpr milliseconds kShortestWindow{1000};
constexpr const char* kWindowHelp = "Length of the window, at least 1s: 10s, 5m, 1h, 30d";
constexpr const char* kNamespaceHelp = "What is limited, such as login";
constexpr const char* kIdentifierHelp = "Who or what is counted, such as a user";

// The options that all client commands share, as they are written.
struct TargetArguments {
    Target target;
    std::string url = "http://127.0.0.1:8080";
    std::string timeout = "5s";
    bool json = false;

    Output output() const { return json ? Output::kJson : Output::kText; }
};

void add_target(CLI::App& command, TargetArguments& arguments) {
    command.add_option("--url", arguments.url, "The server (also: SLUICE_URL)")
        ->capture_default_str();
    command.add_option("--token", arguments.target.token, "The token to send (also: SLUICE_TOKEN)");
    command
        .add_option(
            "--ca-cert", arguments.target.ca_cert, "PEM file of the authority to trust, for https")
        ->type_name("FILE");
    command.add_flag("--insecure", arguments.target.insecure, "Believe any certificate");
    command.add_flag("--json", arguments.json, "Print JSON");
}

void add_timeout(CLI::App& command, TargetArguments& arguments) {
    command.add_option("--timeout", arguments.timeout, "How long to wait for the answer")
        ->type_name("TIME")
        ->capture_default_str();
}

void add_window(CLI::App& command, std::string& duration) {
    command.add_option("--duration", duration, kWindowHelp)->type_name("TIME")->required();
}

void add_key(CLI::App& command, std::string& name_space, std::string& identifier) {
    command.add_option("NAMESPACE", name_space, kNamespaceHelp)->required();
    command.add_option("IDENTIFIER", identifier, kIdentifierHelp)->required();
}

// The target of a client command, from its flags and the environment.
Result<Target> target_of(const CLI::App& command,
                         const TargetArguments& arguments,
                         const Environment& environment) {
    warn_of_variables(command, environment);
    Target target = arguments.target;
    const std::string url = variable(environment, "SLUICE_URL");
    auto parsed = parse_url(command.count("--url") == 0 && !url.empty() ? url : arguments.url);
    if (!parsed) return std::move(parsed.error());
    target.url = *std::move(parsed);
    if (target.token.empty()) target.token = variable(environment, "SLUICE_TOKEN");
    if (!target.token.empty() && !config::is_valid_secret(target.token)) {
        return Error{
            kInvalidOption,
            "--token is a value that is not shown; allowed is 1 to 512 visible ASCII characters"};
    }
    return target;
}

// Fills in what all commands with one request have: `wanted` has a target, a timeout and an output.
template <class Wanted>
std::optional<Error> prepare(const CLI::App& command,
                             const TargetArguments& arguments,
                             const Environment& environment,
                             Wanted& wanted) {
    auto target = target_of(command, arguments, environment);
    if (!target) return std::move(target).error();
    const auto timeout = duration_of("--timeout", arguments.timeout);
    if (!timeout) return timeout.error();
    wanted.target = *std::move(target);
    wanted.timeout = *timeout;
    wanted.output = arguments.output();
    return std::nullopt;
}

struct LimitArguments : TargetArguments {
    LimitCommand command;
    std::string duration;
};

void add_limit(Commands& commands) {
    CLI::App& limit = commands.add("limit", "Ask a server for one decision", kLimitFooter);
    const auto arguments = std::make_shared<LimitArguments>();
    LimitQuestion& question = arguments->command.question;
    add_key(limit, question.name_space, question.identifier);
    limit.add_option("--limit", question.limit, "How much may pass per duration")->required();
    add_window(limit, arguments->duration);
    limit.add_option("--cost", question.cost, "How much this request takes")->capture_default_str();
    add_timeout(limit, *arguments);
    add_target(limit, *arguments);
    commands.set_run(limit, [arguments, &limit](const Environment& environment) {
        LimitCommand& wanted = arguments->command;
        const auto failed = prepare(limit, *arguments, environment, wanted);
        if (failed) return fail(limit, *failed, environment);
        const auto duration = duration_of("--duration", arguments->duration, kShortestWindow);
        if (!duration) return fail(limit, duration.error(), environment);
        wanted.question.duration = *duration;
        return run_limit(wanted, environment.out, environment.err);
    });
}

struct InspectArguments : TargetArguments {
    InspectCommand command;
    std::string duration;
};

void add_inspect(Commands& commands) {
    CLI::App& inspect =
        commands.add("inspect", "Tell what a server knows of a key", kInspectFooter);
    const auto arguments = std::make_shared<InspectArguments>();
    add_key(inspect, arguments->command.name_space, arguments->command.identifier);
    add_window(inspect, arguments->duration);
    add_timeout(inspect, *arguments);
    add_target(inspect, *arguments);
    commands.set_run(inspect, [arguments, &inspect](const Environment& environment) {
        InspectCommand& wanted = arguments->command;
        const auto failed = prepare(inspect, *arguments, environment, wanted);
        if (failed) return fail(inspect, *failed, environment);
        const auto duration = duration_of("--duration", arguments->duration, kShortestWindow);
        if (!duration) return fail(inspect, duration.error(), environment);
        wanted.duration = *duration;
        return run_inspect(wanted, environment.out, environment.err);
    });
}

struct OverrideArguments : TargetArguments {
    OverrideCommand command;
    std::string duration;
};

// Adds `override NAME`. `add_more` adds the options that only this one has.
template <class AddMore>
void add_override(Commands& commands,
                  CLI::App& parent,
                  OverrideAction action,
                  const char* name,
                  const char* about,
                  AddMore add_more) {
    CLI::App& command = *parent.add_subcommand(name, about);
    command.footer(kOverrideFooter);
    const auto arguments = std::make_shared<OverrideArguments>();
    arguments->command.action = action;
    command.add_option("NAMESPACE", arguments->command.name_space, kNamespaceHelp)->required();
    add_more(command, *arguments);
    add_timeout(command, *arguments);
    add_target(command, *arguments);
    commands.set_run(command, [arguments, &command](const Environment& environment) {
        OverrideCommand& wanted = arguments->command;
        const auto failed = prepare(command, *arguments, environment, wanted);
        if (failed) return fail(command, *failed, environment);
        if (wanted.action == OverrideAction::kSet) {
            const auto duration = duration_of("--duration", arguments->duration, kShortestWindow);
            if (!duration) return fail(command, duration.error(), environment);
            wanted.duration = *duration;
        }
        return run_override(wanted, environment.out, environment.err);
    });
}

void add_overrides(Commands& commands) {
    CLI::App& parent =
        commands.add("override", "Set, read, list and delete overrides of limits", kOverrideFooter);
    parent.require_subcommand(1);
    const auto add_identifier = [](CLI::App& command, OverrideArguments& arguments) {
        command
            .add_option("IDENTIFIER",
                        arguments.command.identifier,
                        "An identifier, or a pattern with * such as 'bot_*'")
            ->required();
    };
    const auto add_grant = [&](CLI::App& command, OverrideArguments& arguments) {
        add_identifier(command, arguments);
        command
            .add_option("--limit", arguments.command.limit, "The limit that holds instead; 0 bans")
            ->required();
        add_window(command, arguments.duration);
    };
    const auto add_nothing = [](CLI::App&, OverrideArguments&) {};
    using enum OverrideAction;
    add_override(commands, parent, kSet, "set", "Set or change an override", add_grant);
    add_override(commands, parent, kGet, "get", "Show one override", add_identifier);
    add_override(commands, parent, kList, "list", "List those of a namespace", add_nothing);
    add_override(commands, parent, kDelete, "delete", "Delete an override", add_identifier);
}

struct BenchArguments : TargetArguments {
    BenchCommand command;
    std::int64_t seconds = 10;
    std::string duration = "60s";
};

void add_bench(Commands& commands) {
    CLI::App& bench = commands.add("bench", "Measure a server under load", kBenchFooter);
    const auto arguments = std::make_shared<BenchArguments>();
    BenchCommand& command = arguments->command;
    bench
        .add_option(
            "--connections", command.connections, "Connections, each with one request in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 60'000));
    bench.add_option("--seconds", arguments->seconds, "How long")
        ->capture_default_str()
        ->check(CLI::Range(1, 86'400));
    bench.add_option("--keys", command.keys, "How many identifiers")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
    bench.add_option("--batch", command.batch, "Decisions per request")
        ->capture_default_str()
        ->check(CLI::Range(1, 100));
    bench.add_option("--limit", command.limit, "The limit of each identifier")
        ->capture_default_str();
    bench.add_option("--duration", arguments->duration, "The window of each identifier")
        ->type_name("TIME")
        ->capture_default_str();
    add_target(bench, *arguments);
    commands.set_run(bench, [arguments, &bench](const Environment& environment) {
        BenchCommand& wanted = arguments->command;
        auto target = target_of(bench, *arguments, environment);
        if (!target) return fail(bench, target.error(), environment);
        const auto duration = duration_of("--duration", arguments->duration, kShortestWindow);
        if (!duration) return fail(bench, duration.error(), environment);
        wanted.target = *std::move(target);
        wanted.seconds = std::chrono::seconds(arguments->seconds);
        wanted.duration = *duration;
        wanted.output = arguments->output();
        return run_bench(wanted, environment.out, environment.err);
    });
}

}  // namespace

void add_client_commands(Commands& commands) {
    add_limit(commands);
    add_inspect(commands);
    add_overrides(commands);
    add_bench(commands);
}

}  // namespace sluice::cli
