#include "program/simulate_command.h"

#include <sluice/result.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <unistd.h>

#include "program/simulation_page.h"
#include "sim/options.h"
#include "sim/run.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
    R"(Runs the code of many nodes on virtual time and checks every decision. The same seed gives the same output
on every machine. Exits with 0 if all checks passed and with 1 if one failed; prints the command that replays
the failure. Scenarios are in sim/scenarios.

Examples:
  sluice simulate
  sluice simulate --regions 10 --keys 1 --load 30 --duration 5m --for 15m
  sluice simulate --fault origin-empty@30s --fault loss=0.05 --json
  sluice simulate --regions 3 --fault store-down@2m+1m --html report.html
  sluice simulate sim/scenarios/free_zone_30.toml --seed 7 --trace events.txt

)";

struct SimulateCommand {
    std::string scenario = {};                         // a file; empty: the built-in scenario
    std::map<std::string, std::string> settings = {};  // by name, without the dashes
    std::vector<std::string> faults = {};
    std::string trace = {};  // a file; empty: none
    std::string html = {};   // the same
    bool json = false;
    std::string swarm = {};  // the first seed of random runs; empty: none
    std::uint64_t runs = 1;  // of the swarm
};

Result<sim::Options> options_of(const SimulateCommand& command) {
    auto options = command.scenario.empty() ? Result<sim::Options>(sim::default_scenario())
                                            : sim::load_scenario(command.scenario);
    if (!options) return options;
    const bool is_own =
        command.scenario.empty() && (!command.settings.empty() || !command.faults.empty());
    // The faults of the built-in scenario apply only if nothing but the seed is given.
    if (is_own && !(command.settings.size() == 1 && command.settings.contains("seed") &&
                    command.faults.empty())) {
        options->faults = {};
        options->name = "a fleet";
    }
    // The size first: other options depend on it.
    for (const char* first : {"regions", "nodes-per-region"})
        if (const auto found = command.settings.find(first); found != command.settings.end())
            if (auto error = sim::set_option(first, found->second, *options))
                return *std::move(error);
    for (const auto& [name, value] : command.settings)
        if (name != "regions" && name != "nodes-per-region")
            if (auto error = sim::set_option(name, value, *options)) return *std::move(error);
    for (const std::string& fault : command.faults)
        if (auto error = sim::add_fault(fault, options->faults)) return *std::move(error);
    if (auto error = sim::check_options(*options)) return *std::move(error);
    return options;
}

// The command that replays this run.
std::string command_text(const SimulateCommand& command, std::uint64_t seed) {
    std::string text = "sluice simulate";
    if (!command.scenario.empty()) text += " " + command.scenario;
    for (const auto& [name, value] : command.settings)
        if (name != "seed") text += " --" + name + " " + value;
    for (const std::string& fault : command.faults)
        text += " --fault " + fault;
    return text + " --seed " + std::to_string(seed);
}

// On a terminal, shows how far a long run has come.
std::function<void(sim::Moment)> progress_of(const sim::Options& options, std::ostream& err) {
    if (isatty(STDERR_FILENO) == 0) return {};
    return [&err, lasts = options.lasts](sim::Moment now) {
        err << "\r" << now * 100 / lasts << " % of " << sim::seconds_text(lasts) << "\r"
            << std::flush;
    };
}

ExitCode run_one(const SimulateCommand& command,
                 sim::Options options,
                 const std::string& text,
                 std::ostream& out,
                 std::ostream& err) {
    std::ofstream trace;
    if (!command.trace.empty()) {
        trace.open(command.trace);
        if (!trace) {
            err << "sluice simulate: " << command.trace << " can't be written\n";
            return ExitCode::kError;
        }
        options.is_traced = true;
    }
    std::ofstream html;
    if (!command.html.empty()) {
        html.open(command.html);
        if (!html) {
            err << "sluice simulate: " << command.html << " can't be written\n";
            return ExitCode::kError;
        }
    }
    const sim::RunResult outcome =
        sim::run(options, progress_of(options, err), command.trace.empty() ? nullptr : &trace);
    (command.json ? sim::write_json : sim::write_report)(options, outcome, text, out);
    if (!command.html.empty()) {
        std::ostringstream json;
        sim::write_json(options, outcome, text, json);
        write_simulation_page(json.str(), html);
        if (!html.flush()) {
            err << "sluice simulate: " << command.html << " can't be written\n";
            return ExitCode::kError;
        }
    }
    return outcome.failure ? ExitCode::kDenied : ExitCode::kOk;
}

