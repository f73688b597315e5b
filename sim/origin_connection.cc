#include "sim/origin_connection.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "regional/origin.h"

namespace sluice::sim {
namespace {

// A spend that arrives later has no effect; see RedisOrigin::spend_expires().
constexpr Moment kSpendExpires = kOriginTimeout + std::chrono::milliseconds{1'000};

}  // namespace

OriginConnection::OriginConnection(World& world, Place place, ProcessState& process, Audit& audit)
    : world_(world), place_(place), process_(process), audit_(audit) {}

void OriginConnection::start(OriginEvents events) {
    events_ = std::move(events);
    losses_seen_ = server().losses;
    // Connects after a round trip, or as soon as the server is up.
    world_.scheduler.after(2 * world_.message_delay(),
                           [this] { process_.run(world_.scheduler, [this] { connect(); }); });
}

void OriginConnection::connect() {
    if (is_connected_ || !process_.is_alive) return;
    if (server().is_down || is_cut) {
        const Moment later = std::chrono::milliseconds{world_.random.between(100, 300)};
        return world_.scheduler.after(
            later, [this] { process_.run(world_.scheduler, [this] { connect(); }); });
    }
    is_connected_ = true;
    const bool is_intact = std::exchange(losses_seen_, server().losses) == server().losses;
    world_.note(TraceKind::kConnected, place_.serial, is_intact ? 1 : 0);
    events_.available(is_intact);
}

void OriginConnection::disconnect(const std::string& why) {
    if (!is_connected_ || !process_.is_alive) return;
    is_connected_ = false;
    world_.note(TraceKind::kDisconnected, place_.serial);
    for (std::size_t i = 0; i < calls_.size(); ++i)
        end(calls_[i].id, nullptr);
    erase_finished();
    events_.unavailable(why);
    connect();
}

void OriginConnection::lose_data() {
    if (!is_connected_ || !process_.is_alive || losses_seen_ == server().losses) return;
    losses_seen_ = server().losses;
    world_.note(TraceKind::kDataLost, place_.serial);
    events_.data_lost();
}

void OriginConnection::sever() {
    is_connected_ = false;
    for (Call& call : calls_) {
        call.is_open = false;
        call.unanswered = nullptr;
    }
    events_ = {};
}

void OriginConnection::sync(std::vector<KeyComponents> keys, Synced synced) {
    world_.note(TraceKind::kSynced, place_.serial, keys.size());
    for (const KeyComponents& key : keys)
        audit_.sending(key);
    const auto sent = std::make_shared<const std::vector<KeyComponents>>(std::move(keys));
    const auto answered = std::make_shared<const Synced>(std::move(synced));
    const auto execute = [this, sent, answered]() -> Deliver {
        const auto writes = [this](const KeyComponents& key) { return would_write(key); };
        if (server().refuses_writes && std::ranges::any_of(*sent, writes)) return nullptr;
        std::vector<KeyAnswer> answers;
        for (const KeyComponents& key : *sent) {
            answers.emplace_back(server().sync(place_.serial, key));
            audit_.at_origin(key, *answers.back());
        }
        return [this, sent, answered, answers, at = world_.true_ms()] {
            for (std::size_t i = 0; i < sent->size(); ++i)
                audit_.synced((*sent)[i], *answers[i], at, world_.true_ms());
            (*answered)(answers);
        };
    };
    send({.kind = Kind::kSync,
          .keys = sent->size(),
          .execute = execute,
          .unanswered = [answered, sent] { (*answered)(std::vector<KeyAnswer>(sent->size())); }});
}

void OriginConnection::spend(std::vector<KeySpend> keys, Spent spent) {
    world_.note(TraceKind::kSpent, place_.serial, keys.size());
    for (const KeySpend& key : keys)
        audit_.sending(key);
    const auto sent = std::make_shared<const std::vector<KeySpend>>(std::move(keys));
    const auto answered = std::make_shared<const Spent>(std::move(spent));
    const auto execute = [this, sent, answered]() -> Deliver {
        const auto writes = [this](const KeySpend& key) { return would_write(key); };
        if (server().refuses_writes && std::ranges::any_of(*sent, writes)) return nullptr;
        std::vector<SpendAnswer> answers;
        for (const KeySpend& key : *sent) {
            const KeyTotals before = server().lift(place_.serial, key.components);
            answers.emplace_back(server().spend(place_.serial, key));
            audit_.check_grants(key, before, *answers.back());
            audit_.at_origin(key.components, answers.back()->totals);
        }
        return [this, sent, answered, answers, at = world_.true_ms()] {
            for (std::size_t i = 0; i < sent->size(); ++i)
                audit_.spent((*sent)[i], *answers[i], at, world_.true_ms());
            (*answered)(answers);
        };
    };
    send({.kind = Kind::kSpend,
          .keys = sent->size(),
          .execute = execute,
          .unanswered = [answered, sent] { (*answered)(std::vector<SpendAnswer>(sent->size())); }});
}

void OriginConnection::heartbeat(HeartbeatDone beaten) {
    const auto answered = std::make_shared<const HeartbeatDone>(std::move(beaten));
    const auto execute = [this, answered, sent = world_.true_time()]() -> Deliver {
        if (server().refuses_writes) return nullptr;
        const Heartbeat answer = server().beat(place_.serial);
        return [this, answered, answer, sent] {
            world_.note(TraceKind::kCounted, place_.serial, answer.nodes, answer.has_joined);
            audit_.counted_nodes(
                {.has_joined = answer.has_joined, .sent = sent, .answered = world_.true_time()});
            (*answered)(answer);
        };
    };
    send({.kind = Kind::kHeartbeat, .keys = 0, .execute = execute, .unanswered = [answered] {
              (*answered)(std::nullopt);
          }});
}

void OriginConnection::list(std::vector<CellName> cells, Listed listed) {
    listed(std::vector<std::optional<CellListing>>(cells.size()));
}

std::string OriginConnection::node() const {
    return "node-" + std::to_string(place_.serial);
}

bool OriginConnection::would_write(const KeyComponents& key) {
    const KeyTotals held = server().read(place_.serial, key);
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (key.own[i] > held[i].own) return true;
        if (saturating_add(key.own[i], key.peers[i]) > held[i].spent()) return true;
    }
    return false;
}

bool OriginConnection::would_write(const KeySpend& key) {
    if (would_write(key.components)) return true;
    const KeyTotals held = server().read(place_.serial, key.components);
    return decide_at_origin(key, held).totals[0].own > held[0].own;
}

OriginConnection::Call* OriginConnection::find(std::uint64_t id) {
    if (calls_.empty() || id < calls_.front().id) return nullptr;
    const std::uint64_t place = id - calls_.front().id;
    return place < calls_.size() ? &calls_[place] : nullptr;
}

void OriginConnection::send(Call call) {
    if (!is_connected_) return call.unanswered();
    if (call.kind != Kind::kHeartbeat) ++sent_;
    const std::uint64_t id = ++last_id_;
    call.id = id;
    call.sent = world_.scheduler.now();
    calls_.push_back(std::move(call));
    transmit(id);
    if (world_.random.permille(world_.network.duplicate)) transmit(id);
    world_.scheduler.after_timeout([this, id] {
        process_.run(world_.scheduler, [this, id] {
            end(id, nullptr);
            erase_finished();
        });
    });
}

void OriginConnection::transmit(std::uint64_t id) {
    if (is_cut || world_.random.permille(world_.network.loss)) return;
    ++find(id)->in_flight;
    world_.scheduler.after(world_.message_delay(), [this, id] { arrive(id); });
}

void OriginConnection::arrive(std::uint64_t id) {
    if (server().slowness == Moment{0}) return serve(id);
    world_.scheduler.after(server().slowness, [this, id] { serve(id); });
}

void OriginConnection::serve(std::uint64_t id) {
    Call& call = *find(id);
    const bool is_late =
        call.kind == Kind::kSpend && world_.scheduler.now() > call.sent + kSpendExpires;
    if (server().is_down || is_cut || is_late) {
        --call.in_flight;
        return erase_finished();
    }
    const Deliver deliver = call.execute();
    if (world_.random.permille(world_.network.loss)) {
        --call.in_flight;
        return erase_finished();
    }
    world_.scheduler.after(world_.message_delay(),
                           [this, id, deliver] { reply_arrived(id, deliver); });
}

void OriginConnection::reply_arrived(std::uint64_t id, const Deliver& deliver) {
    --find(id)->in_flight;
    process_.run(world_.scheduler, [this, id, deliver] {
        if (!is_cut) deliver ? end(id, deliver) : refuse(id);
        erase_finished();
    });
}

// Completes a call. A null `deliver` means that it was not answered.
void OriginConnection::end(std::uint64_t id, const Deliver& deliver) {
    Call* const call = find(id);
    if (call == nullptr || !call->is_open || !process_.is_alive) return;
    call->is_open = false;
    world_.note(deliver ? TraceKind::kAnswered : TraceKind::kUnanswered, place_.serial, call->keys);
    const Deliver act = deliver ? deliver : std::exchange(call->unanswered, nullptr);
    act();
}

void OriginConnection::refuse(std::uint64_t id) {
    const Call* const call = find(id);
    if (call == nullptr || !call->is_open || !process_.is_alive) return;
    world_.note(TraceKind::kRefused, place_.serial);
    events_.write_refused("OOM command not allowed");
    end(id, nullptr);
}

// Erases completed calls without messages in flight.
void OriginConnection::erase_finished() {
    while (!calls_.empty() && !calls_.front().is_open && calls_.front().in_flight == 0)
        calls_.pop_front();
}

}  // namespace sluice::sim
