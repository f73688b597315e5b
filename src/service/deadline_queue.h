// What ends when it is answered, or when it has taken too long.
#ifndef SLUICE_SERVICE_DEADLINE_QUEUE_H_
#define SLUICE_SERVICE_DEADLINE_QUEUE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace sluice {

// Each wait ends once: by end(), by its deadline, or with all others.
//
// A stepped object: it has no thread and no clock. Thread-compatible.
class DeadlineQueue {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // Names a wait for as long as this object lives.
    using Name = std::pair<Time, std::uint64_t>;

    // `finish` is called when it ends.
    Name add(Time deadline, std::function<void()> finish);

    // Does nothing to a wait that has ended.
    void end(const Name& wait);
    void end_due(Time now);
    void end_all();

    // When the next deadline is; none if nothing waits.
    std::optional<Time> wake_at() const;

  private:
    std::map<Name, std::function<void()>> waits_;
    std::uint64_t last_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_DEADLINE_QUEUE_H_
