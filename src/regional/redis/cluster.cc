#include "regional/redis/cluster.h"

#include <algorithm>
#include <utility>

#include "regional/redis/redis_protocol.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr int kMaxResends = 16;

// While the two cells of a key are on different servers, because their slot is being moved.
constexpr milliseconds kTryAgainPause{40};

// How often the map is fetched: usually, while a master is not connected, and at most.
constexpr milliseconds kMapInterval{10'000};
constexpr milliseconds kMapRetry{500};
constexpr milliseconds kMinMapInterval{100};

// A server without slots, which keys are being moved to, is kept this long after a redirection.
constexpr std::chrono::seconds kReferenceLifetime{30};

HandshakePlan member_plan() {
    return {.expected = ExpectedServer::kClusterMember, .marker = {}};
}

}  // namespace

Cluster::Cluster(boost::asio::io_context& loop,
                 std::shared_ptr<const RedisAccess> access,
                 Locate seeds,
                 MarkerKey marker_key)
    : loop_(loop),
      access_(std::move(access)),
      marker_key_(std::move(marker_key)),
      seed_link_(std::make_shared<RedisLink>(loop, access_, std::move(seeds), member_plan())),
      timer_(loop) {}

void Cluster::start(Events events) {
    events_ = std::move(events);
    start_seed_link();
}

void Cluster::stop() {
    is_stopped_ = true;
    timer_.cancel();
    seed_link_->stop();
    for (auto& [address, master] : masters_)
        master.link->stop();
}

std::vector<std::shared_ptr<RedisLink>> Cluster::links() const {
    std::vector<std::shared_ptr<RedisLink>> links;
    for (const auto& [address, master] : masters_)
        if (master.has_slots && master.link->is_up()) links.push_back(master.link);
    return links;
}

void Cluster::send(std::string_view key, std::string command, Replied replied) {
    const std::uint16_t slot = cluster_slot(key);
    RedisLink* const link = slots_[slot];
    if (link == nullptr || !link->is_up()) {
        replied(nullptr);
        return;
    }
    send_to(*link,
            {.command = std::make_shared<const std::string>(std::move(command)),
             .slot = slot,
             .replied = std::move(replied),
             .deadline = Clock::now() + access_->timeout});
}

void Cluster::send_to(RedisLink& link, InFlightCommand command) {
    const SharedCommand bytes = command.command;
    link.send(bytes,
              [self = shared_from_this(),
               from = link.shared_from_this(),
               command = std::move(command)](const RedisReply* reply) mutable {
                  return self->on_reply(*from, std::move(command), reply);
              });
}

bool Cluster::on_reply(RedisLink& link, InFlightCommand command, const RedisReply* reply) {
    if (is_stopped_) return true;
    if (reply == nullptr || !reply->is_error()) return command.replied(reply);
    if (const auto to = read_redirection(*reply, host_of(link))) {
        redirect(*to, std::move(command));
        return true;
    }
    if (reply->is_error("TRYAGAIN")) {
        retry_later(std::move(command));
        return true;
    }
    return command.replied(reply);
}

// A command that is sent again keeps its deadline; its new connection would give it more time.
bool Cluster::may_resend(InFlightCommand& command) {
    if (command.resends >= kMaxResends || Clock::now() >= command.deadline) return false;
    if (command.resends++ == 0)
        command.replied = with_deadline(loop_, command.deadline, std::move(command.replied));
    return true;
}

void Cluster::redirect(const Redirection& to, InFlightCommand command) {
    RedisLink& target = master_at(to.target);
    if (to.is_final) {
        slots_[to.slot] = &target;
        request_map();
    }
    if (!target.is_up() || !may_resend(command)) {
        command.replied(nullptr);
        return;
    }
    if (!to.is_final)
        target.send(std::make_shared<const std::string>(redis_command({"ASKING"})),
                    [](const RedisReply*) { return true; });
    send_to(target, std::move(command));
}

void Cluster::retry_later(InFlightCommand command) {
    if (!may_resend(command)) {
        command.replied(nullptr);
        return;
    }
    const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, kTryAgainPause);
    timer->async_wait([self = shared_from_this(), timer, command = std::move(command)](
                          boost::system::error_code) mutable {
        RedisLink* const link = self->is_stopped_ ? nullptr : self->slots_[command.slot];
        if (link != nullptr) return self->send_to(*link, std::move(command));
        command.replied(nullptr);
    });
}

