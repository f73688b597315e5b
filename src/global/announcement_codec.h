// The binary format of messages on the bus.
#ifndef SLUICE_GLOBAL_ANNOUNCEMENT_CODEC_H_
#define SLUICE_GLOBAL_ANNOUNCEMENT_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "global/bus.h"
#include "global/store.h"

namespace sluice {

// A message of version 1 is
//
//     "SL" 0x01
//     region                          length, bytes
//     number of counts
//     for each count:
//         workspace, namespace, identifier
//                                     each: the number of leading bytes that it shares with the
//                                     same part of the count before, the length of the rest, and
//                                     the rest
//         duration in ms, sequence, component
//
// Numbers are unsigned, in groups of 7 bits from the lowest, each but the last with its high bit
// set, in as few bytes as possible. Names are stored names.
inline constexpr std::size_t kMaxAnnouncementBytes = 64UL * 1024;
inline constexpr std::size_t kMaxAnnouncedCounts = 512;
inline constexpr std::size_t kMaxAnnouncedRegionBytes = 48;

// The shard of a workspace: FNV-1a of its bytes, 64 bits, of which the highest eight. The same on
// all nodes and in all versions.
std::uint8_t shard_of(std::string_view workspace);

// A message for the members that are interested in one shard.
struct EncodedAnnouncement {
    std::uint8_t shard;
    std::size_t counts;  // in it
    std::string bytes;
};

// Encodes components as messages within the limits above, each with the workspaces of one shard.
// Requires a region of 1 to 48 bytes, is_possible() cells and counts up to kMaxCount.
std::vector<EncodedAnnouncement> encode_announcements(const std::string& region,
                                                      std::vector<RegionCount> counts);

// A message without counts, by which a member learns whether the server lets it publish.
std::string encode_greeting(const std::string& region);

enum class AnnouncementFault {
    kMalformed,
    kForeignVersion,  // it begins as a message does, with a version that is not 1
};

// Decodes any bytes. Accepts only what a member of this version could have sent: every length and
// number is checked, and nothing may follow the last count.
std::variant<BusMessage, AnnouncementFault> decode_announcement(std::string_view bytes);

}  // namespace sluice

#endif  // SLUICE_GLOBAL_ANNOUNCEMENT_CODEC_H_
