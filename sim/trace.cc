#include "sim/trace.h"

#include <algorithm>
#include <ostream>

namespace sluice::sim {
namespace {

std::string words_for(const Trace::Event& event) {
    const auto key = [&] { return "k" + std::to_string(event.a); };
    const auto cells = [&] { return std::to_string(event.a) + " cells"; };
    const auto keys = [&] { return std::to_string(event.a) + " keys"; };
    switch (event.what) {
        case Happening::kPassed:
            return "passed " + key() + " cost " + std::to_string(event.b);
        case Happening::kDenied:
            return "denied " + key() + " cost " + std::to_string(event.b);
        case Happening::kAsked:
            return "has the origin decide " + key();
        case Happening::kGranted:
            return "was granted " + key() + " cost " + std::to_string(event.b);
        case Happening::kSynced:
            return "sends a sync of " + keys();
        case Happening::kSpent:
            return "sends a spend of " + keys();
        case Happening::kRetired:
            return "retires " + keys();
        case Happening::kCounted:
            return "counts " + std::to_string(event.a) + " nodes" +
                   (event.b != 0 ? ", and has joined" : "");
        case Happening::kAnswered:
            return "gets an answer for " + keys();
        case Happening::kUnanswered:
            return "gets no answer for " + keys();
        case Happening::kRefused:
            return "had a write refused";
        case Happening::kPublished:
            return "published " + cells();
        case Happening::kPublishFailed:
            return "failed to publish " + cells();
        case Happening::kImported:
            return "imported " + cells();
        case Happening::kImportFailed:
            return "failed to import";
        case Happening::kDisconnected:
            return "is disconnected from its origin";
        case Happening::kConnected:
            return event.a != 0 ? "is connected to its origin"
                                : "is connected to its origin, which may have lost data";
        case Happening::kDataLost:
            return "notices that its origin has lost data";
        case Happening::kFaultBegins:
            return "fault " + std::to_string(event.node + 1) + " begins";
        case Happening::kFaultEnds:
            return "fault " + std::to_string(event.node + 1) + " ends";
        case Happening::kNodeStarted:
            return "starts in region-" + std::to_string(event.a + 1);
        case Happening::kNodeEnded:
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
            event.what == Happening::kFaultBegins || event.what == Happening::kFaultEnds;
        std::string at = seconds_text(event.at);
        at.insert(0, at.size() < 10 ? 10 - at.size() : 0, ' ');
        std::string who = is_fault ? "" : "node " + std::to_string(event.node);
        who.resize(std::max<std::size_t>(who.size(), 9), ' ');
        out << at << "  " << who << words_for(event) << "\n";
    }
}

}  // namespace sluice::sim
