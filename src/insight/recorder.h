// Counts the decisions of one serving thread, by namespace and by key.
#ifndef SLUICE_INSIGHT_RECORDER_H_
#define SLUICE_INSIGHT_RECORDER_H_

#include <sluice/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counter/limit_key.h"
#include "insight/key_sketch.h"

namespace sluice::insight {

// The decisions in one namespace.
struct NamespaceCounts {
    std::uint64_t hash = 0;  // 0: none
    std::uint64_t passed = 0;
    std::uint64_t denied = 0;
    std::uint64_t spend = 0;
    std::string workspace;
    std::string name_space;  // as shown
    bool is_cut = false;
};

// What a thread has counted in about a second. Bounded: kMaxNamespaces, and kBatchKeys of either
// kind.
struct Batch {
    static constexpr std::size_t kMaxNamespaces = 128;
    static constexpr std::size_t kBatchKeys = 1024;

    Batch() : namespaces(2 * kMaxNamespaces) {}

    bool is_empty() const { return total.passed == 0 && total.denied == 0 && total.spend == 0; }
    void clear();
    // The namespace's counts; null if there are too many.
    NamespaceCounts* counts_of(std::uint64_t hash, const Request& request);

    NamespaceCounts total;                    // of all namespaces, also those that are not listed
    std::vector<NamespaceCounts> namespaces;  // linear probing
    std::size_t namespace_count = 0;
    KeySketch denials{kBatchKeys};
    KeySketch spend{kBatchKeys};
    std::uint64_t interval = 1;  // the largest at which spend was sampled
};

// Sums up decisions for the top keys and for the traffic by namespace. Denials are counted one by
// one. Spend is, too, up to kMostExact times a second; above, it is sampled: each unit of cost
// enters with a weight of `interval`, with a probability of 1 / interval. A cost of `interval` or
// more is always entered as it is. So each sum is unbiased, and its variance at most `interval`
// times the sum.
//
// Owned by one thread. count() neither locks nor reads a clock, and allocates only for a key that
// the batch doesn't hold.
class Recorder {
  public:
    static constexpr std::uint64_t kMostExact = 8'192;
    // No cost is larger; the gap to the next sample stays within 60 bits.
    static constexpr std::uint64_t kMaxInterval = std::uint64_t{1} << 53U;

    // Recorders whose batches are merged have the same `hash`.
    explicit Recorder(const KeyHash& hash) : hash_(hash), batch_(std::make_unique<Batch>()) {}

    // What a decision has spent: the cost of a pass, or of a debit whether it fits or not.
    enum class Spent { kNothing, kCost };

    // Counts a decision of a valid request.
    void count(const Request& request, const Decision& decision, Spent spent) {
        count_traffic(request, decision, spent);
        count_key(request, decision, spent);
    }

    // The part of count() for the top keys. A pass that is not sampled costs a subtraction.
    [[gnu::always_inline]] void count_key(const Request& request,
                                          const Decision& decision,
                                          Spent spent) {
        if (spent == Spent::kCost && request.cost != 0) {
            const auto cost = static_cast<std::uint64_t>(request.cost);
            if (cost >= interval_ || (gap_ -= request.cost) < 0) [[unlikely]]
                enter_spend(request, cost);
        }
        if (!decision.passed) [[unlikely]]
            enter_denial(request);
    }

    bool is_empty() const { return batch_->is_empty(); }
    // Replaces the batch by an empty one, and returns it. To be called about once a second.
    std::unique_ptr<Batch> exchange(std::unique_ptr<Batch> empty);

  private:
    void count_traffic(const Request& request, const Decision& decision, Spent spent);
    void enter_denial(const Request& request);
    void enter_spend(const Request& request, std::uint64_t cost);
    std::uint64_t namespace_hash(const Request& request) const;
    std::uint64_t key_hash(const Request& request) const;
    std::int64_t random_gap();

    const KeyHash hash_;
    std::unique_ptr<Batch> batch_;
    std::uint64_t interval_ = 1;
    std::int64_t gap_ = 0;       // units of cost before the next sample
    std::uint64_t entered_ = 0;  // spends in this batch, for adjusting the interval
    std::uint64_t random_ = 0x9E37'79B9'7F4A'7C15U;
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_RECORDER_H_
