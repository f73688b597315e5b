#include "regional/failing_keys.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kFirstPause{1'000};
constexpr std::chrono::milliseconds kLastPause{60'000};

}  // namespace

FailingKeys::Time FailingKeys::failed(std::uint64_t hash, Time now) {
    auto key = keys_.find(hash);
    if (key == keys_.end()) {
        // A key that was not requested since its pause ended is forgotten.
        if (keys_.size() >= kMost)
            std::erase_if(keys_, [&](const auto& old) { return old.second.retry_at <= now; });
        if (keys_.size() >= kMost) return now + kFirstPause;
        key = keys_.emplace(hash, Key{.retry_at = now, .pause = {}}).first;
    }
    Key& failing = key->second;
    failing.pause = std::clamp<Time::duration>(2 * failing.pause, kFirstPause, kLastPause);
    return failing.retry_at = now + failing.pause;
}

}  // namespace sluice
