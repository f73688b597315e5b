// The figures of a run of core_bench, its progress, and the table at the end.
#ifndef SLUICE_BENCH_CORE_REPORT_H_
#define SLUICE_BENCH_CORE_REPORT_H_

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace sluice::bench {

// A reporter for Google Benchmark that collects the figures of all repetitions. A figure is a
// counter of a benchmark ("name counter") or its nanoseconds per iteration ("name real" and "name
// cpu").
//
// Owned by the thread that runs the benchmarks.
class Figures : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override;

    // The median of the repetitions; NaN if there are none.
    double median(const std::string& figure) const;

    // Errors of benchmarks, one line each.
    const std::vector<std::string>& errors() const { return errors_; }

  private:
    std::map<std::string, std::vector<double>> repetitions_;
    std::vector<std::string> errors_;
};

// Prints each figure with its baseline and its target.
void print_report(const Figures& figures, std::ostream& out);

// Writes the seconds since the start and `what` to the error stream: on a terminal over the line
// before, elsewhere as a new line every few seconds. Called by one thread at a time.
void show_progress(const std::string& what);

// Clears the terminal's line.
void end_progress();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_REPORT_H_
