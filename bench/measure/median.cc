#include "measure/median.h"

#include <algorithm>
#include <limits>

namespace sluice::bench {

double median_of(std::vector<double> numbers) {
    if (numbers.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::sort(numbers.begin(), numbers.end());
    const std::size_t middle = numbers.size() / 2;
    if (numbers.size() % 2 == 1) return numbers[middle];
    return (numbers[middle - 1] + numbers[middle]) / 2;
}

}  // namespace sluice::bench
