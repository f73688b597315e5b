// A bus in the memory of this process, for tests, simulation, and limiters of one process.
#ifndef SLUICE_GLOBAL_MEMORY_BUS_H_
#define SLUICE_GLOBAL_MEMORY_BUS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "global/bus.h"

namespace sluice {

// Connects members. Messages are encoded and decoded as on a network, and also come back to their
// sender, which drops them by their region.
//
// Without a route, a message is delivered before send() returns, on the sender's thread. With one,
// step() delivers it, on the caller's virtual time.
//
// Thread-safe.
class MemoryBus : public std::enable_shared_from_this<MemoryBus> {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // The path of a message to one member, by the regions of both.
    struct Hop {
        std::string_view from;
        std::string_view to;
    };
    // Returns the delays after which the message is delivered: none: it is lost; two: it is
    // delivered twice. Unequal delays reorder messages. Called under a lock; must not call the bus.
    using Route = std::function<std::vector<std::chrono::milliseconds>(const Hop&)>;

    static std::shared_ptr<MemoryBus> create(Route route = {});
    // The one of that name in this process, without a route; made if there is none.
    static std::shared_ptr<MemoryBus> named(const std::string& name);

    // Connects a member, which keeps the bus alive.
    std::unique_ptr<Bus> join(const std::string& region, Bus::Receivers receivers);

    // Delivers what is due at `now`, by due time, then in the order of sending. The delays of
    // messages sent later count from `now`.
    void step(Time now);
    // When step() has something to deliver; Time::max() if nothing is on its way.
    Time wake_at() const;

    // Disconnects all members, and reports `problem` to them; none: connects them again. What is on
    // its way still arrives.
    void set_outage(std::optional<std::string> problem);

    // Delivers any bytes to all members, at once.
    void inject(std::string_view bytes);

  private:
    class Member;
    class Connection;
    struct Delivery {
        std::weak_ptr<Member> to;
        std::string bytes;
    };

    explicit MemoryBus(Route route) : route_(std::move(route)) {}
    std::vector<std::shared_ptr<Member>> members() const SLUICE_REQUIRES(mutex_);
    // False during an outage.
    bool transmit(const std::string& from, std::string_view bytes);

    const Route route_;
    mutable Mutex mutex_;
    std::vector<std::weak_ptr<Member>> members_ SLUICE_GUARDED_BY(mutex_);
    // By due time and number.
    std::map<std::pair<Time, std::uint64_t>, Delivery> on_the_way_ SLUICE_GUARDED_BY(mutex_);
    std::uint64_t next_ SLUICE_GUARDED_BY(mutex_) = 0;
    Time now_ SLUICE_GUARDED_BY(mutex_) = Time{};
    std::optional<std::string> outage_ SLUICE_GUARDED_BY(mutex_);
    std::uint64_t outages_ended_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_MEMORY_BUS_H_
