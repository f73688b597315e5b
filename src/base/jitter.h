// Random delays that keep processes from acting in step.
#ifndef SLUICE_BASE_JITTER_H_
#define SLUICE_BASE_JITTER_H_

#include <chrono>
#include <cstdint>

namespace sluice {

// An xorshift generator, good enough for delays. The same seed gives the same delays.
//
// Thread-compatible.
class Jitter {
  public:
    explicit Jitter(std::uint64_t seed) : state_(seed | 1U) {}

    // A random delay from half of `most` to `most`.
    std::chrono::milliseconds up_to(std::chrono::milliseconds most) {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        const std::int64_t half = most.count() / 2;
        const auto part = state_ % static_cast<std::uint64_t>(half + 1);
        return std::chrono::milliseconds{half + static_cast<std::int64_t>(part)};
    }

  private:
    std::uint64_t state_;
};

}  // namespace sluice

#endif  // SLUICE_BASE_JITTER_H_
