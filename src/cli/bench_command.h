// `sluice bench`: measures a server under load.
#ifndef SLUICE_CLI_BENCH_COMMAND_H_
#define SLUICE_CLI_BENCH_COMMAND_H_

#include <iosfwd>

#include "cli/load_generator.h"

namespace sluice::cli {

// Prints throughput, latency percentiles and errors.
void print_result(const BenchOptions& options, const BenchResult& result, std::ostream& out);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_BENCH_COMMAND_H_
