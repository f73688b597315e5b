#include "regional/redis/cluster.h"

#include <algorithm>
#include <utility>

#include "regional/redis/complaint.h"
#include "regional/redis/late_reply.h"
#include "regional/redis/redis_command.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr int kMostRedirections = 5;

// How often the map is fetched: where nothing is wrong, while a master is missing, and at most.
constexpr milliseconds kMapLife{10'000};
constexpr milliseconds kMapRetry{500};
constexpr milliseconds kMapPause{100};

// A server without slots, which keys are moved to, is kept this long after the last of them.
constexpr std::chrono::seconds kWantedLife{30};

}  // namespace

Cluster::Cluster(boost::asio::io_context& loop,
                 std::shared_ptr<const RedisAccess> access,
                 RedisAddress seed,
                 Marker marker)
    : loop_(loop),
      access_(std::move(access)),
      marker_(std::move(marker)),
      scout_(std::make_shared<RedisLink>(
          loop, access_, std::move(seed), RedisHandshake::Plan{.marker = {}, .in_cluster = true})),
      timer_(loop) {}

void Cluster::start(Events events) {
    events_ = std::move(events);
    start_scout();
}

void Cluster::stop() {
    is_stopped_ = true;
    timer_.cancel();
    scout_->stop();
    for (auto& [address, master] : masters_)
        master.link->stop();
}

void Cluster::send(std::string_view key, std::string command, Replied replied) {
    RedisLink* const link = slots_[cluster_slot(key)];
    if (link == nullptr || !link->is_up()) {
        replied(nullptr);
        return;
    }
    send_to(*link, {std::move(command), std::move(replied), Clock::now() + access_->timeout});
}

// A command that travels on keeps the deadline that it had; its new connection gives it more.
void Cluster::send_to(RedisLink& link, Traveller traveller) {
    const std::string command = traveller.command;
    Replied arrived = [self = shared_from_this(),
                       from = link.shared_from_this(),
                       traveller = std::move(traveller)](const RedisReply* reply) mutable {
        return self->on_reply(*from, std::move(traveller), reply);
    };
    link.send(command, std::move(arrived));
}

bool Cluster::on_reply(RedisLink& link, Traveller traveller, const RedisReply* reply) {
    if (is_stopped_) return true;
    if (reply == nullptr || !reply->is_error()) return traveller.replied(reply);
    const auto to = read_redirection(*reply, host_of(link));
    if (!to) return traveller.replied(reply);
    redirect(*to, std::move(traveller));
    return true;
}

void Cluster::redirect(const Redirection& to, Traveller traveller) {
    RedisLink& target = master_at(to.target);
    if (to.is_final) {
        slots_[to.slot] = &target;
        want_map();
    }
    const bool may_go = target.is_up() && traveller.redirections < kMostRedirections &&
                        Clock::now() < traveller.deadline;
    if (!may_go) {
        traveller.replied(nullptr);
        return;
    }
    if (traveller.redirections++ == 0)
        traveller.replied = until(loop_, traveller.deadline, std::move(traveller.replied));
    if (!to.is_final)
        target.send(redis_command({"ASKING"}), [](const RedisReply*) { return true; });
    send_to(target, std::move(traveller));
}

RedisLink& Cluster::master_at(const RedisAddress& address) {
    Master& master = masters_[address];
    master.wanted = Clock::now();
    if (master.link) return *master.link;
    master.link = std::make_shared<RedisLink>(
        loop_, access_, address, RedisHandshake::Plan{.marker = {}, .in_cluster = true});
    master.link->start(events_of(address));
    return *master.link;
}

RedisLink::Events Cluster::events_of(const RedisAddress& address) {
    const auto weak = weak_from_this();
    return {.up =
                [weak, address](bool remembers) {
                    const auto self = weak.lock();
                    if (self && !self->is_stopped_) self->on_master_up(address, remembers);
                },
            .down =
                [weak, address](const std::string& why) {
                    const auto self = weak.lock();
                    if (self && !self->is_stopped_) self->on_master_down(address, why);
                },
            .forgot =
                [weak] {
                    const auto self = weak.lock();
                    if (self && !self->is_stopped_) self->tell_forgot();
                },
            .marker_moved =
                [weak] {
                    const auto self = weak.lock();
                    if (self && !self->is_stopped_) self->want_map();
                }};
}

void Cluster::on_master_up(const RedisAddress& address, bool remembers) {
    Master& master = masters_[address];
    const bool took_over = std::exchange(master.is_successor, false);
    remembers = remembers && !took_over;
    if (is_back_) {
        if (!remembers) tell_forgot();
        return;
    }
    if (!serves()) return;
    is_back_ = true;
    why_.clear();
    events_.origin.back(remembers);
}

void Cluster::on_master_down(const RedisAddress& address, const std::string& why) {
    want_map();
    if (serves()) return;
    is_back_ = false;
    const std::string told = address.shown() + ": " + why;
    if (std::exchange(why_, told) != told) events_.origin.away(told);
}

