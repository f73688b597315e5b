#include "sim/trace.h"

#include <algorithm>
#include <ostream>

namespace sluice::sim {
namespace {

std::string text_of(const Trace::Event& event) {
    const auto key = [&] { return "k" + std::to_string(event.a); };
    const auto cells = [&] { return std::to_string(event.a) + " cells"; };
    const auto keys = [&] { return std::to_string(event.a) + " keys"; };
    switch (event.kind) {
        case TraceKind::kPassed:
            return "passed " + key() + " cost " + std::to_string(event.b);
        case TraceKind::kDenied:
            return "denied " + key() + " cost " + std::to_string(event.b);
        case TraceKind::kSentToOrigin:
            return "has the origin decide " + key();
        case TraceKind::kGranted:
            return "was granted " + key() + " cost " + std::to_string(event.b);
        case TraceKind::kSynced:
            return "sends a sync of " + keys();
        case TraceKind::kSpent:
            return "sends a spend of " + keys();
        case TraceKind::kCounted:
            return "counts " + std::to_string(event.a) + " nodes" +
                   (event.b != 0 ? ", and has joined" : "");
        case TraceKind::kAnswered:
            return "gets an answer for " + keys();
        case TraceKind::kUnanswered:
            return "gets no answer for " + keys();
        case TraceKind::kRefused:
            return "had a write refused";
        case TraceKind::kPublished:
            return "published " + cells();
        case TraceKind::kPublishFailed:
            return "failed to publish " + cells();
        case TraceKind::kImported:
            return "imported " + cells();
        case TraceKind::kImportFailed:
            return "failed to import";
        case TraceKind::kDisconnected:
            return "is disconnected from its origin";
        case TraceKind::kConnected:
            return event.a != 0 ? "is connected to its origin"
                                : "is connected to its origin, which may have lost data";
        case TraceKind::kDataLost:
            return "notices that its origin has lost data";
        case TraceKind::kFaultBegins:
            return "fault " + std::to_string(event.node + 1) + " begins";
        case TraceKind::kFaultEnds:
            return "fault " + std::to_string(event.node + 1) + " ends";
        case TraceKind::kNodeStarted:
            return "starts in region-" + std::to_string(event.a + 1);
        case TraceKind::kNodeEnded:
            return event.a != 0 ? "crashes" : "ends";
    }
    return {};
}

}  // namespace

std::string seconds_text(Moment moment) {
    const std::int64_t ms = moment.count() / 1'000'000;
    std::string rest = std::to_string(ms % 1'000);
    rest.insert(0, 3 - rest.size(), '0');
    return std::to_string(ms / 1'000) + "." + rest + "s";
}

void Trace::write(std::ostream& out) const {
    const std::size_t held =
        static_cast<std::size_t>(std::min<std::uint64_t>(count_, events_.size()));
    const std::size_t first = count_ <= events_.size() ? 0 : next_;
    for (std::size_t i = 0; i < held; ++i) {
        const Event& event = events_[(first + i) % events_.size()];
        const bool is_fault =
            event.kind == TraceKind::kFaultBegins || event.kind == TraceKind::kFaultEnds;
        std::string at = seconds_text(event.at);
        at.insert(0, at.size() < 10 ? 10 - at.size() : 0, ' ');
        std::string node = is_fault ? "" : "node " + std::to_string(event.node);
        node.resize(std::max<std::size_t>(node.size(), 9), ' ');
        out << at << "  " << node << text_of(event) << "\n";
    }
}

}  // namespace sluice::sim
