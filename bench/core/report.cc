#include "core/report.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <optional>
#include <sstream>

#include <unistd.h>

#include "core/suite.h"
#include "measure/median.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

const Clock::time_point start = Clock::now();
const bool on_terminal = isatty(STDERR_FILENO) == 1;

}  // namespace

void show_progress(const std::string& what) {
    constexpr std::chrono::seconds kBetweenLines{5};
    static Clock::time_point next_line = start;
    const Clock::time_point now = Clock::now();
    if (!on_terminal && now < next_line) return;
    next_line = now + kBetweenLines;
    const double seconds = std::chrono::duration<double>(now - start).count();
    std::fprintf(stderr,
                 "%s%4.0f s  %s%s",
                 on_terminal ? "\r\033[K" : "",
                 seconds,
                 what.c_str(),
                 on_terminal ? "" : "\n");
    std::fflush(stderr);
}

void end_progress() {
    if (on_terminal) std::fputs("\r\033[K", stderr);
}

void Figures::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        if (run.run_type != Run::RT_Iteration) continue;
        const std::string name = run.run_name.str();
        if (run.error_occurred) {
            errors_.push_back(name + ": " + run.error_message);
            continue;
        }
        repetitions_[name + " real"].push_back(run.GetAdjustedRealTime());
        repetitions_[name + " cpu"].push_back(run.GetAdjustedCPUTime());
        for (const auto& [counter, value] : run.counters) {
            repetitions_[name + " " + counter].push_back(value);
        }
    }
}

double Figures::median(const std::string& figure) const {
    const auto found = repetitions_.find(figure);
    return median_of(found == repetitions_.end() ? std::vector<double>() : found->second);
}

namespace {

struct Bound {
    enum class Kind { kAtMost, kAtLeast } kind;
    double value;
    const char* goal = "";  // a better value
};

constexpr Bound at_most(double value, const char* goal = "") {
    return {Bound::Kind::kAtMost, value, goal};
}

constexpr Bound at_least(double value) {
    return {Bound::Kind::kAtLeast, value};
}

// One line of the table; left out where the figure is not a number, because it was not measured.
struct Row {
    std::string what;
    double figure;
    std::string unit;
    std::string compared_with;    // empty: the figure stands for itself
    std::optional<double> ratio;  // to what it is compared with
    std::optional<Bound> wanted;  // of the ratio, or of the figure where there is none
};

bool misses(const Row& row) {
    if (!row.wanted) return false;
    const double judged = row.ratio.value_or(row.figure);
    const bool at_most = row.wanted->kind == Bound::Kind::kAtMost;
    return at_most ? judged > row.wanted->value : judged < row.wanted->value;
}

std::string number(double value, int decimals) {
    if (std::isnan(value)) return "-";
    std::ostringstream text;
    text << std::fixed << std::setprecision(decimals) << value;
    return text.str();
}

std::string wanted(const Row& row) {
    if (!row.wanted) return "";
    const bool at_most = row.wanted->kind == Bound::Kind::kAtMost;
    return (at_most ? "<= " : ">= ") + number(row.wanted->value, row.ratio ? 1 : 0) +
           row.wanted->goal + (misses(row) ? "  MISSED" : "");
}

struct Cells {
    std::string what;
    std::string figure;
    std::string unit;
    std::string compared_with;
    std::string ratio;
    std::string wanted;
};

Cells cells(const Row& row) {
    return {row.what,
            number(row.figure, 1),
            row.unit,
            row.compared_with,
            row.ratio ? number(*row.ratio, 2) : "",
            wanted(row)};
}

void print(const Cells& line, std::ostream& out) {
    out << std::left << std::setw(30) << line.what << std::right << std::setw(10) << line.figure
        << ' ' << std::left << std::setw(8) << line.unit << std::setw(43) << line.compared_with
        << std::right << std::setw(7) << line.ratio << "  " << line.wanted << '\n';
}

std::string with_keys(const std::string& name, std::int64_t keys) {
    return name + "/keys:" + std::to_string(keys);
}

class Rows {
  public:
    explicit Rows(const Figures& figures) : figures_(figures) {}

