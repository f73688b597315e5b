// The receiving side of a bus: decodes messages, and drops and counts those that must not be used.
#ifndef SLUICE_GLOBAL_BUS_INBOX_H_
#define SLUICE_GLOBAL_BUS_INBOX_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "global/bus.h"

namespace sluice {

// The counters of BusCounts. Written by the threads of a bus, read by any. Relaxed: each stands for
// itself.
struct BusTally {
    using Counter = std::atomic<std::uint64_t>;

    BusCounts read() const;

    Counter messages_sent{0};
    Counter announcements_sent{0};
    Counter messages_received{0};
    Counter announcements_received{0};
    Counter malformed{0};
    Counter foreign_version{0};
    Counter own_region{0};
    Counter announcements_unsent{0};
    Counter announcements_overflowed{0};
    Counter receive_overflowed{0};
    Counter reconnects{0};
};

// Thread-safe. Receivers are called by one thread at a time.
class BusInbox {
  public:
    // `region` is the member's own.
    BusInbox(std::string region, Bus::Receivers receivers);

    // Decodes a message, which may be any bytes, and passes it to its receiver.
    void receive(std::string_view bytes);

    // Waits for the current receiver. No receiver is called after it has returned.
    void close();

    BusTally& tally() { return tally_; }
    const BusTally& tally() const { return tally_; }

  private:
    void pass(const BusMessage& message, const Bus::Receive& receiver);

    const std::string region_;
    const Bus::Receivers receivers_;
    BusTally tally_;
    Mutex mutex_;  // held while a receiver runs
    bool is_closed_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_BUS_INBOX_H_
