// What came of a run, for people and for programs.
#ifndef SLUICE_SIM_REPORT_H_
#define SLUICE_SIM_REPORT_H_

#include <iosfwd>
#include <string>

#include "sim/options.h"
#include "sim/run.h"

namespace sluice::sim {

// `command` is the one that replays the run.
void write_report(const Options& options,
                  const Outcome& outcome,
                  const std::string& command,
                  std::ostream& out);
void write_json(const Options& options,
                const Outcome& outcome,
                const std::string& command,
                std::ostream& out);

// 1530 as 1.53.
std::string times_text(Permille part);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_REPORT_H_
