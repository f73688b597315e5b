// A bus over NATS.
#ifndef SLUICE_GLOBAL_NATS_NATS_BUS_H_
#define SLUICE_GLOBAL_NATS_NATS_BUS_H_

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/turn_thread.h"
#include "global/bus.h"
#include "global/nats/nats_connection.h"
#include "url/nats_url.h"

namespace sluice {

struct NatsBusOptions {
    NatsUrl url;
    NatsTls tls = {};
    std::string credentials = {};  // the path of a file with a JWT and its key; empty: none
    std::string region;            // the member's own
    // Those whose announcements are received, by their stored names, with others of the same
    // shards. Empty: all.
    std::vector<std::string> workspaces = {};
    std::uint64_t seed = 0;  // of the jitter between attempts to connect
    // The most bytes of messages that wait to be sent.
    std::size_t most_queued_bytes = 4UL * 1024 * 1024;
    OnThreadFailure on_thread_failure = {};
};

// The subject of a shard's announcements: "sluice.v1.00" to "sluice.v1.ff".
std::string subject_of(std::uint8_t shard);

// Messages are queued by send() and published by a thread of this object, since the library blocks
// while a socket is full. The queue is bounded, and overflow drops the oldest. The same thread
// connects: in the background, to the servers in turn, for ever, with delays that double up to 5
// seconds and vary randomly by half. While there is no connection, send() drops.
//
// The library ignores SIGPIPE for the whole process.
class NatsBus final : public Bus {
  public:
    // A server that can't be reached is no error. The error names a file that can't be used.
    static Result<std::unique_ptr<Bus>> open(NatsBusOptions options, Receivers receivers);

    ~NatsBus() override;
    NatsBus(const NatsBus&) = delete;
    NatsBus& operator=(const NatsBus&) = delete;

    bool send(std::span<const RegionCount> counts) override;
    BusStatus status() const override;
    BusCounts counts() const override;
    // Takes up to half a second where a call of the library is stuck; its thread then ends later.
    void close() override;

  private:
    class Link;
    explicit NatsBus(std::shared_ptr<Link> link);

    const std::shared_ptr<Link> link_;  // shared with the thread, which may outlive this
    TurnThread thread_;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_NATS_NATS_BUS_H_
