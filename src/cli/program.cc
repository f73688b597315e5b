#include "cli/program.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/bench.h"
#include "cli/check_config.h"
#include "cli/cleanup_command.h"
#include "cli/inspect.h"
#include "cli/limit.h"
#include "cli/migrate_command.h"
#include "cli/serve.h"
#include "cli/simulate.h"
#include "cli/token_command.h"
#include "cli/version.h"
#include "config/catalog.h"
#include "config/duration.h"
#include "config/load.h"
#include "service/open_global.h"
#include "sim/fault.h"

namespace sluice::cli {
namespace {

constexpr const char* kAbout =
    "Sluice limits how often something may happen, in sliding windows, from local memory.";
constexpr const char* kExamples =
    "Examples:\n"
    "  sluice serve                                  a server on http://127.0.0.1:8080\n"
    "  sluice limit login alice --limit 10 --duration 60s\n"
    "  sluice inspect login alice --duration 60s     why was it denied?\n"
    "  sluice bench --seconds 5\n"
    "  sluice simulate                               what would a failure do?\n"
    "\n`sluice COMMAND --help` tells more about each.";

constexpr const char* kServeExamples =
    "Each setting is also a key of the file and an environment variable: --log-level, "
    "SLUICE_LOG_LEVEL, and\n"
    "`level` in [log]. Flags win over the environment, the environment over the file. Tokens of "
    "one source\n"
    "replace those of a weaker one. SIGHUP re-reads tokens, log level and certificate; SIGTERM "
    "drains.\n"
    "\nExamples:\n"
    "  sluice serve --data-dir data\n"
    "  sluice serve --origin redis://127.0.0.1:6379/0\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice serve --region eu\n"
    "  sluice serve --config sluice.toml\n"
    "  SLUICE_SERVER_TOKENS=secret sluice serve --listen 0.0.0.0:8080\n"
    "  sluice serve --listen 0.0.0.0:8443 --token secret --tls-cert cert.pem --tls-key key.pem";

constexpr const char* kCheckExamples =
    "Prints what `sluice serve --config FILE` would run with here, and where each value comes "
    "from. Exits with 2\n"
    "if it would refuse to start, and says why.\n"
    "\nExample:\n"
    "  sluice check-config sluice.toml";

constexpr const char* kTokenExamples =
    "The token itself goes to standard error, the lines for the server's file to standard output; "
    "they hold its\n"
    "hash alone. The permissions are limit, read_override, set_override and delete_override.\n"
    "\nExamples:\n"
    "  sluice token --name web\n"
    "  sluice token --name admin --permission limit read_override set_override delete_override\n"
    "  sluice token --name mailer --workspace acme --namespace 'email.*' >> sluice.toml";

constexpr const char* kLimitExamples =
    "Exits with 0 if the request passed, 1 if it was denied, 2 if there was no decision.\n"
    "\nExamples:\n"
    "  sluice limit login alice --limit 10 --duration 60s\n"
    "  sluice limit upload bob --limit 1000 --duration 1h --cost 25 --json\n"
    "  sluice limit jobs nightly --limit 1 --duration 1d && ./nightly-job";

constexpr const char* kInspectExamples =
    "Tells what the server holds of a key, what it has heard of the other nodes of its region, and "
    "what the origin\n"
    "holds, component by component: the answer to \"why was I denied?\". Spends nothing.\n"
    "\nExamples:\n"
    "  sluice inspect login alice --duration 60s\n"
    "  sluice inspect upload bob --duration 1h --json";

constexpr const char* kBenchExamples =
    "Exits with 0 if every request was answered, 1 if some failed, 2 if all did.\n"
    "\nExamples:\n"
    "  sluice bench\n"
    "  sluice bench --connections 64 --seconds 30 --keys 100000\n"
    "  sluice bench --batch 100 --json";

constexpr const char* kMigrateExamples =
    "Makes the tables in an empty database, or brings those of an older version up to date; may be "
    "run again and by\n"
    "several at once. Exits with 2 if that fails. SLUICE_GLOBAL is a better place for a password "
    "than --global.\n"
    "\nExamples:\n"
    "  sluice migrate --global mysql://sluice@db/limits --dry-run\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice migrate";

constexpr const char* kCleanupExamples =
    "Deletes the counts of windows that no decision can need any more, a minute after they have "
    "expired. Made to be\n"
    "run now and then, by cron say; servers with --global-cleanup do the same. An interrupted run "
    "exits with 0: the\n"
    "next one goes on.\n"
    "\nExamples:\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice cleanup\n"
    "  sluice cleanup --global sqlite:/var/lib/sluice/global.db --batch 500 --pause 1s";

constexpr const char* kSimulateExamples =
    "Runs the code of many nodes on virtual time, and checks every decision against what callers "
    "were told.\n"
    "The same seed gives the same output on every machine. Exits with 0 if all checks passed, 1 if "
    "one failed,\n"
    "and then says how to see it again. Scenarios are in sim/scenarios.\n"
    "\nExamples:\n"
    "  sluice simulate\n"
    "  sluice simulate --regions 10 --keys 1 --load 30 --duration 5m --for 15m\n"
    "  sluice simulate --fault origin-empty@30s --fault loss=0.05 --json\n"
    "  sluice simulate sim/scenarios/free_zone_30.toml --seed 7 --trace events.txt\n\n";

// What the arguments leave behind. The parser writes into it, so it doesn't move.
struct Arguments {
    config::Sources sources;
    TokenCommand token;
    std::string url = "http://127.0.0.1:8080";
    Target target;
    LimitCommand limit;
    std::string limit_duration;
    InspectCommand inspect;
    std::string timeout = "5s";
    MigrateCommand migrate;
    CleanupCommand cleanup;
    std::string cleanup_pause = "100ms";
    BenchCommand bench;
    SimulateCommand simulate;
    std::map<std::string, std::string> simulate_settings;
    std::int64_t bench_seconds = 10;
    std::string bench_duration = "60s";
    bool json = false;
};

CLI::App* add_command(CLI::App& app, const char* name, const char* about, const char* examples) {
    CLI::App* const command = app.add_subcommand(name, about);
    command->footer(examples);
    return command;
}

void add_serve(CLI::App& app, config::Sources& sources) {
    CLI::App* const serve = add_command(app, "serve", "Answer requests over HTTP", kServeExamples);
    serve->add_option("--config", sources.file, "A TOML file with settings")->type_name("FILE");
    serve
        ->add_option("--token",
                     sources.tokens,
                     "A token that may do everything; others see it in the list of processes, so "
                     "SLUICE_SERVER_TOKENS or the "
                     "file are better places")
        ->type_name("TOKEN")
        ->expected(1)
        ->take_all();
    for (const config::Setting& setting : config::catalog()) {
        std::string& value = sources.flags[std::string(setting.key)];
        const std::string flag = config::flag_of(setting.key);
        if (setting.value_name.empty()) {
            serve->add_flag_callback(
                flag, [&value] { value = "true"; }, std::string(setting.help));
        } else {
            serve->add_option(flag, value, std::string(setting.help))
                ->type_name(std::string(setting.value_name));
        }
    }
}

void add_check_config(CLI::App& app, config::Sources& sources) {
    CLI::App* const check =
        add_command(app, "check-config", "Check a file of settings", kCheckExamples);
    check->add_option("FILE", sources.file, "A TOML file with settings")->required();
}

void add_token(CLI::App& app, TokenCommand& command) {
    CLI::App* const token = add_command(app, "token", "Make a token for a client", kTokenExamples);
    token->add_option("--name", command.name, "Tells it from others")->capture_default_str();
    token->add_option("--workspace", command.workspace, "The world that it acts in")
        ->capture_default_str();
    token->add_option("--namespace", command.namespaces, "Patterns of namespaces that it may use")
        ->capture_default_str();
    token->add_option("--permission", command.permissions, "What it may do there")
        ->capture_default_str();
}

void add_global(CLI::App& command, std::string& global) {
    command.add_option("--global", global, "The global database (also: SLUICE_GLOBAL)")
        ->type_name("URL");
}

void add_migrate(CLI::App& app, MigrateCommand& command) {
    CLI::App* const migrate = add_command(
        app, "migrate", "Make or upgrade the tables of a global database", kMigrateExamples);
    add_global(*migrate, command.global);
    migrate->add_flag("--dry-run", command.dry_run, "Print what would be run, and run nothing");
}

void add_cleanup(CLI::App& app, Arguments& arguments) {
    CLI::App* const cleanup = add_command(
        app, "cleanup", "Delete expired counts from a global database", kCleanupExamples);
    add_global(*cleanup, arguments.cleanup.global);
    cleanup->add_option("--batch", arguments.cleanup.batch, "The most that one statement deletes")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    cleanup->add_option("--pause", arguments.cleanup_pause, "How long to wait between two")
        ->type_name("TIME")
        ->capture_default_str();
}

void add_target(CLI::App& command, Arguments& arguments) {
    command.add_option("--url", arguments.url, "The server")->capture_default_str();
    command.add_option("--token", arguments.target.token, "The token to send (also: SLUICE_TOKEN)");
    command
        .add_option(
            "--ca-cert", arguments.target.ca_cert, "PEM file of the authority to trust, for https")
        ->type_name("FILE");
    command.add_flag("--insecure", arguments.target.insecure, "Believe any certificate");
    command.add_flag("--json", arguments.json, "Print JSON");
}

void add_limit(CLI::App& app, Arguments& arguments) {
    CLI::App* const limit =
        add_command(app, "limit", "Ask a server for one decision", kLimitExamples);
    LimitQuestion& question = arguments.limit.question;
    limit->add_option("NAMESPACE", question.name_space, "What is limited, such as login")
        ->required();
    limit->add_option("IDENTIFIER", question.identifier, "Who or what is counted, such as a user")
        ->required();
    limit->add_option("--limit", question.limit, "How much may pass per duration")->required();
    limit
        ->add_option(
            "--duration", arguments.limit_duration, "Length of the window: 500ms, 60s, 5m, 1h, 30d")
        ->type_name("TIME")
        ->required();
    limit->add_option("--cost", question.cost, "How much this request takes")
        ->capture_default_str();
    limit->add_option("--timeout", arguments.timeout, "How long to wait for the answer")
        ->type_name("TIME")
        ->capture_default_str();
    add_target(*limit, arguments);
}

void add_inspect(CLI::App& app, Arguments& arguments) {
    CLI::App* const inspect =
        add_command(app, "inspect", "Tell what a server knows of a key", kInspectExamples);
    inspect->add_option("NAMESPACE", arguments.inspect.name_space, "What is limited, such as login")
        ->required();
    inspect
        ->add_option(
            "IDENTIFIER", arguments.inspect.identifier, "Who or what is counted, such as a user")
        ->required();
    inspect
        ->add_option(
            "--duration", arguments.limit_duration, "Length of the window: 500ms, 60s, 5m, 1h, 30d")
        ->type_name("TIME")
        ->required();
    inspect->add_option("--timeout", arguments.timeout, "How long to wait for the answer")
        ->type_name("TIME")
        ->capture_default_str();
    add_target(*inspect, arguments);
}

void add_bench(CLI::App& app, Arguments& arguments) {
    CLI::App* const bench =
        add_command(app, "bench", "Measure a server under load", kBenchExamples);
    BenchCommand& command = arguments.bench;
    bench
        ->add_option(
            "--connections", command.connections, "Connections, each with one request in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 60'000));
    bench->add_option("--seconds", arguments.bench_seconds, "How long")
        ->capture_default_str()
        ->check(CLI::Range(1, 86'400));
    bench->add_option("--keys", command.keys, "How many identifiers")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
    bench->add_option("--batch", command.batch, "Decisions per request")
        ->capture_default_str()
        ->check(CLI::Range(1, 100));
    bench->add_option("--limit", command.limit, "The limit of each identifier")
        ->capture_default_str();
    bench->add_option("--duration", arguments.bench_duration, "The window of each identifier")
        ->type_name("TIME")
        ->capture_default_str();
    add_target(*bench, arguments);
}

void add_simulate(CLI::App& app, Arguments& arguments) {
    static const std::string footer = std::string(kSimulateExamples) + sim::kFaultHelp;
    CLI::App* const simulate =
        add_command(app, "simulate", "See what a fleet would do, faults and all", footer.c_str());
    SimulateCommand& command = arguments.simulate;
    simulate->add_option("SCENARIO", command.scenario, "A file such as those in sim/scenarios");
    const auto add = [&](const char* name, const char* help, const char* type) {
        simulate->add_option(std::string("--") + name, arguments.simulate_settings[name], help)
            ->type_name(type);
    };
    add("seed", "What chance is drawn from", "N");
    add("regions", "How many regions", "R");
    add("nodes-per-region", "How many nodes in each", "M");
    add("limit", "Of each key", "L");
    add("duration", "The window of the limit", "TIME");
    add("load", "What is asked for, as a multiple of the limit", "X");
    add("spread", "Over regions: even, single, zipf, rotating", "HOW");
    add("keys", "How many keys", "K");
    add("for", "How long requests come, in virtual time", "TIME");
    add("policy", "What regions publish: half, quarter, always", "NAME");
    simulate->add_option("--fault", command.faults, "What goes wrong, see below")
        ->type_name("SPEC")
        ->expected(1)
        ->take_all();
    simulate->add_flag("--json", command.json, "Print JSON");
    simulate->add_option("--trace", command.trace, "Where to write what happened")
        ->type_name("FILE");
    simulate->add_option("--swarm", command.swarm, "Draw all knobs at random, from this seed")
        ->type_name("N");
    simulate->add_option("--runs", command.runs, "How many swarms, from that seed on")
        ->type_name("N");
}

std::string variable(const Surroundings& surroundings, const char* name) {
    const auto found = surroundings.environment.find(name);
    return found == surroundings.environment.end() ? std::string() : found->second;
}

// The target of a client command, from its flags and the environment.
Result<Target> target_of(const CLI::App& command,
                         const Arguments& arguments,
                         const Surroundings& surroundings) {
    Target target = arguments.target;
    const std::string url = variable(surroundings, "SLUICE_URL");
    auto parsed = parse_url(command.count("--url") == 0 && !url.empty() ? url : arguments.url);
    if (!parsed) return std::move(parsed.error());
    target.url = *std::move(parsed);
    if (target.token.empty()) target.token = variable(surroundings, "SLUICE_TOKEN");
    if (!target.token.empty() && !config::is_valid_secret(target.token)) {
        return Error{
            kInvalidOption,
            "--token is a value that is not shown; allowed is 1 to 512 visible ASCII characters"};
    }
    return target;
}

Result<std::chrono::milliseconds> duration_of(const char* flag, const std::string& text) {
    const auto duration = config::parse_duration(text);
    if (duration) return *duration;
    return Error{kInvalidOption,
                 std::string(flag) + " is \"" + text +
                     "\"; allowed is a time such as 500ms, 60s, 5m, 1h or 30d"};
}

ExitCode fail(const char* command, const Error& error, const Surroundings& surroundings) {
    surroundings.err << "sluice " << command << ": " << error.message << "\n";
    return ExitCode::kError;
}

// The global database that a command is to work on, from its flag or the environment.
Result<std::string> global_of(const std::string& flag, const Surroundings& surroundings) {
    std::string url = flag.empty() ? variable(surroundings, "SLUICE_GLOBAL") : flag;
    if (url.empty())
        return Error{kInvalidOption,
                     "--global is missing; allowed is mysql://[user[:password]@]host[:port]/"
                     "database or sqlite:PATH, also in SLUICE_GLOBAL"};
    if (auto error = invalid_global(url)) return *std::move(error);
    return url;
}

ExitCode migrate(Arguments& arguments, const Surroundings& surroundings) {
    auto global = global_of(arguments.migrate.global, surroundings);
    if (!global) return fail("migrate", global.error(), surroundings);
    arguments.migrate.global = *std::move(global);
    return run_migrate(arguments.migrate, surroundings.out, surroundings.err);
}

ExitCode cleanup(Arguments& arguments, const Surroundings& surroundings) {
    auto global = global_of(arguments.cleanup.global, surroundings);
    if (!global) return fail("cleanup", global.error(), surroundings);
    const auto pause = duration_of("--pause", arguments.cleanup_pause);
    if (!pause) return fail("cleanup", pause.error(), surroundings);
    arguments.cleanup.global = *std::move(global);
    arguments.cleanup.pause = *pause;
    return run_cleanup(arguments.cleanup, surroundings.out, surroundings.err);
}

ExitCode limit(const CLI::App& command, Arguments& arguments, const Surroundings& surroundings) {
    auto target = target_of(command, arguments, surroundings);
    if (!target) return fail("limit", target.error(), surroundings);
    const auto duration = duration_of("--duration", arguments.limit_duration);
    if (!duration) return fail("limit", duration.error(), surroundings);
    const auto timeout = duration_of("--timeout", arguments.timeout);
    if (!timeout) return fail("limit", timeout.error(), surroundings);
    LimitCommand& wanted = arguments.limit;
    wanted.target = *std::move(target);
    wanted.question.duration = *duration;
    wanted.timeout = *timeout;
    wanted.output = arguments.json ? Output::kJson : Output::kText;
    return run_limit(wanted, surroundings.out, surroundings.err);
}

ExitCode inspect(const CLI::App& command, Arguments& arguments, const Surroundings& surroundings) {
    auto target = target_of(command, arguments, surroundings);
    if (!target) return fail("inspect", target.error(), surroundings);
    const auto duration = duration_of("--duration", arguments.limit_duration);
    if (!duration) return fail("inspect", duration.error(), surroundings);
    const auto timeout = duration_of("--timeout", arguments.timeout);
    if (!timeout) return fail("inspect", timeout.error(), surroundings);
    InspectCommand& wanted = arguments.inspect;
    wanted.target = *std::move(target);
    wanted.duration = *duration;
    wanted.timeout = *timeout;
    wanted.output = arguments.json ? Output::kJson : Output::kText;
    return run_inspect(wanted, surroundings.out, surroundings.err);
}

ExitCode bench(const CLI::App& command, Arguments& arguments, const Surroundings& surroundings) {
    auto target = target_of(command, arguments, surroundings);
    if (!target) return fail("bench", target.error(), surroundings);
    const auto duration = duration_of("--duration", arguments.bench_duration);
    if (!duration) return fail("bench", duration.error(), surroundings);
    BenchCommand& wanted = arguments.bench;
    wanted.target = *std::move(target);
    wanted.seconds = std::chrono::seconds(arguments.bench_seconds);
    wanted.duration = *duration;
    wanted.output = arguments.json ? Output::kJson : Output::kText;
    return run_bench(wanted, surroundings.out, surroundings.err);
}

ExitCode simulate(const CLI::App& command, Arguments& arguments, const Surroundings& surroundings) {
    for (const auto& [name, value] : arguments.simulate_settings)
        if (command.count("--" + name) != 0) arguments.simulate.settings[name] = value;
    return run_simulate(arguments.simulate, surroundings.out, surroundings.err);
}

ExitCode dispatch(const CLI::App& app, Arguments& arguments, const Surroundings& surroundings) {
    const CLI::App& command = *app.get_subcommands().front();
    const std::string name = command.get_name();
    config::Sources& sources = arguments.sources;
    sources.environment = surroundings.environment;
    const auto is_absent = [&](const auto& flag) {
        return name != "serve" || command.count(config::flag_of(flag.first)) == 0;
    };
    std::erase_if(sources.flags, is_absent);
    if (name == "serve") return run_serve(sources, surroundings.err);
    if (name == "check-config")
        return run_check_config(sources, surroundings.out, surroundings.err);
    if (name == "token") return run_token(arguments.token, surroundings.out, surroundings.err);
    if (name == "migrate") return migrate(arguments, surroundings);
    if (name == "cleanup") return cleanup(arguments, surroundings);
    if (name == "limit") return limit(command, arguments, surroundings);
    if (name == "inspect") return inspect(command, arguments, surroundings);
    if (name == "simulate") return simulate(command, arguments, surroundings);
    return bench(command, arguments, surroundings);
}

}  // namespace

ExitCode run_program(std::vector<std::string> arguments, const Surroundings& surroundings) {
    CLI::App app(kAbout, "sluice");
    app.set_version_flag("--version", std::string("sluice ") + kVersion);
    app.require_subcommand(1);
    app.footer(kExamples);
    app.get_formatter()->column_width(34);
    Arguments parsed;
    add_serve(app, parsed.sources);
    add_check_config(app, parsed.sources);
    add_token(app, parsed.token);
    add_migrate(app, parsed.migrate);
    add_cleanup(app, parsed);
    add_limit(app, parsed);
    add_inspect(app, parsed);
    add_bench(app, parsed);
    add_simulate(app, parsed);
    if (arguments.empty()) {
        surroundings.err << app.help();
        return ExitCode::kError;
    }
    try {
        // The parser takes them from the back.
        std::reverse(arguments.begin(), arguments.end());
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& stop) {
        return app.exit(stop, surroundings.out, surroundings.err) == 0 ? ExitCode::kOk
                                                                       : ExitCode::kError;
    }
    return dispatch(app, parsed, surroundings);
}

}  // namespace sluice::cli
