#include "cli/simulate.h"

#include <sluice/result.h>

#include <charconv>
#include <fstream>
#include <functional>
#include <ostream>

#include <unistd.h>

#include "sim/options.h"
#include "sim/run.h"

namespace sluice::cli {
namespace {

Result<sim::Options> options_of(const SimulateCommand& command) {
    auto options = command.scenario.empty() ? Result<sim::Options>(sim::default_scenario())
                                            : sim::load_scenario(command.scenario);
    if (!options) return options;
    const bool is_own =
        command.scenario.empty() && (!command.settings.empty() || !command.faults.empty());
    // Who asks for anything else than the first scenario gets no faults but those asked for.
    if (is_own && !(command.settings.size() == 1 && command.settings.contains("seed") &&
                    command.faults.empty())) {
        options->faults = {};
        options->name = "a fleet";
    }
    // Its size first: others depend on it.
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

// The one command that shows the same again.
std::string command_text(const SimulateCommand& command, std::uint64_t seed) {
    std::string text = "sluice simulate";
    if (!command.scenario.empty()) text += " " + command.scenario;
    for (const auto& [name, value] : command.settings)
        if (name != "seed") text += " --" + name + " " + value;
    for (const std::string& fault : command.faults)
        text += " --fault " + fault;
    return text + " --seed " + std::to_string(seed);
}

// On a terminal, how far a long run has come.
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
    const sim::RunResult outcome =
        sim::run(options, progress_of(options, err), command.trace.empty() ? nullptr : &trace);
    (command.json ? sim::write_json : sim::write_report)(options, outcome, text, out);
    return outcome.failure ? ExitCode::kDenied : ExitCode::kOk;
}

ExitCode run_swarm(const SimulateCommand& command, std::ostream& out, std::ostream& err) {
    std::uint64_t first = 0;
    const char* const end = command.swarm.data() + command.swarm.size();
    if (std::from_chars(command.swarm.data(), end, first).ptr != end) {
        err << "sluice simulate: --swarm is \"" << command.swarm << "\"; allowed: a whole number\n";
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

}  // namespace

ExitCode run_simulate(const SimulateCommand& command, std::ostream& out, std::ostream& err) {
    if (!command.swarm.empty()) return run_swarm(command, out, err);
    const auto options = options_of(command);
    if (!options) {
        err << "sluice simulate: " << options.error().message << "\n";
        return ExitCode::kError;
    }
    return run_one(command, *options, command_text(command, options->seed), out, err);
}

}  // namespace sluice::cli
