// The table at the end of a run: each figure, what it is compared with, and what is wanted.
#ifndef SLUICE_BENCH_CORE_VERDICT_H_
#define SLUICE_BENCH_CORE_VERDICT_H_

#include <ostream>

#include "core/figures.h"

namespace sluice::bench {

void print_verdict(const Figures& figures, std::ostream& out);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_VERDICT_H_
