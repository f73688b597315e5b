#include "regional/redis/redis_origin.h"

#include <algorithm>
#include <utility>

#include "regional/redis/cell_key.h"
#include "regional/redis/cell_reply.h"
#include "regional/redis/cluster.h"
#include "regional/redis/complaint.h"
#include "regional/redis/late_reply.h"
#include "regional/redis/raise_script.h"
#include "regional/redis/redis_command.h"
#include "regional/redis/redis_route.h"
#include "regional/redis/single_server.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// The cells of one call. Its answer goes out with the last of them.
template <class Answer>
struct Batch {
    Batch(std::size_t size, std::function<void(std::vector<Answer>)> done)
        : answers(size), missing(size), answered(std::move(done)) {}

    void put(std::size_t index, Answer answer) {
        answers[index] = std::move(answer);
        if (--missing == 0) answered(std::move(answers));
    }

    std::vector<Answer> answers;
    std::size_t missing;
    std::function<void(std::vector<Answer>)> answered;
};

using TotalsBatch = Batch<CellAnswer>;
struct RaiseBatch : TotalsBatch {
    RaiseBatch(std::vector<CellComponent> all, Clock::time_point until, Origin::Answered done)
        : TotalsBatch(all.size(), std::move(done)), components(std::move(all)), deadline(until) {}

    const std::vector<CellComponent> components;
    const Clock::time_point deadline;
};
using ListingBatch = Batch<std::optional<CellListing>>;

// Shared, since replies may come when the origin is gone already.
class Desk : public std::enable_shared_from_this<Desk> {
  public:
    Desk(boost::asio::io_context& loop,
         std::shared_ptr<const RedisAccess> access,
         RedisOptions options)
        : loop_(loop), access_(std::move(access)), options_(std::move(options)) {}

    void start(OriginEvents events);
    void stop();
    void read(const std::vector<CellQuestion>& cells, Origin::Answered answered);
    void raise(std::vector<CellComponent> components, Origin::Answered answered);
    void list(const std::vector<CellName>& cells, Origin::Listed listed);
    const std::string& node() const { return options_.node; }

  private:
    enum class Kind { kSingle, kCluster };

    void open_route(Kind kind);
    void tell_back(bool remembers);
    void tell_away(const std::string& why);
    enum class Form { kByName, kInFull };
    void ask(const CellName& cell,
             Incarnation incarnation,
             const std::shared_ptr<TotalsBatch>& batch,
             std::size_t index);
    void send_raise(const std::shared_ptr<RaiseBatch>& batch, std::size_t index, Form form);
    void list_one(const std::string& key,
                  const std::shared_ptr<ListingBatch>& batch,
                  std::size_t index);
    template <class Read>
    bool put_totals(TotalsBatch& batch,
                    std::size_t index,
                    const RedisReply* reply,
                    Read understand);
    void on_refused(const RedisReply& reply);

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const RedisOptions options_;
    OriginEvents events_;
    std::shared_ptr<RedisRoute> route_;
    std::string refusal_;  // the last one that was told
    bool is_up_ = false;
    bool was_up_ = false;
    bool is_switched_ = false;  // it was up through another route than this one
    bool is_stopped_ = false;
};

void Desk::start(OriginEvents events) {
    events_ = std::move(events);
    open_route(Kind::kSingle);
}

void Desk::stop() {
    is_stopped_ = true;
    if (route_) route_->stop();
}

void Desk::open_route(Kind kind) {
    const RedisUrl& url = options_.url;
    RedisAddress address{.host = url.host, .port = url.port, .socket_path = url.socket_path};
    Marker marker{.key = marker_key(options_.region, options_.node), .owner = options_.node};
    if (kind == Kind::kSingle) {
        route_ =
            std::make_shared<SingleServer>(loop_, access_, std::move(address), std::move(marker));
    } else {
        route_ = std::make_shared<Cluster>(loop_, access_, std::move(address), std::move(marker));
    }
    const auto tell = [weak = weak_from_this()](auto what) {
        return [weak, what](auto&&... details) {
            const auto self = weak.lock();
            if (self && !self->is_stopped_) what(*self, details...);
        };
    };
    const Kind other = kind == Kind::kSingle ? Kind::kCluster : Kind::kSingle;
    route_->start(
        {.origin = {.back = tell([](Desk& desk, bool remembers) { desk.tell_back(remembers); }),
                    .away = tell([](Desk& desk, const std::string& why) { desk.tell_away(why); }),
                    .forgot = tell([](Desk& desk) { desk.events_.forgot(); })},
         .other_kind = tell([other](Desk& desk) {
             const auto old = desk.route_;
             desk.is_switched_ = desk.was_up_;
             old->stop();
             desk.open_route(other);
         })});
}

