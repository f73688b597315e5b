// Any bytes are a message on the bus. What is decoded must be possible, within its limits, and the
// same after it was encoded and decoded again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "global/announcement_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using sluice::BusMessage;
using sluice::RegionCount;

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

std::vector<std::pair<sluice::CellName, sluice::Count>> sorted(
    const std::vector<RegionCount>& counts) {
    std::vector<std::pair<sluice::CellName, sluice::Count>> all;
    for (const RegionCount& count : counts)
        all.emplace_back(count.cell, count.count);
    std::ranges::sort(all);
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto decoded = sluice::decode_announcement({reinterpret_cast<const char*>(data), size});
    const auto* const message = std::get_if<BusMessage>(&decoded);
    if (message == nullptr) return 0;
    require(size <= sluice::kMaxAnnouncementBytes, "taken, but too long");
    require(!message->region.empty() && message->region.size() <= sluice::kMaxAnnouncedRegionBytes,
            "taken, but with an impossible region");
    require(message->counts.size() <= sluice::kMaxAnnouncedCounts, "taken, but too many counts");
    for (const RegionCount& count : message->counts) {
        require(sluice::is_possible(count.cell) && count.count <= sluice::kMaxCount,
                "taken, but impossible");
        require(count.cell.workspace.size() <= sluice::kStoredWorkspaceBytes + 1 &&
                    count.cell.name_space.size() <= sluice::kStoredNamespaceBytes + 1 &&
                    count.cell.identifier.size() <= sluice::kStoredIdentifierBytes + 1,
                "taken, but with too long a name");
    }
    std::vector<RegionCount> again;
    for (const auto& encoded : sluice::encode_announcements(message->region, message->counts)) {
        const auto read = sluice::decode_announcement(encoded.bytes);
        require(std::holds_alternative<BusMessage>(read), "encoded, but not decoded");
        const auto& counts = std::get<BusMessage>(read).counts;
        again.insert(again.end(), counts.begin(), counts.end());
    }
    require(sorted(again) == sorted(message->counts), "changed on the way");
    return 0;
}
