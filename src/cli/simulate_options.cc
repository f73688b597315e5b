#include <map>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "cli/simulate.h"
#include "sim/options.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
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

// What the parser writes into.
struct Arguments {
    SimulateCommand command;
    std::map<std::string, std::string> settings;
};

}  // namespace

void add_simulate_command(Commands& commands) {
    CLI::App& simulate = commands.add("simulate",
                                      "See what a fleet would do, faults and all",
                                      std::string(kFooter) + sim::kFaultHelp);
    const auto arguments = std::make_shared<Arguments>();
    SimulateCommand& command = arguments->command;
    simulate.add_option("SCENARIO", command.scenario, "A file such as those in sim/scenarios");
    const auto add = [&](const char* name, const char* help, const char* type) {
        simulate.add_option(std::string("--") + name, arguments->settings[name], help)
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
    simulate.add_option("--fault", command.faults, "What goes wrong, see below")
        ->type_name("SPEC")
        ->expected(1)
        ->take_all();
    simulate.add_flag("--json", command.json, "Print JSON");
    simulate.add_option("--trace", command.trace, "Where to write what happened")
        ->type_name("FILE");
    simulate.add_option("--swarm", command.swarm, "Draw all knobs at random, from this seed")
        ->type_name("N");
    simulate.add_option("--runs", command.runs, "How many swarms, from that seed on")
        ->type_name("N");
    commands.set_run(simulate, [arguments, &simulate](const Environment& environment) {
        for (const auto& [name, value] : arguments->settings) {
            if (simulate.count("--" + name) != 0) arguments->command.settings[name] = value;
        }
        return run_simulate(arguments->command, environment.out, environment.err);
    });
}

}  // namespace sluice::cli