void Desk::tell_back(bool remembers) {
    is_up_ = was_up_ = true;
    refusal_.clear();
    events_.back(remembers && !std::exchange(is_switched_, false));
}

void Desk::tell_away(const std::string& why) {
    is_up_ = false;
    events_.away(options_.url.shown() + ": " + why);
}

void Desk::read(const std::vector<CellQuestion>& cells, Origin::Answered answered) {
    if (cells.empty() || !is_up_) return answered(std::vector<CellAnswer>(cells.size()));
    const auto batch = std::make_shared<TotalsBatch>(cells.size(), std::move(answered));
    for (std::size_t i = 0; i < cells.size(); ++i)
        ask(cells[i].cell, cells[i].incarnation, batch, i);
}

void Desk::ask(const CellName& cell,
               Incarnation incarnation,
               const std::shared_ptr<TotalsBatch>& batch,
               std::size_t index) {
    const std::string key = cell_key(options_.region, cell);
    const std::string owner = owner_name(options_.node, incarnation);
    route_->send(key,
                 redis_command({"HMGET", key, kTotalField, owner}),
                 [self = shared_from_this(), batch, index](const RedisReply* reply) {
                     return self->put_totals(*batch, index, reply, read_totals);
                 });
}

void Desk::raise(std::vector<CellComponent> components, Origin::Answered answered) {
    if (components.empty() || !is_up_) return answered(std::vector<CellAnswer>(components.size()));
    const auto batch = std::make_shared<RaiseBatch>(
        std::move(components), Clock::now() + options_.timeout, std::move(answered));
    for (std::size_t i = 0; i < batch->components.size(); ++i) {
        const CellComponent& component = batch->components[i];
        // Where there is much to hear of, a plain command costs Redis a quarter of the script.
        if (component.own == 0 && component.has_lifetime) {
            ask(component.cell, component.incarnation, batch, i);
        } else {
            send_raise(batch, i, Form::kByName);
        }
    }
}

// A server that has lost the script is given it again with the first component that it refuses for
// that.
void Desk::send_raise(const std::shared_ptr<RaiseBatch>& batch, std::size_t index, Form form) {
    const CellComponent& component = batch->components[index];
    const std::string key = cell_key(options_.region, component.cell);
    const std::string owner = owner_name(options_.node, component.incarnation);
    const std::string own = std::to_string(component.own);
    const std::string lifetime = std::to_string(component.lifetime.count());
    const Raise raise{.key = key,
                      .owner = owner,
                      .own = own,
                      .lifetime = lifetime,
                      .has_lifetime = component.has_lifetime};
    auto raised = [self = shared_from_this(), batch, index, form](const RedisReply* reply) {
        if (form == Form::kByName && reply != nullptr && reply->is_error("NOSCRIPT")) {
            if (!self->is_stopped_) self->send_raise(batch, index, Form::kInFull);
            return true;
        }
        const Count told = batch->components[index].own;
        return self->put_totals(*batch, index, reply, [told](const RedisReply& said) {
            return read_raised(said, told);
        });
    };
    if (form == Form::kByName) return route_->send(key, raise_command(raise), std::move(raised));
    route_->send(
        key, raise_in_full_command(raise), until(loop_, batch->deadline, std::move(raised)));
}

void Desk::list(const std::vector<CellName>& cells, Origin::Listed listed) {
    if (cells.empty() || !is_up_)
        return listed(std::vector<std::optional<CellListing>>(cells.size()));
    const auto batch = std::make_shared<ListingBatch>(cells.size(), std::move(listed));
    for (std::size_t i = 0; i < cells.size(); ++i)
        list_one(cell_key(options_.region, cells[i]), batch, i);
}

