// The rule by which the nodes of a region share a limit, and its constants.
//
//     A pass is decided from local memory while the node's unsynced spend stays below its share of
//     what is left, remaining / (8 x nodes), or within a floor of limit / (100 x nodes); with an
//     old view of its peers the share is good for one unit at most, and after a recent denial, or
//     with a still older view, for none. Otherwise the origin decides it, together with all other
//     pending requests for that key.
//
// docs/consistency.md derives the bound on over-admission; docs/decisions has the measurements
// behind the constants.
#ifndef SLUICE_WINDOW_SHARING_H_
#define SLUICE_WINDOW_SHARING_H_

#include <algorithm>
#include <cstdint>

#include "window/cell.h"

namespace sluice {

// All nodes together may spend an eighth of what is left before they know of each other's spend.
inline constexpr std::uint64_t kShareParts = 8;
// Whatever their views, all nodes together may spend a hundredth of the limit.
inline constexpr std::uint64_t kFloorParts = 100;
// A view is young for five seconds or a quarter of the window.
inline constexpr Duration kMaxViewAge{5'000};
inline constexpr int kViewParts = 4;
// A pass is written to the origin within a second or an eighth of the window, and sooner if the
// node's unsynced spend reaches half of its share.
inline constexpr Duration kFlushWithin{1'000};
// Flushing takes at most a fifth of the time, unless it is urgent.
inline constexpr int kFlushParts = 5;

constexpr Duration max_view_age(Duration window) {
    return std::min(kMaxViewAge, window / kViewParts);
}

constexpr Duration flush_within(Duration window) {
    return std::min(kFlushWithin, window / static_cast<int>(kShareParts));
}

// The number of nodes that share the region's limits. While it is unknown, because the node has
// just joined or the origin does not answer, the origin decides everything.
using NodeCount = std::uint32_t;
inline constexpr NodeCount kUnknownNodes = 0;

// A request that the origin has granted, in the component of an entry (counter/entry.h).
struct Grant {
    Sequence sequence;
    std::uint32_t incarnation;
};

// What a node knows of its peers' counts of a key.
enum class PeerView : std::uint8_t {
    kYoung,  // they were read within max_view_age()
    kOld,    // they were read before that, in this window or in the previous one
    kNone,   // they were read earlier still, or the key is in strict mode
};

// The state of a key on one node, on which the sharing rule decides.
struct LocalState {
    NodeCount nodes;
    PeerView view;
    Count unsynced;   // this node's spend that the origin has not acknowledged, with this request
    Count remaining;  // of the limit, after this request
    Count limit;
};

enum class LocalVerdict : std::uint8_t {
    kPass,
    kPassAndFlush,  // pass, and write the key to the origin next
    kAskOrigin,
};

// Applies the sharing rule. The only node of a region shares with no other, and always passes.
constexpr LocalVerdict decide_locally(const LocalState& key) {
    const auto fits = [&](Count spend, std::uint64_t parts, Count whole) {
        return Wide{spend} * parts * key.nodes <= whole;
    };
    if (key.nodes == kUnknownNodes) return LocalVerdict::kAskOrigin;
    if (key.nodes == 1) return LocalVerdict::kPass;
    const bool may_use_share =
        key.view == PeerView::kYoung || (key.view == PeerView::kOld && key.unsynced <= 1);
    const bool is_within_share =
        may_use_share && (key.unsynced == 0 || fits(key.unsynced + 1, kShareParts, key.remaining));
    if (!is_within_share && !fits(key.unsynced, kFloorParts, key.limit))
        return LocalVerdict::kAskOrigin;
    return fits(key.unsynced, 2 * kShareParts, key.remaining) ? LocalVerdict::kPass
                                                              : LocalVerdict::kPassAndFlush;
}

}  // namespace sluice

#endif  // SLUICE_WINDOW_SHARING_H_
