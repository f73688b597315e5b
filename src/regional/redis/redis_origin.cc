#include "regional/redis/redis_origin.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/sha256.h"
#include "regional/redis/answer_batch.h"
#include "regional/redis/cluster.h"
#include "regional/redis/origin_commands.h"
#include "regional/redis/redis_keys.h"
#include "regional/redis/redis_protocol.h"
#include "regional/redis/redis_route.h"
#include "regional/redis/redis_scripts.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// More than the clocks of this node and of the server can drift apart between two heartbeats.
constexpr std::chrono::milliseconds kClockError{1'000};

std::chrono::milliseconds steady_time() {
    return std::chrono::floor<std::chrono::milliseconds>(Clock::now().time_since_epoch());
}

// No more different refusals than these are reported between two heartbeats that succeed.
constexpr std::size_t kMaxRefusals = 16;

using TotalsBatch = AnswerBatch<KeyAnswer>;
using SpendBatch = AnswerBatch<SpendAnswer>;
using ListingBatch = AnswerBatch<std::optional<CellListing>>;

// A heartbeat that is under way: the node set, and a marker on each server.
struct HeartbeatRound {
    HeartbeatAnswer answer;
    std::set<std::string> refusals;
    std::size_t missing;
    Origin::HeartbeatDone done;
};

// Owned by the thread of its io_context. Callbacks may come after it was destroyed, or destroy it.
class RedisOrigin : public Origin {
  public:
    RedisOrigin(boost::asio::io_context& loop,
                std::shared_ptr<const RedisAccess> access,
                RedisOptions options)
        : loop_(loop), access_(std::move(access)), options_(std::move(options)) {}
    ~RedisOrigin() override {
        if (route_) route_->stop();
    }
    RedisOrigin(const RedisOrigin&) = delete;
    RedisOrigin& operator=(const RedisOrigin&) = delete;

    void start(OriginEvents events) override;
    void sync(std::vector<KeyComponents> keys, Synced synced) override;
    void spend(std::vector<KeySpend> keys, Spent spent) override;
    bool is_sharded() const override { return route_ && route_->is_sharded(); }
    void heartbeat(HeartbeatDone done) override;
    void list(std::vector<CellName> cells, Listed listed) override;
    void leave_note(std::string note, NotesRead read) override;
    std::string node() const override { return options_.node; }

  private:
    enum class Kind { kSingle, kCluster };

    void open_route(Kind kind);
    Locate locate() const;
    void on_available(bool is_intact);
    void on_unavailable(const std::string& why);

    bool put_totals(TotalsBatch& batch, const KeyGroup& group, const RedisReply* reply);
    // A key of a call to spend().
    struct SpentKey {
        std::size_t index;
        std::string name;
        std::size_t requests;
    };
    bool put_grants(SpendBatch& batch, const SpentKey& key, const RedisReply* reply);
    std::chrono::milliseconds spend_expires() const;
    std::string shown_key_error(std::string_view cell, std::string_view error) const;
    void check_markers();
    void list_cell(const std::string& key,
                   const std::shared_ptr<ListingBatch>& batch,
                   std::size_t index);

    void send_heartbeat(const std::shared_ptr<HeartbeatRound>& round);
    bool on_heartbeat(HeartbeatRound& round,
                      const RedisReply* reply,
                      Clock::time_point sent,
                      UnixTime sent_at);
    void finish_part(HeartbeatRound& round);

    void report_if_refused(const RedisReply& reply);
    void report_refusal(const std::string& why);

    // Makes a callback of a function that uses this origin: it does nothing, and accepts any reply,
    // once the origin is destroyed.
    template <class Function>
    auto guarded(Function function) {
        return [weak = std::weak_ptr(alive_),
                function = std::move(function)](auto&&... arguments) mutable {
            using Returned = decltype(function(arguments...));
            if constexpr (std::is_void_v<Returned>) {
                if (!weak.expired()) function(arguments...);
            } else {
                return weak.expired() || function(arguments...);
            }
        };
    }

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const RedisOptions options_;
    OriginEvents events_;
    std::shared_ptr<RedisRoute> route_;
    std::set<std::string> refusals_;  // reported since the last heartbeat that succeeded
    Clock::time_point last_heartbeat_{};
    // The server's time, less that of this process's steady clock, by the last heartbeat.
    std::optional<std::chrono::milliseconds> server_clock_;
    bool is_checking_markers_ = false;
    bool is_up_ = false;
    bool was_up_ = false;
    bool is_switched_ = false;  // it was up as another kind of Redis
    const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

void RedisOrigin::start(OriginEvents events) {
    events_ = std::move(events);
    open_route(Kind::kSingle);
}

Locate RedisOrigin::locate() const {
    const RedisUrl& url = options_.url;
    if (!url.sentinel_master.empty())
        return locate_by_sentinels(loop_, access_, {url.servers, url.sentinel_master});
    return [servers = url.servers](const std::function<void(Location)>& located) {
        located({.addresses = servers});
    };
}

void RedisOrigin::open_route(Kind kind) {
    const RedisUrl& url = options_.url;
    const auto marker = [region = options_.region, node = options_.node](std::size_t number) {
        return marker_key(region, node, number);
    };
    if (kind == Kind::kSingle) {
        const ExpectedServer expected = !url.sentinel_master.empty()
                                            ? ExpectedServer::kSentinelMaster
                                        : url.servers.size() > 1 ? ExpectedServer::kClusterSeed
                                                                 : ExpectedServer::kAny;
        const HandshakePlan plan{.expected = expected, .marker = marker(0)};
        route_ = std::make_shared<SingleServer>(loop_, access_, locate(), plan);
    } else {
        route_ = std::make_shared<Cluster>(loop_, access_, locate(), marker);
    }
    const Kind other = kind == Kind::kSingle ? Kind::kCluster : Kind::kSingle;
    route_->start(
        {.origin = {.available = guarded([this](bool is_intact) { on_available(is_intact); }),
                    .unavailable = guarded([this](const std::string& why) { on_unavailable(why); }),
                    .data_lost = guarded([this] { events_.data_lost(); }),
                    .write_refused =
                        guarded([this](const std::string& why) { report_refusal(why); })},
         .other_kind = guarded([this, other] {
             const auto old = route_;
             is_switched_ = was_up_;
             old->stop();
             open_route(other);
         })});
}

void RedisOrigin::on_available(bool is_intact) {
    is_up_ = was_up_ = true;
    events_.available(is_intact && !std::exchange(is_switched_, false));
}

void RedisOrigin::on_unavailable(const std::string& why) {
    is_up_ = false;
    refusals_.clear();
    events_.unavailable(options_.url.shown() + ": " + why);
}

void RedisOrigin::sync(std::vector<KeyComponents> keys, Synced synced) {
    if (keys.empty() || !is_up_) return synced(std::vector<KeyAnswer>(keys.size()));
    const auto batch = std::make_shared<TotalsBatch>(keys.size(), std::move(synced));
    const auto route = route_;
    const std::weak_ptr alive = alive_;
    const KeyPlacement placement =
        route->is_sharded() ? KeyPlacement::kBySlot : KeyPlacement::kOneServer;
    for (KeyGroup& group : group_keys(options_.region, keys, placement)) {
        if (alive.expired()) return;
        const std::string key = group.keys.front().keys.front();
        std::string command = sync_command(options_.node, group.keys);
        route->send(key,
                    std::move(command),
                    guarded([this, batch, group = std::move(group)](const RedisReply* reply) {
                        return put_totals(*batch, group, reply);
                    }));
    }
}

bool RedisOrigin::put_totals(TotalsBatch& batch, const KeyGroup& group, const RedisReply* reply) {
    const std::weak_ptr alive = alive_;
    std::optional<SyncReply> read;
    if (reply != nullptr && reply->is_error()) {
        report_if_refused(*reply);
    } else if (reply != nullptr) {
        read = read_totals(*reply, group.cells);
    }
    for (std::size_t i = 0; read && i < group.cells.size(); ++i) {
        KeyAnswer& answer = read->answers[i];
        if (!answer.key_error.empty())
            answer.key_error = shown_key_error(group.keys[i].keys[0], answer.key_error);
        batch.answers[group.cells[i].index] = std::move(answer);
    }
    const bool is_understood = reply == nullptr || reply->is_error() || read.has_value();
    if (read && read->has_lost && !alive.expired()) check_markers();
    if (!alive.expired()) batch.count_down(group.cells.size());
    return is_understood;
}

// Until when callers wait for a spend that is sent now, by the server's clock. Generously: that
// clock is estimated, and those of the servers of a Cluster may differ.
std::chrono::milliseconds RedisOrigin::spend_expires() const {
    if (!server_clock_) return kNeverExpires;
    return steady_time() + *server_clock_ + options_.timeout + kClockError;
}

void RedisOrigin::spend(std::vector<KeySpend> keys, Spent spent) {
    if (keys.empty() || !is_up_) return spent(std::vector<SpendAnswer>(keys.size()));
    const auto batch = std::make_shared<SpendBatch>(keys.size(), std::move(spent));
    const auto route = route_;
    const std::weak_ptr alive = alive_;
    const auto expires = spend_expires();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (alive.expired()) return;
        const CellKeys names = cell_keys(options_.region, keys[i].components.current);
        SpentKey key{.index = i, .name = names[0], .requests = keys[i].requests.size()};
        route->send(names[0],
                    spend_command(options_.node, names, keys[i], expires),
                    guarded([this, batch, key = std::move(key)](const RedisReply* reply) {
                        return put_grants(*batch, key, reply);
                    }));
    }
}

bool RedisOrigin::put_grants(SpendBatch& batch, const SpentKey& key, const RedisReply* reply) {
    const std::weak_ptr alive = alive_;
    SpendAnswer& answer = batch.answers[key.index];
    bool has_lost = false;
    if (reply != nullptr && reply->is_error()) {
        if (is_key_error(reply->text)) answer.key_error = shown_key_error(key.name, reply->text);
        report_if_refused(*reply);
    } else if (reply != nullptr) {
        if (auto read = read_grants(*reply, key.requests)) {
            has_lost = read->has_lost;
            answer = std::move(read->grants);
        }
    }
    const bool is_understood = reply == nullptr || reply->is_error() || answer.has_value();
    if (has_lost && !alive.expired()) check_markers();
    if (!alive.expired()) batch.count_down(1);
    return is_understood;
}

// The name of a cell holds the texts of its key, so the log shows a digest of it: the first half of
// what `printf %s NAME | sha256sum` prints.
std::string RedisOrigin::shown_key_error(std::string_view cell, std::string_view error) const {
    return "the cell with the digest " + to_hex(sha256_of(cell)).substr(0, 32) +
           " can't be used; Redis says: " + shown_error(error, options_.url.password);
}

// A server that lacks counts has lost data, or has expired or evicted a cell. Its marker tells.
void RedisOrigin::check_markers() {
    if (std::exchange(is_checking_markers_, true)) return;
    for (const auto& link : route_->links())
        link->write_marker(guarded([this](const std::string&) { is_checking_markers_ = false; }));
}

void RedisOrigin::heartbeat(HeartbeatDone done) {
    if (!is_up_) return done(std::nullopt);
    const auto links = route_->links();
    const auto round = std::make_shared<HeartbeatRound>(HeartbeatRound{
        .answer = {}, .refusals = {}, .missing = 1 + links.size(), .done = std::move(done)});
    const std::weak_ptr alive = alive_;
    send_heartbeat(round);
    for (const auto& link : links) {
        if (alive.expired()) return;
        link->write_marker(guarded([this, round](const std::string& refusal) {
            if (!refusal.empty()) round->refusals.insert(refusal);
            finish_part(*round);
        }));
    }
}

void RedisOrigin::send_heartbeat(const std::shared_ptr<HeartbeatRound>& round) {
    const std::string nodes = node_set_key(options_.region);
    const auto sent = Clock::now();
    const UnixTime sent_at = exact_wall_time();
    route_->send(nodes,
                 heartbeat_command(nodes, options_.node),
                 guarded([this, round, sent, sent_at](const RedisReply* reply) {
                     return on_heartbeat(*round, reply, sent, sent_at);
                 }));
}

// The reply that said that this node was absent may have been lost, so the first one that arrives
// counts as joining, and so does the first one after kNodeLifetime.
bool RedisOrigin::on_heartbeat(HeartbeatRound& round,
                               const RedisReply* reply,
                               Clock::time_point sent,
                               UnixTime sent_at) {
    const auto now = Clock::now();
    if (reply != nullptr && reply->is_error() && is_refused_write(reply->text))
        round.refusals.insert(shown_error(reply->text, options_.url.password));
    const auto read = reply != nullptr ? read_heartbeat(*reply) : std::nullopt;
    if (read) {
        const bool is_first =
            last_heartbeat_ == Clock::time_point{} || now - last_heartbeat_ > kNodeLifetime;
        const auto half = std::chrono::duration_cast<Duration>((now - sent) / 2);
        last_heartbeat_ = now;
        server_clock_ = read->time - (steady_time() - half);
        round.answer = Heartbeat{.nodes = read->nodes,
                                 .has_joined = read->was_absent || is_first,
                                 .clock_offset = read->time - (sent_at.time_since_epoch() + half)};
    }
    const bool is_understood = reply == nullptr || reply->is_error() || read.has_value();
    finish_part(round);
    return is_understood;
}

void RedisOrigin::finish_part(HeartbeatRound& round) {
    if (--round.missing > 0) return;
    const std::weak_ptr alive = alive_;
    if (!round.refusals.empty()) {
        round.answer.reset();
        for (const std::string& refusal : round.refusals)
            if (!alive.expired()) report_refusal(refusal);
    } else if (round.answer) {
        refusals_.clear();
    }
    if (!alive.expired()) round.done(round.answer);
}

void RedisOrigin::list(std::vector<CellName> cells, Listed listed) {
    if (cells.empty() || !is_up_)
        return listed(std::vector<std::optional<CellListing>>(cells.size()));
    const auto batch = std::make_shared<ListingBatch>(cells.size(), std::move(listed));
    const std::weak_ptr alive = alive_;
    for (std::size_t i = 0; i < cells.size() && !alive.expired(); ++i)
        list_cell(cell_key(options_.region, cells[i]), batch, i);
}

// A note that is refused says nothing about counts, and the heartbeat reports refusals.
void RedisOrigin::leave_note(std::string note, NotesRead read) {
    if (!is_up_) {
        if (read) read(std::nullopt);
        return;
    }
    const std::string notes = notes_key(options_.region);
    const bool reads = static_cast<bool>(read);
    route_->send(notes,
                 note_command(notes, {.node = options_.node, .text = note, .reads = reads}),
                 guarded([read = std::move(read)](const RedisReply* reply) {
                     if (!read) return true;
                     if (reply == nullptr || reply->is_error()) {
                         read(std::nullopt);
                         return true;
                     }
                     auto notes_read = read_notes(*reply);
                     const bool is_understood = notes_read.has_value();
                     read(std::move(notes_read));
                     return is_understood;
                 }));
}

// Two commands, which are answered one after the other.
void RedisOrigin::list_cell(const std::string& key,
                            const std::shared_ptr<ListingBatch>& batch,
                            std::size_t index) {
    const auto listing = std::make_shared<std::optional<CellListing>>();
    const auto route = route_;
    route->send(key, redis_command({"HGETALL", key}), [listing](const RedisReply* reply) {
        if (reply == nullptr) return true;
        *listing = read_listing(*reply);
        return reply->is_error() || reply->type == RedisReply::Type::kArray;
    });
    route->send(key,
                redis_command({"PTTL", key}),
                guarded([listing, batch, index](const RedisReply* reply) {
                    const bool is_answer =
                        reply != nullptr && reply->type == RedisReply::Type::kInteger;
                    if (is_answer && listing->has_value()) {
                        (*listing)->lifetime = Duration(std::max<std::int64_t>(reply->integer, 0));
                        batch->answers[index] = std::move(*listing);
                    }
                    const bool is_understood = reply == nullptr || reply->is_error() || is_answer;
                    batch->count_down(1);
                    return is_understood;
                }));
}

void RedisOrigin::report_if_refused(const RedisReply& reply) {
    if (is_refused_write(reply.text) && !is_key_error(reply.text))
        report_refusal(shown_error(reply.text, options_.url.password));
}

void RedisOrigin::report_refusal(const std::string& why) {
    if (refusals_.size() >= kMaxRefusals || !refusals_.insert(why).second) return;
    events_.write_refused(options_.url.shown() + ": Redis says: " + why);
}

Error invalid(const std::string& what) {
    return {kInvalidOption, what};
}

}  // namespace

Result<std::unique_ptr<Origin>> open_redis_origin(boost::asio::io_context& loop,
                                                  RedisOptions options) {
    const bool is_field = options.node == kTotalField || options.node == kLostField;
    if (options.node.empty() || is_field || options.node.find('.') != std::string::npos)
        return invalid("the node's name in Redis is \"" + options.node +
                       "\"; allowed is any text without a dot, except \"total\" and \"lost\"");
    if (options.timeout <= std::chrono::milliseconds::zero())
        return invalid("the timeout of Redis is " + std::to_string(options.timeout.count()) +
                       " ms; allowed is 1 ms and more");
    if (options.url.servers.empty()) return invalid("the Redis URL names no server");
    const auto access = std::make_shared<RedisAccess>();
    if (options.url.tls) {
        auto tls = redis_tls_context(options.tls);
        if (!tls) return std::move(tls).error();
        access->tls = *std::move(tls);
    }
    access->user = options.url.user;
    access->password = options.url.password;
    access->database = options.url.database;
    access->timeout = options.timeout;
    return std::unique_ptr<Origin>(std::make_unique<RedisOrigin>(loop, access, std::move(options)));
}

}  // namespace sluice
