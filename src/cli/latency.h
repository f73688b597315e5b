// How long requests took, in constant memory.
#ifndef SLUICE_CLI_LATENCY_H_
#define SLUICE_CLI_LATENCY_H_

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::cli {

// Counts durations in buckets whose width is at most 1/64 of what they hold: a percentile is off by
// less than 1.6 %.
//
// Thread-compatible.
class Latency {
  public:
    void add(std::chrono::nanoseconds took) {
        const auto ns = static_cast<std::uint64_t>(took.count() > 0 ? took.count() : 0);
        ++buckets_[bucket_of(ns)];
        ++count_;
    }

    void add(const Latency& other) {
        for (std::size_t i = 0; i < kBuckets; ++i)
            buckets_[i] += other.buckets_[i];
        count_ += other.count_;
    }

    std::uint64_t count() const { return count_; }

    // The duration that `share` of all did not exceed, such as 0.99; zero if there are none.
    std::chrono::nanoseconds percentile(double share) const {
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < kBuckets; ++i) {
            seen += buckets_[i];
            if (seen > wanted || (seen == count_ && seen != 0))
                return std::chrono::nanoseconds(upper_bound(i));
        }
        return std::chrono::nanoseconds(0);
    }

  private:
    static constexpr std::size_t kSubBits = 6;  // 64 buckets per doubling
    static constexpr std::size_t kSub = 1U << kSubBits;
    static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

    static std::size_t bucket_of(std::uint64_t ns) {
        if (ns < kSub) return static_cast<std::size_t>(ns);
        const auto shift = static_cast<std::size_t>(std::bit_width(ns)) - kSubBits - 1;
        return shift * kSub + static_cast<std::size_t>(ns >> shift);
    }
    static std::int64_t upper_bound(std::size_t bucket) {
        if (bucket < kSub) return static_cast<std::int64_t>(bucket);
        const std::size_t shift = bucket / kSub - 1;
        const std::uint64_t top = (bucket % kSub) + kSub + 1;
        return static_cast<std::int64_t>((top << shift) - 1);
    }

    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t count_ = 0;
};

}  // namespace sluice::cli

#endif  // SLUICE_CLI_LATENCY_H_