    std::vector<Row> all() {
        for (const std::int64_t keys : kKeyCounts) {
            one_thread(keys);
        }
        for (const std::int64_t keys : kKeyCounts) {
            two_threads(keys);
        }
        growth();
        memory();
        return rows_;
    }

  private:
    static constexpr const char* kTwoThreads = "/threads:2";

    // One thread's cost is its processor time, which doesn't count what else the machine does
    // meanwhile. The throughput of two threads is measured in real time.
    double cost(const std::string& name) const { return figures_.median(name + " cpu"); }
    double pace(const std::string& name) const { return figures_.median(name + " real"); }

    void add_cost(const std::string& name) {
        rows_.push_back({name, cost(name), "ns cpu", "", {}, {}});
    }
    void add_cost(const std::string& name, const std::string& base, std::optional<Bound> bound) {
        const double ratio = cost(name) / cost(base);
        rows_.push_back({name, cost(name), "ns cpu", "times " + base, ratio, bound});
    }
    void add_pace(const std::string& name) {
        rows_.push_back({name, pace(name), "ns real", "", {}, {}});
    }
    void add_pace(const std::string& name, const std::string& base, std::optional<Bound> bound) {
        const double ratio = pace(name) / pace(base);
        rows_.push_back({name, pace(name), "ns real", "times " + base, ratio, bound});
    }
    void add_throughput(const std::string& name,
                        const std::string& base,
                        std::optional<Bound> bound) {
        const double ratio = pace(base) / pace(name);
        rows_.push_back({name, pace(name), "ns real", "throughput of " + base, ratio, bound});
    }

    void one_thread(std::int64_t keys) {
        const std::string floor = with_keys("floor", keys);
        const std::string decide = with_keys("decide", keys);
        add_cost(floor);
        add_cost(decide, floor, at_most(keys == 1'000'000 ? 2.0 : 2.5, ", aim 1.5"));
        const bool bounded = keys == 1'000;
        add_cost(with_keys("batch10", keys),
                 decide,
                 bounded ? std::optional(at_most(12)) : std::nullopt);
    }

    void two_threads(std::int64_t keys) {
        const std::string floor = with_keys("floor", keys);
        const std::string decide = with_keys("decide", keys);
        if (keys == 1) {
            add_pace(floor + kTwoThreads);
            add_pace(decide + kTwoThreads, floor + kTwoThreads, at_most(2.0));
        } else {
            add_throughput(floor + kTwoThreads, floor, {});
            add_throughput(decide + kTwoThreads, decide, at_least(1.8));
        }
    }

    void growth() {
        for (const char* point : {"median", "p99.9", "p99.99", "slowest"}) {
            const std::string suffix = std::string("_") + point + "_ns";
            const double decision =
                figures_.median("growth/iterations:1 decision" + suffix) / 1'000;
            const double idle = figures_.median("growth/iterations:1 idle" + suffix) / 1'000;
            rows_.push_back(
                {std::string("growth, ") + point + " decision",
                 decision,
                 "us",
                 std::string(point) + " step of an idle loop, " + number(idle, 1) + " us",
                 decision / idle,
                 {}});
        }
    }

    void memory() {
        const double bytes = figures_.median("memory/iterations:1 bytes_per_key");
        rows_.push_back({"memory beyond the key itself", bytes, "B/key", "", {}, at_most(320)});
    }

    const Figures& figures_;
    std::vector<Row> rows_;
};

}  // namespace

void print_report(const Figures& figures, std::ostream& out) {
    print({"median of all repetitions", "figure", "", "compared with", "ratio", "wanted"}, out);
    for (const Row& row : Rows(figures).all()) {
        if (!std::isnan(row.figure)) print(cells(row), out);
    }
    for (const std::string& error : figures.errors()) {
        out << "FAILED " << error << '\n';
    }
}

}  // namespace sluice::bench
