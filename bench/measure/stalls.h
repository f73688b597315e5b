// Finds the steps that take much longer than the others, beside an idle loop that shows what of it
// is the machine's doing.
#ifndef SLUICE_BENCH_MEASURE_STALLS_H_
#define SLUICE_BENCH_MEASURE_STALLS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::bench {

// The slow end of many durations, in nanoseconds.
struct Tail {
    double median;
    double p999;
    double p9999;
    double slowest;
};

struct Stalls {
    Tail work;
    Tail idle;
    Tail control;  // a second idle loop: how far apart two loops lie that differ in nothing
};

// Durations of single steps, in nanoseconds, up to 4 seconds each. The memory is taken and touched
// beforehand, so that recording never stalls.
class Durations {
  public:
    explicit Durations(std::size_t capacity) : all_(capacity), size_(0) {}

    void add(std::chrono::nanoseconds duration) {
        all_[size_++] = static_cast<std::uint32_t>(duration.count());
    }

    // The median of the newest `count`.
    std::chrono::nanoseconds recent_median(std::size_t count) const;

    Tail tail();

  private:
    std::vector<std::uint32_t> all_;
    std::size_t size_;
};

inline std::chrono::nanoseconds since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::steady_clock::now() - begin;
}

// Spins for at least this long and returns how long it took.
std::chrono::nanoseconds wait_for(std::chrono::nanoseconds pause);

// Calls work(i) for each i below `steps`, in slices that alternate with slices of two idle loops of
// as many steps, each of which waits for as long as the median step of the slice before it. All
// three therefore meet about the same number of interrupts and preemptions. work(i) returns how
// long its step took, so that it can prepare the step outside of the measurement.
template <class Work>
Stalls alternate_with_idle(std::size_t steps, Work work) {
    constexpr std::size_t kSlice = 1'000;
    Durations worked(steps);
    Durations idled(steps);
    Durations control(steps);
    for (std::size_t done = 0; done + kSlice <= steps; done += kSlice) {
        for (std::size_t i = done; i < done + kSlice; ++i) {
            worked.add(work(i));
        }
        const std::chrono::nanoseconds pause = worked.recent_median(kSlice);
        for (std::size_t i = 0; i < kSlice; ++i) {
            idled.add(wait_for(pause));
        }
        for (std::size_t i = 0; i < kSlice; ++i) {
            control.add(wait_for(pause));
        }
    }
    return {worked.tail(), idled.tail(), control.tail()};
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_MEASURE_STALLS_H_