// Two commands, answered one after the other.
void Desk::list_one(const std::string& key,
                    const std::shared_ptr<ListingBatch>& batch,
                    std::size_t index) {
    const auto listing = std::make_shared<std::optional<CellListing>>();
    route_->send(key,
                 redis_command({"HGETALL", key}),
                 [self = shared_from_this(), listing](const RedisReply* reply) {
                     if (reply == nullptr) return true;
                     if (reply->is_error()) self->on_refused(*reply);
                     *listing = read_fields(*reply);
                     return reply->is_error() || reply->type == RedisReply::Type::kArray;
                 });
    route_->send(key,
                 redis_command({"PTTL", key}),
                 [self = shared_from_this(), listing, batch, index](const RedisReply* reply) {
                     const bool is_answer =
                         reply != nullptr && reply->type == RedisReply::Type::kInteger;
                     const bool is_whole = is_answer && listing->has_value();
                     if (is_whole)
                         (*listing)->lifetime = Duration(std::max<std::int64_t>(reply->integer, 0));
                     if (!self->is_stopped_)
                         batch->put(index, is_whole ? std::move(*listing) : std::nullopt);
                     return reply == nullptr || reply->is_error() || is_answer;
                 });
}

template <class Read>
bool Desk::put_totals(TotalsBatch& batch,
                      std::size_t index,
                      const RedisReply* reply,
                      Read understand) {
    if (is_stopped_) return true;
    if (reply != nullptr && reply->is_error()) on_refused(*reply);
    if (is_stopped_) return true;
    CellAnswer answer = reply == nullptr ? std::nullopt : understand(*reply);
    const bool is_understood =
        reply == nullptr || reply->is_error() || reply->is_array(2) || answer.has_value();
    batch.put(index, std::move(answer));
    return is_understood;
}

void Desk::on_refused(const RedisReply& reply) {
    std::string said = complaint(reply.text, options_.url.password);
    if (is_stopped_ || said == refusal_) return;
    refusal_ = std::move(said);
    if (options_.refused) options_.refused(options_.url.shown() + ": Redis says: " + refusal_);
}

class RedisOrigin : public Origin {
  public:
    explicit RedisOrigin(std::shared_ptr<Desk> desk) : desk_(std::move(desk)) {}
    ~RedisOrigin() override { desk_->stop(); }
    RedisOrigin(const RedisOrigin&) = delete;
    RedisOrigin& operator=(const RedisOrigin&) = delete;

    void start(OriginEvents events) override { desk_->start(std::move(events)); }
    void read(std::vector<CellQuestion> cells, Answered answered) override {
        const auto desk = desk_;
        desk->read(cells, std::move(answered));
    }
    void raise(std::vector<CellComponent> components, Answered answered) override {
        const auto desk = desk_;
        desk->raise(std::move(components), std::move(answered));
    }
    void list(std::vector<CellName> cells, Listed listed) override {
        const auto desk = desk_;
        desk->list(cells, std::move(listed));
    }
    std::string node() const override { return desk_->node(); }

  private:
    const std::shared_ptr<Desk> desk_;
};

}  // namespace

Result<std::unique_ptr<Origin>> open_redis_origin(boost::asio::io_context& loop,
                                                  RedisOptions options) {
    if (options.node.empty() || options.node == kTotalField)
        return Error{kInvalidOption,
                     "the node's identity in Redis is \"" + options.node +
                         "\"; allowed is any text but that and \"" + std::string(kTotalField) +
                         "\""};
    if (options.timeout <= std::chrono::milliseconds::zero())
        return Error{kInvalidOption,
                     "the timeout of Redis is " + std::to_string(options.timeout.count()) +
                         " ms; allowed is 1 ms and more"};
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
    return std::unique_ptr<Origin>(
        std::make_unique<RedisOrigin>(std::make_shared<Desk>(loop, access, std::move(options))));
}

}  // namespace sluice
