// A Redis Cluster: several masters, each with a part of the slots.
#ifndef SLUICE_REGIONAL_REDIS_CLUSTER_H_
#define SLUICE_REGIONAL_REDIS_CLUSTER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "regional/redis/cluster_map.h"
#include "regional/redis/redis_keys.h"
#include "regional/redis/redis_link.h"
#include "regional/redis/redis_route.h"

namespace sluice {

// Keeps a connection to each master, and a map of which one serves which slot. A command that
// reaches the wrong master is sent on to the right one, within its timeout. While a master is
// unavailable, its keys are answered with null and other keys are not affected; the Cluster is
// unavailable if all masters are.
//
// A replica that takes the place of its master may lack the last writes, so that counts as data
// loss. Each master has a marker of its own, with a key among its slots.
//
// Owned by the thread of its io_context.
class Cluster : public RedisRoute, public std::enable_shared_from_this<Cluster> {
  public:
    // The key of this node's marker; each number places it in another slot.
    using MarkerKey = std::function<std::string(std::size_t number)>;

    // `seeds` finds members of the Cluster; any one will do.
    Cluster(boost::asio::io_context& loop,
            std::shared_ptr<const RedisAccess> access,
            Locate seeds,
            MarkerKey marker_key);

    void start(Events events) override;
    void stop() override;
    void send(std::string_view key, std::string command, Replied replied) override;
    bool is_sharded() const override { return true; }
    std::vector<std::shared_ptr<RedisLink>> links() const override;

  private:
    using Clock = std::chrono::steady_clock;

    struct Master {
        std::shared_ptr<RedisLink> link;
        bool has_slots = false;          // by the map
        bool is_successor = false;       // took over the slots of a lost master; not reported yet
        Clock::time_point referenced{};  // when a server last redirected us there
    };
    using Masters = std::map<RedisAddress, Master>;

    struct InFlightCommand {
        SharedCommand command;
        std::uint16_t slot;
        Replied replied;
        Clock::time_point deadline;
        int resends = 0;
    };

    void send_to(RedisLink& link, InFlightCommand command);
    bool on_reply(RedisLink& link, InFlightCommand command, const RedisReply* reply);
    void redirect(const Redirection& to, InFlightCommand command);
    void retry_later(InFlightCommand command);
    bool may_resend(InFlightCommand& command);

    RedisLink& master_at(const RedisAddress& address);
    RedisLink::Events events_of(const RedisAddress& address);
    void on_master_up(const RedisAddress& address, bool is_intact);
    void on_master_down(const RedisAddress& address, const std::string& why);
    void report_data_loss();
    bool has_connected_master() const;

    void start_seed_link();
    void request_map();
    void fetch_map_after(Clock::duration pause);
    void fetch_map();
    std::shared_ptr<RedisLink> link_for_map();
    bool on_map(const std::string& asked_host, const RedisReply* reply);
    void report_unavailable(const std::string& why);
    void leave();
    void apply(const std::vector<SlotRange>& ranges);
    void mark_successors(const std::set<RedisAddress>& before);
    void choose_markers();
    void retire_masters();
    std::string host_of(const RedisLink& link) const;

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const MarkerKey marker_key_;
    const std::shared_ptr<RedisLink> seed_link_;  // for the map, while no master is connected
    Events events_;
    boost::asio::steady_timer timer_;
    Masters masters_;
    std::array<RedisLink*, kClusterSlots> slots_{};  // each in masters_, or null
    Clock::time_point fetched_{};
    std::size_t turn_ = 0;  // of the masters that the map is fetched from
    std::string why_;       // it is unavailable, as last reported
    bool is_fetching_ = false;
    bool is_map_requested_ = false;  // a newer one than is being fetched
    bool is_available_ = false;
    bool is_stopped_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_CLUSTER_H_
