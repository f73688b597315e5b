#include "core/verdict.h"

#include <cmath>
#include <iomanip>
#include <optional>
#include <sstream>

#include "core/suite.h"

namespace sluice::bench {
namespace {

struct Bound {
    enum class Kind { kAtMost, kAtLeast } kind;
    double value;
};

constexpr Bound at_most(double value) {
    return {Bound::Kind::kAtMost, value};
}

constexpr Bound at_least(double value) {
    return {Bound::Kind::kAtLeast, value};
}

// One line of the table. A figure that was not measured is not a number and shown as a dash.
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
    const std::string verdict = misses(row) ? "  MISSED" : "";
    return (at_most ? "<= " : ">= ") + number(row.wanted->value, row.ratio ? 1 : 0) + verdict;
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
        << ' ' << std::left << std::setw(7) << line.unit << std::setw(43) << line.compared_with
        << std::right << std::setw(7) << line.ratio << "  " << line.wanted << '\n';
}

std::string with_keys(const std::string& name, std::int64_t keys) {
    return name + "/keys:" + std::to_string(keys);
}

class Rows {
  public:
    explicit Rows(const Figures& figures) : figures_(figures) {}

    std::vector<Row> all() {
        for (const std::int64_t keys : kKeyCounts)
            one_thread(keys);
        for (const std::int64_t keys : kKeyCounts)
            two_threads(keys);
        growth();
        memory();
        return rows_;
    }

  private:
    static constexpr const char* kTwoThreads = "/threads:2";

    void add_time(const std::string& name) {
        rows_.push_back({name, figures_.median(name), "ns", "", {}, {}});
    }

    // A time over another benchmark's time.
    void add_cost(const std::string& name, const std::string& base, std::optional<Bound> bound) {
        const double time = figures_.median(name);
        rows_.push_back({name, time, "ns", "times " + base, time / figures_.median(base), bound});
    }

    // Decisions per second over those of another benchmark: the inverse of the times per decision.
    void add_throughput(const std::string& name,
                        const std::string& base,
                        std::optional<Bound> bound) {
        const double time = figures_.median(name);
        rows_.push_back(
            {name, time, "ns", "throughput of " + base, figures_.median(base) / time, bound});
    }

    void one_thread(std::int64_t keys) {
        const std::string decide = with_keys("decide", keys);
        add_time(with_keys("floor", keys));
        add_cost(decide, with_keys("floor", keys), at_most(keys == 1'000'000 ? 2.0 : 2.5));
        const std::optional<Bound> batch =
            keys == 1'000 ? std::optional(at_most(12)) : std::nullopt;
        add_cost(with_keys("batch10", keys), decide, batch);
    }

    void two_threads(std::int64_t keys) {
        const std::string floor = with_keys("floor", keys);
        const std::string decide = with_keys("decide", keys);
        if (keys == 1) {
            add_time(floor + kTwoThreads);
            add_cost(decide + kTwoThreads, floor + kTwoThreads, at_most(2.0));
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

void print_verdict(const Figures& figures, std::ostream& out) {
    print({"median of all repetitions", "figure", "", "compared with", "ratio", "wanted"}, out);
    for (const Row& row : Rows(figures).all())
        print(cells(row), out);
    for (const std::string& error : figures.errors())
        out << "FAILED " << error << '\n';
}

}  // namespace sluice::bench