ExitCode run_swarm(const SimulateCommand& command, std::ostream& out, std::ostream& err) {
    std::uint64_t first = 0;
    const char* const end = command.swarm.data() + command.swarm.size();
    if (std::from_chars(command.swarm.data(), end, first).ptr != end) {
        err << "sluice simulate: --swarm is \"" << command.swarm << "\"; allowed: a whole number\n";
        return ExitCode::kError;
    }
    if (!command.html.empty() && command.runs > 1) {
        err << "sluice simulate: --html shows one run; --runs is " << command.runs << "\n";
        return ExitCode::kError;
    }
    const auto text = [](std::uint64_t seed) {
        return "sluice simulate --swarm " + std::to_string(seed);
    };
    if (command.runs <= 1)
        return run_one(command, sim::swarm_options(first), text(first), out, err);
    std::uint64_t decisions = 0;
    for (std::uint64_t seed = first; seed < first + command.runs; ++seed) {
        const sim::RunResult outcome = sim::run(sim::swarm_options(seed));
        decisions += outcome.decisions;
        if (outcome.failure) {
            out << "FAILED with seed " << seed << " at " << sim::seconds_text(outcome.failed_at)
                << ": " << *outcome.failure << "\nReplay it: " << text(seed) << "\n";
            return ExitCode::kDenied;
        }
        if ((seed - first) % 100 == 99)
            err << seed - first + 1 << " of " << command.runs << " runs, " << decisions
                << " decisions\n";
    }
    out << command.runs << " runs from seed " << first << " on, " << decisions
        << " decisions: all checks passed\n";
    return ExitCode::kOk;
}

// kDenied if a check failed.
ExitCode run_simulate(const SimulateCommand& command, std::ostream& out, std::ostream& err) {
    if (!command.swarm.empty()) return run_swarm(command, out, err);
    const auto options = options_of(command);
    if (!options) {
        err << "sluice simulate: " << options.error().message << "\n";
        return ExitCode::kError;
    }
    return run_one(command, *options, command_text(command, options->seed), out, err);
}

// The values that the parser writes.
struct Arguments {
    SimulateCommand command;
    std::map<std::string, std::string> settings;
};

}  // namespace

void add_simulate_command(Commands& commands) {
    CLI::App& simulate = commands.add("simulate",
                                      "Simulate a fleet of nodes with faults",
                                      std::string(kFooter) + sim::kFaultHelp);
    const auto arguments = std::make_shared<Arguments>();
    SimulateCommand& command = arguments->command;
    simulate.add_option(
        "SCENARIO", command.scenario, "A scenario file, such as those in sim/scenarios");
    const auto add = [&](const char* name, const char* help, const char* type) {
        simulate.add_option(std::string("--") + name, arguments->settings[name], help)
            ->type_name(type);
    };
    add("seed", "Seed of the random numbers", "N");
    add("regions", "Number of regions", "R");
    add("nodes-per-region", "Number of nodes in each region", "M");
    add("limit", "Limit of each key", "L");
    add("duration", "Length of the window", "TIME");
    add("load", "Requested rate, as a multiple of the limit", "X");
    add("spread", "Distribution over regions: even, single, zipf, rotating, skewed", "HOW");
    add("keys", "Number of keys", "K");
    add("for", "Duration of the load, in virtual time", "TIME");
    add("bus",
        "Average delay of a message bus between the regions; without it, there is none",
        "TIME");
    add("policy", "Publishing policy of the regions: adaptive, half, quarter, always", "NAME");
    simulate.add_option("--fault", command.faults, "A fault to inject, see below")
        ->type_name("SPEC")
        ->expected(1)
        ->take_all();
    simulate.add_flag("--json", command.json, "Print JSON");
    simulate.add_option("--html", command.html, "Write the report as a web page to this file")
        ->type_name("FILE");
    simulate.add_option("--trace", command.trace, "Write a trace of all events to this file")
        ->type_name("FILE");
    simulate.add_option("--swarm", command.swarm, "Choose all options at random, from this seed")
        ->type_name("N");
    simulate.add_option("--runs", command.runs, "Number of swarm runs, with consecutive seeds")
        ->type_name("N");
    commands.set_run(simulate, [arguments, &simulate](const Environment& environment) {
        for (const auto& [name, value] : arguments->settings) {
            if (simulate.count("--" + name) != 0) arguments->command.settings[name] = value;
        }
        return run_simulate(arguments->command, environment.out, environment.err);
    });
}

}  // namespace sluice::cli
