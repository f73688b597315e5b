// The median of measurements.
#ifndef SLUICE_BENCH_MEASURE_MEDIAN_H_
#define SLUICE_BENCH_MEASURE_MEDIAN_H_

#include <vector>

namespace sluice::bench {

// The middle one, or the mean of the two in the middle; not a number where there is none.
double median_of(std::vector<double> numbers);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_MEASURE_MEDIAN_H_
