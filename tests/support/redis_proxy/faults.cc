#include "support/redis_proxy/faults.h"

namespace sluice::redis_test {

void FaultInjector::set(const Faults& faults) {
    const MutexLock lock(mutex_);
    faults_ = faults;
}

FaultCounts FaultInjector::counts() const {
    const MutexLock lock(mutex_);
    return counts_;
}

bool FaultInjector::draw(double Faults::*fault) {
    const MutexLock lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_) < faults_.*fault;
}

bool FaultInjector::allows(double Faults::*fault) const {
    const MutexLock lock(mutex_);
    return faults_.*fault > 0;
}

void FaultInjector::count(std::uint64_t FaultCounts::*fault) {
    const MutexLock lock(mutex_);
    ++(counts_.*fault);
}

std::chrono::microseconds FaultInjector::delay() {
    const MutexLock lock(mutex_);
    const std::chrono::microseconds most = faults_.max_delay;
    return std::chrono::microseconds(
        std::uniform_int_distribution<std::int64_t>(0, most.count())(random_));
}

std::size_t FaultInjector::number(std::size_t least, std::size_t most) {
    const MutexLock lock(mutex_);
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
}

}  // namespace sluice::redis_test
