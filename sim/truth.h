// What callers were told, to the last request: the measure of all that nodes believe.
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

#include "sim/grant_log.h"
#include "sim/options.h"
#include "window/sliding.h"

namespace sluice::sim {

using KeyIndex = std::uint32_t;

// The key that a name stands for, which begins with its number: k17, or k17-and-so-on.
KeyIndex key_of(std::string_view identifier);

// What was admitted within a duration that ends now, exactly.
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
    // When the first one was: nearly always late enough that its memory need not be looked at.
    std::int64_t first_ms_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ms_ = std::numeric_limits<std::int64_t>::min();
    Count sum_ = 0;
};

// What all callers of one cell were told.
struct TrueCell {
    Sequence sequence = -1;
    Count total = 0;
    Count wanted = 0;   // what was asked for
    Count at_home = 0;  // of the total, in the region that the key is at home in
};

// Cells of four sequences at a time, as entries hold them.
inline constexpr std::size_t kTrueCells = 4;

struct TrueKey {
    std::string identifier;
    std::array<TrueCell, kTrueCells> cells;
    TrailingWindow trailing;
    std::uint32_t home = 0;
};

// How close to the limit the admitted counts came, as parts of a thousand of it.
struct Closeness {
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

    // Has the memory of a key that is about to be used come nearer.
    void prepare(KeyIndex key) const {
        const char* const start = reinterpret_cast<const char*>(&keys_[key]);
        for (std::size_t line = 0; line < sizeof(TrueKey); line += 64)
            __builtin_prefetch(start + line);
    }

    // A caller asked for, and then perhaps was granted, `cost` in a cell. `now_ms` is the true
    // time.
    void want(KeyIndex key, Sequence sequence, Count cost);
    void admit(
        KeyIndex key, Sequence sequence, std::uint32_t region, Count cost, std::int64_t now_ms);

    // What was granted in a cell, however old it is: a request that a pause held up is decided in
    // the window in which it was made, which the other nodes may have left long ago.
    Count total(KeyIndex key, Sequence sequence) const;
    Count of_region(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    // What the origin of a region has granted to nodes beyond what they have admitted: the answer
    // is underway or was lost. It counts in the region, and the node may still use it.
    void change_credit(
        KeyIndex key, Sequence sequence, std::uint32_t region, Count before, Count after);
    // What may count in a region: what was admitted, and credit.
    Count reserved(KeyIndex key, Sequence sequence, std::uint32_t region) const;
    Count reserved(KeyIndex key, Sequence sequence) const;

    // What was admitted in a region beyond the limit, for a reason that the rule does not cover.
    void excuse(KeyIndex key, Sequence sequence, std::uint32_t region, Count cost);
    Count excused(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    // How much counts after a pass, by all that was admitted, as parts of a thousand of the limit.
    void note_effective(Permille part) { worst_effective_ = std::max(worst_effective_, part); }
    Permille worst_effective() const { return worst_effective_; }

    // Some of what was granted in a cell may be unknown to a region, or to the others, for good:
    // the node that granted it is gone.
    enum class Lost : std::uint8_t { kNothing = 0, kToOthers = 1, kToRegion = 2 };
    void lose(KeyIndex key, Sequence sequence, std::uint32_t region, Lost lost);
    Lost lost(KeyIndex key, Sequence sequence, std::uint32_t region) const;

    // Counts the cells that are held at the end, if they ended before.
    // Later ones are not counted.
    void finish(std::int64_t end_ms);

    // Windows in which more was wanted than the limit, all windows, and trailing windows.
    const Closeness& contended() const { return contended_; }
    const Closeness& fixed() const { return fixed_; }
    Permille worst_trailing() const { return worst_trailing_; }
    // When what was granted, of runs with few enough keys.
    GrantLog grants;
    static constexpr std::uint32_t kMostKeysLogged = 10'000;

    Sequence first_sequence = 0;  // which may have begun before the run, and is not counted

  private:
    // What was granted in a cell whose place a later one took.
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
    std::vector<Count> by_region_;  // but for those at home
    std::vector<Lost> lost_;
    std::map<std::pair<KeyIndex, Sequence>, PastCell> past_;
    using PerRegion = std::map<std::tuple<KeyIndex, Sequence, std::uint32_t>, Count>;
    PerRegion credits_;  // those that are not 0
    PerRegion excused_;
    Closeness contended_;
    Closeness fixed_;
    Permille worst_trailing_ = 0;
    Permille worst_effective_ = 0;
    bool is_finished_ = false;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_TRUTH_H_
