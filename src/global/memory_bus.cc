#include "global/memory_bus.h"

#include <algorithm>

#include "global/announcement_codec.h"
#include "global/bus_inbox.h"

namespace sluice {

class MemoryBus::Member {
  public:
    Member(std::string region, Bus::Receivers receivers)
        : region_(region), inbox_(std::move(region), std::move(receivers)) {}

    const std::string& region() const { return region_; }
    BusInbox& inbox() { return inbox_; }

  private:
    const std::string region_;
    BusInbox inbox_;
};

namespace {

void raise(BusTally::Counter& counter, std::uint64_t by) {
    counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace

// A member's end of the bus.
class MemoryBus::Connection final : public Bus {
  public:
    Connection(std::shared_ptr<MemoryBus> bus, std::shared_ptr<Member> member)
        : bus_(std::move(bus)), member_(std::move(member)) {}
    ~Connection() override { Connection::close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    bool send(std::span<const RegionCount> counts) override {
        BusTally& tally = member_->inbox().tally();
        bool are_sent = true;
        for (const EncodedAnnouncement& message :
             encode_announcements(member_->region(), {counts.begin(), counts.end()})) {
            if (!bus_->transmit(member_->region(), message.bytes)) {
                raise(tally.announcements_unsent, message.counts);
                are_sent = false;
                continue;
            }
            raise(tally.messages_sent, 1);
            raise(tally.announcements_sent, message.counts);
        }
        return are_sent;
    }

    BusStatus status() const override {
        const MutexLock lock(bus_->mutex_);
        return {.is_connected = !bus_->outage_, .problem = bus_->outage_.value_or("")};
    }

    BusCounts counts() const override {
        BusCounts counts = member_->inbox().tally().read();
        const MutexLock lock(bus_->mutex_);
        counts.reconnects = bus_->outages_ended_;
        return counts;
    }

    void close() override { member_->inbox().close(); }

  private:
    const std::shared_ptr<MemoryBus> bus_;
    const std::shared_ptr<Member> member_;
};

std::shared_ptr<MemoryBus> MemoryBus::create(Route route) {
    return std::shared_ptr<MemoryBus>(new MemoryBus(std::move(route)));
}

std::shared_ptr<MemoryBus> MemoryBus::named(const std::string& name) {
    static Mutex mutex;
    static std::map<std::string, std::weak_ptr<MemoryBus>> buses;
    const MutexLock lock(mutex);
    std::erase_if(buses, [](const auto& bus) { return bus.second.expired(); });
    auto bus = buses[name].lock();
    if (bus == nullptr) buses[name] = bus = create();
    return bus;
}

std::unique_ptr<Bus> MemoryBus::join(const std::string& region, Bus::Receivers receivers) {
    auto member = std::make_shared<Member>(region, std::move(receivers));
    const MutexLock lock(mutex_);
    std::erase_if(members_, [](const auto& other) { return other.expired(); });
    members_.push_back(member);
    return std::make_unique<Connection>(shared_from_this(), std::move(member));
}

std::vector<std::shared_ptr<MemoryBus::Member>> MemoryBus::members() const {
    std::vector<std::shared_ptr<Member>> all;
    for (const auto& member : members_)
        if (auto held = member.lock()) all.push_back(std::move(held));
    return all;
}

bool MemoryBus::transmit(const std::string& from, std::string_view bytes) {
    std::vector<std::shared_ptr<Member>> at_once;
    {
        const MutexLock lock(mutex_);
        if (outage_) return false;
        auto all = members();
        if (!route_) {
            at_once = std::move(all);
        } else {
            for (const auto& member : all)
                for (const auto delay : route_({.from = from, .to = member->region()}))
                    on_the_way_.emplace(std::pair(now_ + delay, next_++),
                                        Delivery{member, std::string(bytes)});
        }
    }
    for (const auto& member : at_once)
        member->inbox().receive(bytes);
    return true;
}

void MemoryBus::step(Time now) {
    for (;;) {  // ends: what is sent meanwhile is due at `now` or later, and delivered in turn
        Delivery delivery;
        {
            const MutexLock lock(mutex_);
            now_ = std::max(now_, now);
            if (on_the_way_.empty() || on_the_way_.begin()->first.first > now) return;
            delivery = std::move(on_the_way_.begin()->second);
            on_the_way_.erase(on_the_way_.begin());
        }
        if (const auto member = delivery.to.lock()) member->inbox().receive(delivery.bytes);
    }
}

MemoryBus::Time MemoryBus::wake_at() const {
    const MutexLock lock(mutex_);
    return on_the_way_.empty() ? Time::max() : on_the_way_.begin()->first.first;
}

void MemoryBus::set_outage(std::optional<std::string> problem) {
    const MutexLock lock(mutex_);
    if (outage_ && !problem) ++outages_ended_;
    outage_ = std::move(problem);
}

void MemoryBus::inject(std::string_view bytes) {
    std::vector<std::shared_ptr<Member>> all;
    {
        const MutexLock lock(mutex_);
        all = members();
    }
    for (const auto& member : all)
        member->inbox().receive(bytes);
}

}  // namespace sluice
