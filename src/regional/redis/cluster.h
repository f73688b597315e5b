// A Redis Cluster: many servers, each with its part of the keys.
#ifndef SLUICE_REGIONAL_REDIS_CLUSTER_H_
#define SLUICE_REGIONAL_REDIS_CLUSTER_H_

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "regional/redis/cluster_map.h"
#include "regional/redis/cluster_slot.h"
#include "regional/redis/redis_link.h"
#include "regional/redis/redis_route.h"

namespace sluice {

// Keeps a connection to each master, and a map of who serves which slot. A command that comes to
// the wrong master is sent on to the right one, within its time. A master that is away answers
// nothing for its keys, while the others go on; the cluster is away where all of them are.
//
// A replica that takes the place of its master may lack what that was told last, so that counts as
// forgetting. Each master has a marker of its own, with a key among its slots.
class Cluster : public RedisRoute, public std::enable_shared_from_this<Cluster> {
  public:
    // `seed` is any server of the cluster.
    Cluster(boost::asio::io_context& loop,
            std::shared_ptr<const RedisAccess> access,
            RedisAddress seed,
            Marker marker);

    void start(Events events) override;
    void stop() override;
    void send(std::string_view key, std::string command, Replied replied) override;

  private:
    using Clock = std::chrono::steady_clock;

    struct Master {
        std::shared_ptr<RedisLink> link;
        bool has_slots = false;      // by the map
        bool is_successor = false;   // took over slots from one that is gone; not told yet
        Clock::time_point wanted{};  // when a server last sent us there
    };
    using Masters = std::map<RedisAddress, Master>;

    // A command on its way.
    struct Traveller {
        std::string command;
        Replied replied;
        Clock::time_point deadline;
        int redirections = 0;
    };

    void send_to(RedisLink& link, Traveller traveller);
    bool on_reply(RedisLink& link, Traveller traveller, const RedisReply* reply);
    void redirect(const Redirection& to, Traveller traveller);

    RedisLink& master_at(const RedisAddress& address);
    RedisLink::Events events_of(const RedisAddress& address);
    void on_master_up(const RedisAddress& address, bool remembers);
    void on_master_down(const RedisAddress& address, const std::string& why);
    void tell_forgot();
    bool serves() const;

    void start_scout();
    void want_map();
    void fetch_map_later(Clock::duration pause);
    void fetch_map();
    std::shared_ptr<RedisLink> whom_to_ask();
    bool on_map(const std::string& asked_host, const RedisReply* reply);
    void become_useless();
    void apply(const std::vector<SlotRange>& ranges);
    void mark_successors(const std::set<RedisAddress>& before);
    void choose_markers();
    void retire_masters();
    std::string host_of(const RedisLink& link) const;

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const Marker marker_;                     // each master's begins like this
    const std::shared_ptr<RedisLink> scout_;  // to the seed: for the map, while no master is known
    Events events_;
    boost::asio::steady_timer timer_;
    Masters masters_;
    std::array<RedisLink*, kClusterSlots> slots_{};  // each in masters_, or null
    Clock::time_point fetched_{};
    std::size_t turn_ = 0;  // of the masters to be asked for the map
    std::string why_;       // it is away, as told last
    bool is_fetching_ = false;
    bool is_map_wanted_ = false;  // a newer one than is being fetched
    bool is_back_ = false;
    bool is_stopped_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_CLUSTER_H_
