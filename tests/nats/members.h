// Members of a bus that record what they receive, and a client that publishes any bytes.
#ifndef SLUICE_TESTS_NATS_MEMBERS_H_
#define SLUICE_TESTS_NATS_MEMBERS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <nats/nats.h>

#include "base/random.h"
#include "global/bus.h"
#include "global/nats/nats_bus.h"
#include "support/eventually.h"
#include "url/nats_url.h"

namespace sluice::nats_test {

using regional_test::eventually;

inline RegionCount count_of(const std::string& identifier,
                            Count count,
                            const std::string& workspace = "w") {
    return {.cell = {.workspace = workspace,
                     .name_space = "n",
                     .identifier = identifier,
                     .duration = Duration{60'000},
                     .sequence = 7},
            .count = count};
}

// The options of a member that `url` leads to.
inline NatsBusOptions options_for(const std::string& url, const std::string& region) {
    auto parsed = parse_nats_url(url);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    return {.url = *std::move(parsed), .region = region, .seed = system_random()};
}

class BusMember {
  public:
    BusMember(const std::string& url, const std::string& region)
        : BusMember(options_for(url, region)) {}

    explicit BusMember(NatsBusOptions options) {
        auto opened = NatsBus::open(
            std::move(options),
            {.other_region = [this](const BusMessage& message) { record(message, others_); },
             .own_region = [this](const BusMessage& message) { record(message, peers_); }});
        if (!opened) throw std::runtime_error(opened.error().message);
        bus_ = *std::move(opened);
    }

    Bus& bus() { return *bus_; }
    BusCounts counts() const { return bus_->counts(); }
    std::string problem() const { return bus_->status().problem; }
    bool is_connected() const { return bus_->status().is_connected; }
    bool connects() {
        return eventually([&] { return is_connected(); });
    }

    bool send(const std::vector<RegionCount>& counts) { return bus_->send(counts); }

    // The largest component received of an identifier; 0 if there is none.
    Count received(const std::string& region, const std::string& identifier) {
        const std::lock_guard lock(mutex_);
        return others_[region + "/" + identifier];
    }
    Count received_from_peer(const std::string& region, const std::string& identifier) {
        const std::lock_guard lock(mutex_);
        return peers_[region + "/" + identifier];
    }
    std::size_t cells_received() {
        const std::lock_guard lock(mutex_);
        return others_.size();
    }

    // Called for each message, before it is recorded. Set it before anything is sent.
    std::function<void()> on_receive;

  private:
    using Received = std::map<std::string, Count>;

    void record(const BusMessage& message, Received& received) {
        if (on_receive) on_receive();
        const std::lock_guard lock(mutex_);
        for (const RegionCount& count : message.counts) {
            Count& held = received[message.region + "/" + count.cell.identifier];
            held = std::max(held, count.count);
        }
    }

    std::mutex mutex_;
    Received others_;
    Received peers_;
    std::unique_ptr<Bus> bus_;
};

// Publishes any bytes.
class RawClient {
  public:
    explicit RawClient(const std::string& url) {
        if (natsConnection_ConnectTo(&connection_, url.c_str()) != NATS_OK)
            throw std::runtime_error("the raw client can't connect");
    }
    ~RawClient() { natsConnection_Destroy(connection_); }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    void publish(const std::string& subject, const std::string& bytes) {
        natsConnection_Publish(
            connection_, subject.c_str(), bytes.data(), static_cast<int>(bytes.size()));
        natsConnection_Flush(connection_);
    }

  private:
    natsConnection* connection_ = nullptr;
};

}  // namespace sluice::nats_test

#endif  // SLUICE_TESTS_NATS_MEMBERS_H_