void Cluster::tell_forgot() {
    if (is_back_) events_.origin.forgot();
}

bool Cluster::serves() const {
    return std::any_of(masters_.begin(), masters_.end(), [](const auto& entry) {
        return entry.second.has_slots && entry.second.link->is_up();
    });
}

void Cluster::start_scout() {
    const auto weak = weak_from_this();
    const auto up = [weak](bool) {
        const auto self = weak.lock();
        if (!self || self->is_stopped_) return;
        self->want_map();
    };
    // While masters are known, what becomes of the seed is nothing to tell.
    const auto down = [weak](const std::string& why) {
        const auto self = weak.lock();
        if (self && !self->is_stopped_ && self->masters_.empty()) self->events_.origin.away(why);
    };
    scout_->start({.up = up, .down = down, .forgot = [] {}, .marker_moved = [] {}});
}

void Cluster::want_map() {
    is_map_wanted_ = true;
    if (is_fetching_) return;
    const auto pause = fetched_ + kMapPause - Clock::now();
    fetch_map_later(std::max(pause, Clock::duration::zero()));
}

void Cluster::fetch_map_later(Clock::duration pause) {
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
    is_map_wanted_ = false;
    const auto asked = whom_to_ask();
    if (!asked) return fetch_map_later(kMapRetry);
    is_fetching_ = true;
    asked->send(redis_command({"CLUSTER", "SLOTS"}),
                [self = shared_from_this(), host = host_of(*asked)](const RedisReply* reply) {
                    return self->is_stopped_ || self->on_map(host, reply);
                });
}

// In turn, so that one master with an old map can't mislead us for long. The seed, which may have
// left the cluster, is asked only while there is no other.
std::shared_ptr<RedisLink> Cluster::whom_to_ask() {
    std::vector<std::shared_ptr<RedisLink>> able;
    for (const auto& [address, master] : masters_)
        if (master.has_slots && master.link->is_up()) able.push_back(master.link);
    if (able.empty() && scout_->is_up()) able.push_back(scout_);
    return able.empty() ? nullptr : able[turn_++ % able.size()];
}

bool Cluster::on_map(const std::string& asked_host, const RedisReply* reply) {
    is_fetching_ = false;
    const auto ranges = reply != nullptr ? read_cluster_slots(*reply, asked_host) : std::nullopt;
    const bool is_refused = reply != nullptr && reply->is_error();
    if (is_refused && reply->text.find("cluster support disabled") != std::string::npos) {
        become_useless();
        return true;
    }
    if (ranges && !ranges->empty()) {
        apply(*ranges);
    } else if (reply != nullptr && masters_.empty()) {
        const std::string why = is_refused ? "it does not show its slots; Redis says: " +
                                                 complaint(reply->text, access_->password)
                                           : "the cluster has not assigned its slots yet";
        if (std::exchange(why_, why) != why) events_.origin.away(why);
    }
    if (is_stopped_) return true;
    const bool is_whole = std::all_of(masters_.begin(), masters_.end(), [](const auto& entry) {
        return !entry.second.has_slots || entry.second.link->is_up();
    });
    const bool is_settled = is_whole && !masters_.empty();
    fetch_map_later(is_map_wanted_ ? kMapPause : is_settled ? kMapLife : kMapRetry);
    return reply == nullptr || is_refused || ranges;
}

void Cluster::become_useless() {
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

// Slots that move from one master to another take their keys along. Only where a master is gone has
// another one taken its place.
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
    if (is_one_up) tell_forgot();
}

void Cluster::choose_markers() {
    std::map<const RedisLink*, bool> is_chosen;
    for (auto& [address, master] : masters_) {
        const std::string& key = master.link->marker().key;
        is_chosen[master.link.get()] =
            !master.has_slots || (!key.empty() && slots_[cluster_slot(key)] == master.link.get());
    }
    // Each number takes the key to another slot, so that each master is met before long.
    for (std::size_t number = 0; number < 64 * kClusterSlots; ++number) {
        if (std::all_of(is_chosen.begin(), is_chosen.end(), [](auto& one) { return one.second; }))
            return;
        std::string key = marker_.key + std::to_string(number);
        RedisLink* const link = slots_[cluster_slot(key)];
        if (link == nullptr || std::exchange(is_chosen[link], true)) continue;
        link->watch({.key = std::move(key), .owner = marker_.owner});
    }
}

// Commands may still be outstanding there, and their answers may lead to anything.
void Cluster::retire_masters() {
    const auto now = Clock::now();
    std::vector<std::shared_ptr<RedisLink>> retired;
    std::erase_if(masters_, [&](const auto& entry) {
        const Master& master = entry.second;
        const bool is_kept = master.has_slots || now < master.wanted + kWantedLife;
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
