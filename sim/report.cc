#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <vector>

#include "config/duration.h"
#include "sim/run.h"

namespace sluice::sim {
namespace {

std::string pad(std::string text, std::size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t i = text.size(); i > 3; i -= 3)
        text.insert(i - 3, ",");
    return text;
}

// `part` per `whole`, with two digits.
std::string per(std::uint64_t part, std::uint64_t whole) {
    return times_text(whole == 0 ? 0 : part * 1'000 / whole);
}

std::string time_text(Moment moment) {
    return config::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(moment));
}

// Eight heights, the highest of which is `most`.
void write_plot(const std::vector<Permille>& values, Permille most, std::ostream& out) {
    static constexpr std::array<const char*, 9> kHeights = {
        " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    for (const Permille value : values)
        out << kHeights[std::min<Permille>(value * 8 / std::max<Permille>(most, 1), 8)];
}

void write_plot_of(const Options& options, const RunResult& result, std::ostream& out) {
    Permille most = 1'000;
    for (const Permille value : result.over_time)
        most = std::max(most, value);
    out << "Admitted within the last " << config::to_string(options.load.duration)
        << ", of the fullest key; full height is " << times_text(most) << " times the limit\n  |";
    write_plot(result.over_time, most, out);
    out << "|\n  |";
    const auto columns = static_cast<std::int64_t>(result.over_time.size());
    for (std::int64_t i = 0; i < columns; ++i) {
        const Moment from = options.lasts * i / Fleet::kColumns;
        const Moment to = options.lasts * (i + 1) / Fleet::kColumns;
        char mark = ' ';
        for (std::size_t f = 0; f < options.faults.scheduled.size(); ++f) {
            const Fault& fault = options.faults.scheduled[f];
            if (fault.at < to && fault.at + fault.lasts >= from)
                mark = static_cast<char>(f < 9 ? '1' + static_cast<int>(f) : '*');
        }
        out << mark;
    }
    out << "|  faults, by their numbers below\n   0s"
        << pad(time_text(options.lasts), Fleet::kColumns - 2) << "\n";
}

void write_utilization(const RunResult& result, std::ostream& out) {
    const bool is_contended = result.contended.windows != 0;
    const Utilization& measured = is_contended ? result.contended : result.fixed;
    const auto multiple = [&](Permille part) {
        return pad(measured.windows == 0 ? "-" : times_text(part), 8);
    };
    out << "\nAdmitted, as a multiple of the limit\n  on average, in windows that wanted "
        << (is_contended ? "all of it  " : "less of it ") << multiple(result.steady()) << "   of "
        << grouped(measured.windows) << " windows that ended"
        << "\n  in the worst fixed window                    " << multiple(result.fixed.worst)
        << "\n  bound, for all windows without a fault       "
        << pad(result.bound ? times_text(*result.bound) : "-", 8)
        << "\n  in the worst trailing window, of true time   "
        << pad(times_text(result.worst_trailing), 8)
        << "\n  counted after any pass, by all that was admitted"
        << pad(times_text(result.worst_effective), 5)
        << "\nDenied, though all that was admitted left room "
        << pad(grouped(result.false_denials), 8) << "\n";
}

void write_faults(const Options& options, const RunResult& result, std::ostream& out) {
    if (options.faults.scheduled.empty()) return;
    out << "\nFaults                                  all of the region knew   all regions knew\n";
    const auto after = [](const std::optional<Moment>& took) {
        return took ? "after " + seconds_text(*took) : std::string("-");
    };
    for (std::size_t i = 0; i < options.faults.scheduled.size(); ++i) {
        std::string name = std::to_string(i + 1) + "  " + options.faults.scheduled[i].spec;
        name.resize(std::max<std::size_t>(name.size(), 40), ' ');
        out << "  " << name;
        const auto found = std::ranges::find(result.recoveries, i, &Recovery::fault);
        if (found == result.recoveries.end()) {
            out << "it did not end before the run\n";
        } else {
            out << pad(after(found->region), 20) << pad(after(found->world), 19) << "\n";
        }
    }
}

void write_regions(const RunResult& result, std::ostream& out) {
    out << "\nBy region     decisions    admitted      denied   waits/dec  calls/dec  flushed/dec  "
           "rows/1000  "
           "bytes/dec   alone\n";
    for (std::size_t i = 0; i < result.regions.size(); ++i) {
        const Node::Totals& totals = result.regions[i].totals;
        const std::uint64_t decisions = totals.audit.decisions;
        std::string name = "region-" + std::to_string(i + 1);
        name.resize(10, ' ');
        out << "  " << name << pad(grouped(decisions), 11) << pad(grouped(totals.audit.passed), 12)
            << pad(grouped(decisions - totals.audit.passed), 12)
            << pad(per(totals.audit.waits, decisions), 12) << pad(per(totals.calls, decisions), 11)
            << pad(per(totals.flushed, decisions), 13)
            << pad(per(totals.rows * 1'000, decisions), 11)
            << pad(per(result.regions[i].origin_bytes, decisions), 11)
            << pad(grouped(totals.audit.fallbacks), 8) << "\n";
    }
    out << "  waits: requests that waited for the origin; calls: to the origin; flushed: keys "
           "written to it later; rows: published\n  to the store; alone: the origin's to decide, "
           "decided without it because it was unavailable\n";
}

std::string json_text(const std::string& text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter == '\n' ? ' ' : letter;
    }
    return result + "\"";
}

std::string json_time(const std::optional<Moment>& moment) {
    return moment ? std::to_string(*moment / std::chrono::milliseconds{1}) : "null";
}

void write_json_region(const RunResult::Region& region, std::ostream& out) {
    const Node::Totals& totals = region.totals;
    out << "{\"decisions\":" << totals.audit.decisions << ",\"admitted\":" << totals.audit.passed
        << ",\"false_denials\":" << totals.audit.false_denials
        << ",\"fallbacks\":" << totals.audit.fallbacks << ",\"waits\":" << totals.audit.waits
        << ",\"calls\":" << totals.calls << ",\"flushed\":" << totals.flushed
        << ",\"rows\":" << totals.rows << ",\"imported\":" << totals.imported
        << ",\"outages\":" << totals.outages << ",\"origin_bytes\":" << region.origin_bytes
        << ",\"longest_wait_ms\":" << totals.longest_wait / std::chrono::milliseconds{1};
    for (const auto& [name, count] : {std::pair("admitted", &Fleet::Decided::passed),
                                      std::pair("denied", &Fleet::Decided::denied)}) {
        out << ",\"" << name << "_over_time\":[";
        for (std::size_t i = 0; i < region.over_time.size(); ++i)
            out << (i == 0 ? "" : ",") << region.over_time[i].*count;
        out << "]";
    }
    out << "}";
}

}  // namespace

std::string times_text(Permille part) {
    const std::string rest = std::to_string(part % 1'000 / 10);
    return std::to_string(part / 1'000) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

void write_report(const Options& options,
                  const RunResult& result,
                  const std::string& command,
                  std::ostream& out) {
    const Load& load = options.load;
    out << options.name << "\n"
        << options.nodes << " nodes in " << options.regions << " regions, " << load.keys
        << " keys with a limit of " << load.limit << " per " << config::to_string(load.duration)
        << ", load " << times_text(load.times) << " times that, for " << time_text(options.lasts)
        << "; seed " << options.seed << "\n\n";
    write_plot_of(options, result, out);
    write_utilization(result, out);
    if (result.unserved != 0)
        out << "Requests that found no node                    " << pad(grouped(result.unserved), 8)
            << "\n";
    write_faults(options, result, out);
    write_regions(result, out);
    if (result.failure) {
        out << "\nFAILED at " << seconds_text(result.failed_at) << ": " << *result.failure
            << "\nReplay it: " << command << "\n";
        return;
    }
    out << "\nAll checks passed on " << grouped(result.decisions) << " decisions; in the end "
        << grouped(result.checked_views)
        << " views of cells were the exact truth.\nSee it again: " << command << "\n";
}

void write_json(const Options& options,
                const RunResult& result,
                const std::string& command,
                std::ostream& out) {
    out << "{\"name\":" << json_text(options.name) << ",\"seed\":" << options.seed
        << ",\"command\":" << json_text(command) << ",\"policy\":" << json_text(options.policy)
        << ",\"nodes\":" << options.nodes << ",\"keys\":" << options.load.keys
        << ",\"limit\":" << options.load.limit
        << ",\"duration_ms\":" << options.load.duration.count()
        << ",\"load_permille\":" << options.load.times
        << ",\"lasts_ms\":" << json_time(options.lasts)
        << ",\"column_ms\":" << json_time(options.lasts / Fleet::kColumns)
        << ",\"failure\":" << (result.failure ? json_text(*result.failure) : "null")
        << ",\"failed_at_ms\":" << (result.failure ? json_time(result.failed_at) : "null")
        << ",\"decisions\":" << result.decisions << ",\"admitted\":" << result.passed
        << ",\"false_denials\":" << result.false_denials << ",\"unserved\":" << result.unserved
        << ",\"steady_permille\":" << result.steady()
        << ",\"worst_window_permille\":" << result.fixed.worst
        << ",\"worst_trailing_permille\":" << result.worst_trailing
        << ",\"worst_effective_permille\":" << result.worst_effective
        << ",\"bound_permille\":" << (result.bound ? std::to_string(*result.bound) : "null")
        << ",\"checked_views\":" << result.checked_views
        << ",\"store_bytes\":" << result.store_bytes
        << ",\"store_statements\":" << result.store_statements
        << ",\"bus_messages\":" << result.bus_messages
        << ",\"announcements\":" << result.announcements << ",\"over_time_permille\":[";
    for (std::size_t i = 0; i < result.over_time.size(); ++i)
        out << (i == 0 ? "" : ",") << result.over_time[i];
    out << "],\"scheduled\":[";
    for (std::size_t i = 0; i < options.faults.scheduled.size(); ++i) {
        const Fault& fault = options.faults.scheduled[i];
        out << (i == 0 ? "" : ",") << "{\"fault\":" << json_text(fault.spec)
            << ",\"at_ms\":" << json_time(fault.at) << ",\"lasts_ms\":" << json_time(fault.lasts)
            << "}";
    }
    out << "],\"faults\":[";
    for (std::size_t i = 0; i < result.recoveries.size(); ++i) {
        const Recovery& recovery = result.recoveries[i];
        out << (i == 0 ? "" : ",")
            << "{\"fault\":" << json_text(options.faults.scheduled[recovery.fault].spec)
            << ",\"at_ms\":" << json_time(options.faults.scheduled[recovery.fault].at)
            << ",\"region_converged_ms\":" << json_time(recovery.region)
            << ",\"world_converged_ms\":" << json_time(recovery.world) << "}";
    }
    out << "],\"regions\":[";
    for (std::size_t i = 0; i < result.regions.size(); ++i) {
        if (i != 0) out << ",";
        write_json_region(result.regions[i], out);
    }
    out << "]}\n";
}

}  // namespace sluice::sim
