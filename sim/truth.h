// The ground truth of a run: every admission as reported to callers, by cell, region and time.
#ifndef SLUICE_SIM_TRUTH_H_
#define SLUICE_SIM_TRUTH_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/options.h"
#include "window/sliding.h"

namespace sluice::sim {

// The name of a region, and the region of a name.
inline std::string name_of_region(std::uint32_t region) {
    return "region-" + std::to_string(region + 1);
}
inline std::uint32_t region_named(const std::string& name) {
    return static_cast<std::uint32_t>(std::stoul(name.substr(name.find('-') + 1)) - 1);
}

// The history of admissions by node: how much of a cell was granted by which time.
//
// Thread-compatible.
class GrantLog {
  public:
    struct Grant {
        std::uint32_t key;
        Sequence sequence;
        std::uint32_t region;
        std::uint32_t node;  // its serial
        Count cost;
        std::int64_t at_ms;  // true time; never decreases
    };
    void add(const Grant& grant);

    // The sum of a region's grants in a cell by a time, without one node. May omit the grants of
    // the last 64 ms.
    struct Query {
        std::uint32_t key;
        Sequence sequence;
        std::uint32_t region;
        std::int64_t by_ms;
        std::uint32_t except_node = 0;  // 0: no node
    };
    Count sum(const Query& query) const;

  private:
    // A cumulative sum.
    struct Step {
        std::int64_t at_ms;
        Count sum;
    };
    struct NodeSteps {
        std::uint32_t region;
        std::uint32_t node;
        std::vector<Step> steps;
    };
    std::map<std::pair<std::uint32_t, Sequence>, std::vector<NodeSteps>> cells_;
};

using KeyIndex = std::uint32_t;

// The key with this name, which begins with its number: k17, or k17-and-so-on.
KeyIndex key_of(std::string_view identifier);

// The exact sum of admissions in the duration that ends now.
class TrailingWindow {
  public:
    void add(std::int64_t at_ms, Count cost, std::int64_t duration_ms);
    Count sum_at(std::int64_t now_ms, std::int64_t duration_ms);

  private:
    struct Spending {
        std::int64_t at_ms;
        Count cost;
    };
    void forget(std::int64_t until_ms);

    std::vector<Spending> spendings_;
    std::size_t first_ = 0;
    // Time of the first one; saves a memory access in most calls.
    std::int64_t first_ms_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ms_ = std::numeric_limits<std::int64_t>::min();
    Count sum_ = 0;
};

// The admissions of one cell.
struct TrueCell {
    Sequence sequence = -1;
    Count total = 0;
    Count demanded = 0;  // sum of all requested costs
    Count at_home = 0;   // part of the total in the home region of the key
};

// Cells of four sequences at a time, as entries hold them.
inline constexpr std::size_t kTrueCells = 4;

struct TrueKey {
    std::string identifier;
    std::array<TrueCell, kTrueCells> cells;
    TrailingWindow trailing;
    std::uint32_t home = 0;
};

// Admitted counts of windows, in permille of the limit.
struct Utilization {
    std::uint64_t sum = 0;
    std::uint64_t windows = 0;
    Permille worst = 0;

    void note(Permille part) {
        sum += part;
        ++windows;
        if (part > worst) worst = part;
    }
    Permille mean() const { return windows == 0 ? 0 : sum / windows; }
};

// Thread-compatible.
class Truth {
  public:
    Truth(const Load& load, std::uint32_t regions) : load_(load), regions_(regions) {}

    KeyIndex add_key(std::string identifier, std::uint32_t home);
    TrueKey& key(KeyIndex key) { return keys_[key]; }
    const TrueKey& key(KeyIndex key) const { return keys_[key]; }
    std::size_t keys() const { return keys_.size(); }
    std::uint32_t regions() const { return regions_; }

