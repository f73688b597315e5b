// Keys that the origin answers it can't serve, such as one whose cell holds something else.
#ifndef SLUICE_REGIONAL_FAILING_KEYS_H_
#define SLUICE_REGIONAL_FAILING_KEYS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace sluice {

// After each failure of a key, the origin is not asked about it for a pause that doubles from one
// second to a minute. Keys are known by their hashes.
//
// Thread-compatible.
class FailingKeys {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // Beyond as many at once, a key that fails has no pause.
    static constexpr std::size_t kMost = 4'096;

    // A call failed. Returns when to try again.
    Time failed(std::uint64_t hash, Time now);
    // A call was answered: the origin serves the key.
    void answered(std::uint64_t hash) {
        if (!keys_.empty()) keys_.erase(hash);
    }

    bool is_failing(std::uint64_t hash) const { return keys_.contains(hash); }
    // Whether the pause of a key is not over.
    bool is_paused(std::uint64_t hash, Time now) const {
        if (keys_.empty()) return false;
        const auto key = keys_.find(hash);
        return key != keys_.end() && now < key->second.retry_at;
    }

  private:
    struct Key {
        Time retry_at;
        Time::duration pause;
    };
    std::unordered_map<std::uint64_t, Key> keys_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_FAILING_KEYS_H_
