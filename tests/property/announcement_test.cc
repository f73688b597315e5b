// Any components survive the way over the bus, and no bytes are decoded into impossible ones.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "global/announcement_codec.h"

namespace sluice {
namespace {

// Few letters, so that names share beginnings, or any bytes.
std::string any_text(std::size_t most) {
    const auto size =
        *rc::gen::weightedOneOf<std::size_t>({{6, rc::gen::inRange<std::size_t>(1, 6)},
                                              {1, rc::gen::inRange<std::size_t>(1, most + 1)},
                                              {1, rc::gen::just(most)}});
    const auto byte = *rc::gen::element(rc::gen::inRange<int>('a', 'c'), rc::gen::inRange(0, 256));
    return *rc::gen::container<std::string>(
        size, rc::gen::map(byte, [](int value) { return static_cast<char>(value); }));
}

RegionCount any_count() {
    const Duration duration{*rc::gen::weightedOneOf<std::int64_t>(
        {{3, rc::gen::element<std::int64_t>(1'000, 60'000)},
         {1, rc::gen::inRange(kMinDuration.count(), kMaxDuration.count() + 1)}})};
    const auto last = static_cast<Sequence>(kMaxCount) / duration.count();
    return {.cell = {.workspace = any_text(kStoredWorkspaceBytes + 1),
                     .name_space = any_text(kStoredNamespaceBytes + 1),
                     .identifier = any_text(kStoredIdentifierBytes + 1),
                     .duration = duration,
                     .sequence = *rc::gen::weightedOneOf<Sequence>(
                         {{3, rc::gen::inRange<Sequence>(0, last + 1)}, {1, rc::gen::just(last)}})},
            .count = *rc::gen::weightedOneOf<Count>({{3, rc::gen::inRange<Count>(0, 1'000)},
                                                     {1, rc::gen::inRange<Count>(0, kMaxCount)},
                                                     {1, rc::gen::just(kMaxCount)}})};
}

std::vector<RegionCount> any_counts() {
    std::vector<RegionCount> counts;
    // More than fit into a message come from copies of a few.
    const auto few = *rc::gen::inRange<std::size_t>(0, 12);
    for (std::size_t i = 0; i < few; ++i)
        counts.push_back(any_count());
    const auto copies = *rc::gen::weightedElement<std::size_t>({{5, 0}, {1, 400}});
    for (std::size_t i = 0; i < copies && few > 0; ++i) {
        counts.push_back(counts[i % few]);
        counts.back().cell.sequence = static_cast<Sequence>(i);
    }
    return counts;
}

using Bag = std::map<std::pair<CellName, Count>, int>;

void add(Bag& bag, const std::vector<RegionCount>& counts) {
    for (const RegionCount& count : counts)
        ++bag[{count.cell, count.count}];
}

RC_GTEST_PROP(Announcement, EveryComponentArrivesOnce, ()) {
    const std::string region = any_text(kMaxAnnouncedRegionBytes);
    const std::vector<RegionCount> counts = any_counts();
    Bag sent;
    Bag received;
    add(sent, counts);
    for (const EncodedAnnouncement& message : encode_announcements(region, counts)) {
        RC_ASSERT(message.bytes.size() <= kMaxAnnouncementBytes);
        const auto decoded = decode_announcement(message.bytes);
        RC_ASSERT(std::holds_alternative<BusMessage>(decoded));
        const BusMessage& read = std::get<BusMessage>(decoded);
        RC_ASSERT(read.region == region);
        RC_ASSERT(read.counts.size() == message.counts);
        RC_ASSERT(!read.counts.empty() && read.counts.size() <= kMaxAnnouncedCounts);
        for (const RegionCount& count : read.counts)
            RC_ASSERT(shard_of(count.cell.workspace) == message.shard);
        add(received, read.counts);
    }
    RC_ASSERT(sent == received);
}

RC_GTEST_PROP(Announcement, ADamagedMessageIsRefusedOrStillPossible, ()) {
    auto counts = any_counts();
    counts.push_back(any_count());
    std::string bytes = encode_announcements("eu", counts).front().bytes;
    const auto damages = *rc::gen::inRange(1, 4);
    for (int i = 0; i < damages; ++i)
        bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] =
            static_cast<char>(*rc::gen::inRange(0, 256));
    const auto decoded = decode_announcement(bytes);
    if (!std::holds_alternative<BusMessage>(decoded)) return;
    for (const RegionCount& count : std::get<BusMessage>(decoded).counts) {
        RC_ASSERT(is_possible(count.cell));
        RC_ASSERT(count.count <= kMaxCount);
    }
}

RC_GTEST_PROP(Announcement, APartOfAMessageIsMalformed, ()) {
    auto counts = any_counts();
    counts.push_back(any_count());
    const std::string bytes = encode_announcements("eu", counts).front().bytes;
    const auto decoded =
        decode_announcement(bytes.substr(0, *rc::gen::inRange<std::size_t>(0, bytes.size())));
    RC_ASSERT(std::holds_alternative<AnnouncementFault>(decoded));
    RC_ASSERT(std::get<AnnouncementFault>(decoded) == AnnouncementFault::kMalformed);
}

}  // namespace
}  // namespace sluice