RedisLink& Cluster::master_at(const RedisAddress& address) {
    Master& master = masters_[address];
    master.referenced = Clock::now();
    if (master.link) return *master.link;
    const Locate locate = [address](const std::function<void(Location)>& located) {
        located({.addresses = {address}});
    };
    master.link = std::make_shared<RedisLink>(loop_, access_, locate, member_plan());
    master.link->start(events_of(address));
    return *master.link;
}

RedisLink::Events Cluster::events_of(const RedisAddress& address) {
    const auto report = [weak = weak_from_this()](auto what) {
        return [weak, what](const auto&... details) {
            const auto self = weak.lock();
            if (self && !self->is_stopped_) what(*self, details...);
        };
    };
    return {.up = report([address](Cluster& self, bool is_intact) {
                self.on_master_up(address, is_intact);
            }),
            .down = report([address](Cluster& self, const std::string& why) {
                self.on_master_down(address, why);
            }),
            .data_lost = report([](Cluster& self) { self.report_data_loss(); }),
            .write_refused = report([](Cluster& self, const std::string& why) {
                self.events_.origin.write_refused(why);
            }),
            .marker_moved = report([](Cluster& self) { self.request_map(); })};
}

void Cluster::on_master_up(const RedisAddress& address, bool is_intact) {
    const bool has_taken_over = std::exchange(masters_[address].is_successor, false);
    is_intact = is_intact && !has_taken_over;
    if (is_available_) {
        if (!is_intact) report_data_loss();
        return;
    }
    if (!has_connected_master()) return;
    is_available_ = true;
    why_.clear();
    events_.origin.available(is_intact);
}

void Cluster::on_master_down(const RedisAddress& address, const std::string& why) {
    request_map();
    if (has_connected_master()) return;
    is_available_ = false;
    report_unavailable(address.shown() + ": " + why);
}

void Cluster::report_unavailable(const std::string& why) {
    if (std::exchange(why_, why) != why) events_.origin.unavailable(why);
}

void Cluster::report_data_loss() {
    if (is_available_) events_.origin.data_lost();
}

bool Cluster::has_connected_master() const {
    return std::any_of(masters_.begin(), masters_.end(), [](const auto& entry) {
        return entry.second.has_slots && entry.second.link->is_up();
    });
}

void Cluster::start_seed_link() {
    const auto weak = weak_from_this();
    const auto up = [weak](bool) {
        const auto self = weak.lock();
        if (self && !self->is_stopped_) self->request_map();
    };
    // Once masters are known, the seeds are not needed.
    const auto down = [weak](const std::string& why) {
        const auto self = weak.lock();
        if (self && !self->is_stopped_ && self->masters_.empty()) self->report_unavailable(why);
    };
    seed_link_->start({.up = up,
                       .down = down,
                       .data_lost = [] {},
                       .write_refused = [](const std::string&) {},
                       .marker_moved = [] {}});
}

void Cluster::request_map() {
    is_map_requested_ = true;
    if (is_fetching_) return;
    const auto pause = fetched_ + kMinMapInterval - Clock::now();
    fetch_map_after(std::max(pause, Clock::duration::zero()));
}

void Cluster::fetch_map_after(Clock::duration pause) {
    const auto at = Clock::now() + pause;
    if (timer_.expiry() > Clock::now() && timer_.expiry() <= at) return;
    timer_.expires_at(at);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (!cancelled && self && !self->is_stopped_) self->fetch_map();
    });
}

void Cluster::fetch_map() {
    if (is_fetching_) return;
    fetched_ = Clock::now();
    is_map_requested_ = false;
    const auto link = link_for_map();
    if (!link) return fetch_map_after(kMapRetry);
    is_fetching_ = true;
    link->send(std::make_shared<const std::string>(redis_command({"CLUSTER", "SLOTS"})),
               [self = shared_from_this(), host = host_of(*link)](const RedisReply* reply) {
                   return self->is_stopped_ || self->on_map(host, reply);
               });
}

