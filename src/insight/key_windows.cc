#include "insight/key_windows.h"

#include <algorithm>

namespace sluice::insight {
namespace {

std::chrono::milliseconds pane_of(std::size_t window) {
    return kWindowLengths[window] / 12;
}

std::int64_t index_at(UnixTime time, std::size_t window) {
    return time.time_since_epoch() / pane_of(window);
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
        ring.resize(kPanes);
}

void KeyWindows::add(const KeySketch& batch, std::uint64_t interval, UnixTime now) {
    for (std::size_t window = 0; window < kWindows; ++window) {
        const std::int64_t index = index_at(now, window);
        Pane& pane = rings_[window][static_cast<std::size_t>(index) % kPanes];
        if (pane.index != index) {
            pane.index = index;
            pane.missed = 0;
            pane.interval = 1;
            pane.sketch.clear();
        }
        pane.missed = capped_sum(pane.missed, batch.error());
        pane.interval = std::max(pane.interval, interval);
        batch.for_each([&](const KeySketch::Entry& entry) {
            KeySketch::Entry& held = pane.sketch.add(entry.hash, entry.weight);
            held.last = {};
            merge(entry, held);
            held.last = now;
        });
    }
}

UnixTime KeyWindows::start_of(Window window, UnixTime now) {
    const auto at = static_cast<std::size_t>(window);
    const auto first = index_at(now, at) - static_cast<std::int64_t>(kPanes) + 1;
    return UnixTime{first * pane_of(at)};
}

KeyWindows::Sums KeyWindows::sums(Window window, UnixTime now) const {
    const auto at = static_cast<std::size_t>(window);
    const std::int64_t last = index_at(now, at);
    Sums sums{.by_key = {}, .since = start_of(window, now)};
    for (const Pane& pane : rings_[at]) {
        if (pane.index > last || pane.index + static_cast<std::int64_t>(kPanes) <= last) continue;
        sums.error = capped_sum(sums.error, capped_sum(pane.missed, pane.sketch.error()));
        sums.interval = std::max(sums.interval, pane.interval);
        pane.sketch.for_each([&](const KeySketch::Entry& entry) {
            KeySketch::Entry& sum = sums.by_key[entry.hash];
            sum.hash = entry.hash;
            sum.weight = capped_sum(sum.weight, entry.weight);
            merge(entry, sum);
        });
    }
    return sums;
}

}  // namespace sluice::insight
