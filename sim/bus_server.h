// The simulated message bus between regions.
#ifndef SLUICE_SIM_BUS_SERVER_H_
#define SLUICE_SIM_BUS_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "global/bus.h"
#include "global/bus_inbox.h"
#include "sim/options.h"
#include "sim/scheduler.h"

namespace sluice::sim {

// Delivers each message to all members, the sender included, half of the delay to one and a half of
// it later. The fleet sets its faults.
//
// Thread-compatible.
class BusServer {
  public:
    BusServer(Scheduler& scheduler, Random& random, Moment delay)
        : scheduler_(scheduler), random_(random), delay_(delay) {}

    // `is_cut`: whether the member is separated from the bus.
    std::unique_ptr<Bus> join(const std::string& region,
                              Bus::Receivers receivers,
                              std::function<bool()> is_cut);

    bool is_down = false;
    Permille loss = 0;  // share of deliveries
    Moment slowness{0};
    std::uint64_t messages = 0;
    std::uint64_t announcements = 0;

  private:
    class Connection;
    struct Member {
        Member(const std::string& region, Bus::Receivers receivers, std::function<bool()> cut)
            : inbox(region, std::move(receivers)), is_cut(std::move(cut)) {}
        BusInbox inbox;
        std::function<bool()> is_cut;
    };

    void transmit(const std::string& bytes);

    Scheduler& scheduler_;
    Random& random_;
    const Moment delay_;
    std::vector<std::weak_ptr<Member>> members_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_BUS_SERVER_H_
