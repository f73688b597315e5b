// A readable trace of the last events of a run.
#ifndef SLUICE_SIM_TRACE_H_
#define SLUICE_SIM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/scheduler.h"

namespace sluice::sim {

enum class TraceKind : std::uint8_t {
    kPassed,
    kDenied,
    kSentToOrigin,
    kGranted,
    kSynced,
    kSpent,
    kCounted,
    kAnswered,
    kUnanswered,
    kRefused,
    kPublished,
    kPublishFailed,
    kImported,
    kImportFailed,
    kDisconnected,
    kConnected,
    kDataLost,
    kFaultBegins,
    kFaultEnds,
    kNodeStarted,
    kNodeEnded,
};

// A ring buffer of the newest events. Recording takes nanoseconds; text is made by write().
//
// Thread-compatible.
class Trace {
  public:
    explicit Trace(std::size_t size) : events_(size) {}

    struct Event {
        Moment at{0};
        TraceKind kind{};
        std::uint32_t node = 0;  // its serial number; of a fault, its index
        std::uint64_t a = 0;
        std::uint64_t b = 0;
    };
    void note(const Event& event) {
        events_[next_] = event;
        next_ = next_ + 1 == events_.size() ? 0 : next_ + 1;
        ++count_;
    }
    void write(std::ostream& out) const;

  private:
    std::vector<Event> events_;
    std::size_t next_ = 0;
    std::uint64_t count_ = 0;
};

// Formats as 12.345s.
std::string seconds_text(Moment moment);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_TRACE_H_
