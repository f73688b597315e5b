// Collects what the suite measured, repetition by repetition.
#ifndef SLUICE_BENCH_CORE_FIGURES_H_
#define SLUICE_BENCH_CORE_FIGURES_H_

#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace sluice::bench {

// Figures is the reporter that Google Benchmark's runs are shown to. A figure is one of a
// benchmark's counters, under "name counter", or its nanoseconds per iteration: "name real" and
// "name cpu".
//
// Owned by the thread that runs the benchmarks.
class Figures : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override;

    // The median of the repetitions; not a number where there is none.
    double median(const std::string& figure) const;

    // What went wrong, one line each.
    const std::vector<std::string>& errors() const { return errors_; }

  private:
    std::map<std::string, std::vector<double>> repetitions_;
    std::vector<std::string> errors_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_FIGURES_H_