// The masters in turn, so that one with an old map can't mislead us for long. A seed, which may
// have left the Cluster, is asked only while no master is connected.
std::shared_ptr<RedisLink> Cluster::link_for_map() {
    const auto connected = links();
    if (!connected.empty()) return connected[turn_++ % connected.size()];
    return seed_link_->is_up() ? seed_link_ : nullptr;
}

bool Cluster::on_map(const std::string& asked_host, const RedisReply* reply) {
    is_fetching_ = false;
    const auto ranges = reply != nullptr ? read_cluster_slots(*reply, asked_host) : std::nullopt;
    const bool is_refused = reply != nullptr && reply->is_error();
    if (is_refused && reply->text.find("cluster support disabled") != std::string::npos) {
        leave();
        return true;
    }
    if (ranges && !ranges->empty()) {
        apply(*ranges);
    } else if (reply != nullptr && masters_.empty()) {
        report_unavailable(is_refused ? "it does not show its slots; Redis says: " +
                                            shown_error(reply->text, access_->password)
                                      : "the cluster has not assigned its slots yet");
    }
    if (is_stopped_) return true;
    const bool is_complete = std::all_of(masters_.begin(), masters_.end(), [](const auto& entry) {
        return !entry.second.has_slots || entry.second.link->is_up();
    });
    const milliseconds usual = is_complete && !masters_.empty() ? kMapInterval : kMapRetry;
    fetch_map_after(is_map_requested_ ? kMinMapInterval : usual);
    return reply == nullptr || is_refused || ranges;
}

// The servers are not a Cluster any more.
void Cluster::leave() {
    const Masters masters = std::exchange(masters_, {});
    slots_.fill(nullptr);
    for (const auto& [address, master] : masters)
        master.link->retire();
    if (!is_stopped_) events_.other_kind();
}

void Cluster::apply(const std::vector<SlotRange>& ranges) {
    std::set<RedisAddress> before;
    for (auto& [address, master] : masters_)
        if (std::exchange(master.has_slots, false)) before.insert(address);

    slots_.fill(nullptr);
    for (const SlotRange& range : ranges) {
        RedisLink& link = master_at(range.master);
        masters_[range.master].has_slots = true;
        std::fill(slots_.begin() + range.first, slots_.begin() + range.last + 1, &link);
    }
    choose_markers();
    mark_successors(before);
    if (!is_stopped_) retire_masters();
}

// Slots that move from one master to another take their keys along. Data may be lost only if a
// master is gone and another one has taken its place.
void Cluster::mark_successors(const std::set<RedisAddress>& before) {
    const bool is_one_gone = std::any_of(before.begin(), before.end(), [&](const auto& address) {
        return !masters_[address].has_slots;
    });
    if (!is_one_gone) return;
    bool is_one_up = false;
    for (auto& [address, master] : masters_) {
        if (!master.has_slots || before.contains(address)) continue;
        if (master.link->is_up()) {
            is_one_up = true;
        } else {
            master.is_successor = true;
        }
    }
    if (is_one_up) report_data_loss();
}

void Cluster::choose_markers() {
    std::set<const RedisLink*> unmarked;
    for (auto& [address, master] : masters_) {
        const std::string& key = master.link->marker();
        const bool is_marked = !key.empty() && slots_[cluster_slot(key)] == master.link.get();
        if (master.has_slots && !is_marked) unmarked.insert(master.link.get());
    }
    // Each number is as good as a random slot, so that each master is soon met.
    for (std::size_t number = 0; !unmarked.empty() && number < 64 * kClusterSlots; ++number) {
        std::string key = marker_key_(number);
        RedisLink* const link = slots_[cluster_slot(key)];
        if (unmarked.erase(link) > 0) link->set_marker(std::move(key));
    }
}

// Commands may still be outstanding there, and their answers may lead to anything.
void Cluster::retire_masters() {
    const auto now = Clock::now();
    std::vector<std::shared_ptr<RedisLink>> retired;
    std::erase_if(masters_, [&](const auto& entry) {
        const Master& master = entry.second;
        const bool is_kept = master.has_slots || now < master.referenced + kReferenceLifetime;
        if (!is_kept) retired.push_back(master.link);
        return !is_kept;
    });
    for (const auto& link : retired)
        link->retire();
}

std::string Cluster::host_of(const RedisLink& link) const {
    return link.address().socket_path.empty() ? link.address().host : "127.0.0.1";
}

}  // namespace sluice
