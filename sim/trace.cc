#include "sim/trace.h"

#include <algorithm>
#include <ostream>

namespace sluice::sim {
namespace {

std::string words_for(const Trace::Event& event) {
    const auto key = [&] { return "k" + std::to_string(event.a); };
    const auto cells = [&] { return std::to_string(event.a) + " cells"; };
    switch (event.what) {
        case Happening::kPassed:
            return "passed " + key() + " cost " + std::to_string(event.b);
        case Happening::kDenied:
            return "denied " + key() + " cost " + std::to_string(event.b);
        case Happening::kAsked:
            return "asks for fresher counts of " + key();
        case Happening::kRead:
            return "reads " + cells() + " from the origin";
        case Happening::kRaised:
            return "tells the origin " + cells();
        case Happening::kAnswered:
            return "hears of " + cells();
        case Happening::kUnanswered:
            return "hears nothing of " + cells();
        case Happening::kPublished:
            return "published " + cells();
        case Happening::kPublishFailed:
            return "failed to publish " + cells();
        case Happening::kImported:
            return "imported " + cells();
        case Happening::kImportFailed:
            return "failed to import";
        case Happening::kAway:
            return "lost its origin";
        case Happening::kBack:
            return event.a != 0 ? "has its origin back"
                                : "has its origin back, which may have lost all";
        case Happening::kForgot:
            return "notices that its origin forgot";
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