    Request request(KeyIndex key, Count cost) const {
        return {.workspace = "sim",
                .name_space = "load",
                .identifier = keys_[key].identifier,
                .limit = static_cast<std::int64_t>(load_.limit),
                .duration = load_.duration,
                .cost = static_cast<std::int64_t>(cost)};
    }

    // Prefetches the record of a key.
    void prepare(KeyIndex key) const {
        const char* const start = reinterpret_cast<const char*>(&keys_[key]);
        for (std::size_t line = 0; line < sizeof(TrueKey); line += 64)
            __builtin_prefetch(start + line);
    }

    // A request for `cost` in a cell, and its admission. `now_ms` is true time.
    void demand(KeyIndex key, Sequence sequence, Count cost);
    void admit(
        KeyIndex key, Sequence sequence, std::uint32_t region, Count cost, std::int64_t now_ms);

    // Admissions of a cell of any age: a request that was delayed by a pause is decided in the
    // window in which it arrived.
    Count total(KeyIndex key, Sequence sequence) const;
    Count of_region(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    // Grants of an origin that the node has not admitted yet: the answer is in flight or was lost.
    // They count in the region, and the node may still use them.
    void change_credit(
        KeyIndex key, Sequence sequence, std::uint32_t region, Count before, Count after);
    // Admissions plus unused grants: the most that may count.
    Count reserved(KeyIndex key, Sequence sequence, std::uint32_t region) const;
    Count reserved(KeyIndex key, Sequence sequence) const;

    // Excess over the limit that a fault or a batch excuses.
    void excuse(KeyIndex key, Sequence sequence, std::uint32_t region, Count cost);
    Count excused(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    // The sliding sum after a pass, of everything admitted, in permille of the limit.
    void note_effective(Permille part) { worst_effective_ = std::max(worst_effective_, part); }
    Permille worst_effective() const { return worst_effective_; }

    // Admissions of a cell that may never reach the region, or other regions, because their node is
    // gone.
    enum class Lost : std::uint8_t { kNothing = 0, kToOtherRegions = 1, kToRegion = 2 };
    void lose(KeyIndex key, Sequence sequence, std::uint32_t region, Lost lost);
    Lost lost(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    // Counts the remaining cells whose windows have ended by then.
    void finish(std::int64_t end_ms);

    // Windows with a demand of at least the limit, all windows, and trailing windows.
    const Utilization& contended() const { return contended_; }
    const Utilization& fixed() const { return fixed_; }
    Permille worst_trailing() const { return worst_trailing_; }
    // The history of admissions, in runs with few enough keys.
    GrantLog grants;
    static constexpr std::uint32_t kMostKeysLogged = 10'000;

    Sequence first_sequence = 0;  // may have begun before the run, and is not counted

  private:
    // A cell whose place was taken by a later one.
    struct PastCell {
        Count total = 0;
        std::vector<Count> by_region;
    };

    TrueCell* open(KeyIndex key, Sequence sequence);
    const TrueCell* find(KeyIndex key, Sequence sequence) const;
    const PastCell* find_past(KeyIndex key, Sequence sequence) const;
    void archive(KeyIndex key, const TrueCell& cell);
    void close(const TrueCell& cell);
    std::size_t place(KeyIndex key, Sequence sequence, std::uint32_t region) const {
        const std::size_t cell = key * kTrueCells + static_cast<std::size_t>(sequence) % kTrueCells;
        return cell * regions_ + region;
    }

    const Load& load_;
    const std::uint32_t regions_;
    std::vector<TrueKey> keys_;
    std::vector<Count> by_region_;  // without the home region
    std::vector<Lost> lost_;
    std::map<std::pair<KeyIndex, Sequence>, PastCell> past_;
    using PerRegion = std::map<std::tuple<KeyIndex, Sequence, std::uint32_t>, Count>;
    PerRegion credits_;  // only those that are not 0
    PerRegion excused_;
    Utilization contended_;
    Utilization fixed_;
    Permille worst_trailing_ = 0;
    Permille worst_effective_ = 0;
    bool is_finished_ = false;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_TRUTH_H_
