#include "core/figures.h"

#include "measure/median.h"

namespace sluice::bench {

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

}  // namespace sluice::bench
