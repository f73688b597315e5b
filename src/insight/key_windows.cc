#include "insight/key_windows.h"

#include <algorithm>

namespace sluice::insight {
namespace {

std::chrono::milliseconds slice_length(std::size_t window) {
    return kWindowLengths[window] / 12;
}

std::int64_t index_at(UnixTime time, std::size_t window) {
    return time.time_since_epoch() / slice_length(window);
}

// Takes over all but the weight of `from`: of the key's last request, what is newer.
void merge(const KeySketch::Entry& from, KeySketch::Entry& to) {
    to.variance += from.variance;
    if (from.last < to.last) return;
    to.limit = from.limit;
    to.duration = from.duration;
    to.last = from.last;
    if (to.text == nullptr) to.text = from.text;
}

}  // namespace

KeyWindows::KeyWindows() {
    for (Ring& ring : rings_)
        ring.resize(kSlices);
}

void KeyWindows::add(const KeySketch& batch, std::uint64_t interval, UnixTime now) {
    for (std::size_t window = 0; window < kWindows; ++window) {
        const std::int64_t index = index_at(now, window);
        Slice& slice = rings_[window][static_cast<std::size_t>(index) % kSlices];
        if (slice.index != index) {
            slice.index = index;
            slice.missed = 0;
            slice.interval = 1;
            slice.sketch.clear();
        }
        slice.missed = capped_sum(slice.missed, batch.error());
        slice.interval = std::max(slice.interval, interval);
        batch.for_each([&](const KeySketch::Entry& entry) {
            KeySketch::Entry& held = slice.sketch.add(entry.hash, entry.weight);
            held.last = {};
            merge(entry, held);
            held.last = now;
        });
    }
}

UnixTime KeyWindows::start_of(Window window, UnixTime now) {
    const auto at = static_cast<std::size_t>(window);
    const auto first = index_at(now, at) - static_cast<std::int64_t>(kSlices) + 1;
    return UnixTime{first * slice_length(at)};
}

KeyWindows::Sums KeyWindows::sums(Window window, UnixTime now) const {
    const auto at = static_cast<std::size_t>(window);
    const std::int64_t last = index_at(now, at);
    Sums sums{.by_key = {}, .since = start_of(window, now)};
    for (const Slice& slice : rings_[at]) {
        if (slice.index > last || slice.index + static_cast<std::int64_t>(kSlices) <= last)
            continue;
        sums.error = capped_sum(sums.error, capped_sum(slice.missed, slice.sketch.error()));
        sums.interval = std::max(sums.interval, slice.interval);
        slice.sketch.for_each([&](const KeySketch::Entry& entry) {
            KeySketch::Entry& sum = sums.by_key[entry.hash];
            sum.hash = entry.hash;
            sum.weight = capped_sum(sum.weight, entry.weight);
            merge(entry, sum);
        });
    }
    return sums;
}

}  // namespace sluice::insight
