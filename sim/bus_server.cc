#include "sim/bus_server.h"

#include <utility>

#include "global/announcement_codec.h"

namespace sluice::sim {

class BusServer::Connection final : public Bus {
  public:
    Connection(BusServer& server, std::string region, std::shared_ptr<Member> member)
        : server_(server), region_(std::move(region)), member_(std::move(member)) {}
    ~Connection() override { member_->inbox.close(); }

    bool send(std::span<const RegionCount> counts) override {
        if (!status().is_connected) return false;
        for (const EncodedAnnouncement& message :
             encode_announcements(region_, {counts.begin(), counts.end()})) {
            ++server_.messages;
            server_.announcements += message.counts;
            server_.transmit(message.bytes);
        }
        return true;
    }
    BusStatus status() const override {
        const bool is_connected = !server_.is_down && !member_->is_cut();
        return {.is_connected = is_connected, .problem = is_connected ? "" : "the bus is down"};
    }
    BusCounts counts() const override { return member_->inbox.tally().read(); }
    void close() override { member_->inbox.close(); }

  private:
    BusServer& server_;
    const std::string region_;
    const std::shared_ptr<Member> member_;
};

std::unique_ptr<Bus> BusServer::join(const std::string& region,
                                     Bus::Receivers receivers,
                                     std::function<bool()> is_cut) {
    auto member = std::make_shared<Member>(region, std::move(receivers), std::move(is_cut));
    members_.push_back(member);
    return std::make_unique<Connection>(*this, region, std::move(member));
}

void BusServer::transmit(const std::string& bytes) {
    std::erase_if(members_, [](const auto& member) { return member.expired(); });
    const auto shared = std::make_shared<const std::string>(bytes);
    for (const std::weak_ptr<Member>& member : members_) {
        if (random_.permille(loss)) continue;
        const auto jitter = Moment{random_.below(static_cast<std::uint64_t>(delay_.count()) + 1)};
        scheduler_.after(delay_ / 2 + jitter + slowness, [this, member, shared] {
            const auto to = member.lock();
            if (to != nullptr && !is_down && !to->is_cut()) to->inbox.receive(*shared);
        });
    }
}

}  // namespace sluice::sim
