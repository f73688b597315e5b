// The report of a node that the others of its region read: its state and its top keys.
#ifndef SLUICE_INSIGHT_NODE_REPORT_H_
#define SLUICE_INSIGHT_NODE_REPORT_H_

#include <sluice/time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "insight/activity.h"
#include "insight/node_status.h"

namespace sluice::insight {

struct NodeReport {
    // Parts of a NodeStatus.
    std::string version;
    std::string listen;
    NodeState state = NodeState::kStarting;
    UnixTime started_at{};
    std::uint64_t keys_held = 0;
    std::uint64_t overrides_version = 0;
    bool origin_unavailable = false;
    bool global_unavailable = false;
    bool bus_unavailable = false;
    std::array<WindowReport, kWindows> windows;
};

// Bounds of an encoded report; decode() accepts no larger one.
inline constexpr std::size_t kMaxReportBytes = 128UL * 1024;
inline constexpr std::size_t kMaxReportLines = 2'000;

// One line per key, of words that are separated by blanks. Of a report that is too large, the last
// keys of each window are left out.
std::string encode(const NodeReport& report);

// None for bytes that encode() did not write, such as those of another version.
std::optional<NodeReport> decode(std::string_view text);

// A report as it was read. Reports are read from the origin, along with their age.
struct ReceivedReport {
    std::string node;
    std::chrono::milliseconds age{0};
    std::shared_ptr<const NodeReport> report;  // not null
};

// Adds up the top keys of several nodes. A key's error includes what nodes that don't list it may
// have counted.
TopKeys merge_top_keys(std::vector<const WindowReport*> nodes, const TopQuery& query);

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_NODE_REPORT_H_
