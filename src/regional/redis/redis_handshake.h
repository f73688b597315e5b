// The start of a connection: log in, identify the server, load the scripts, try a write.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_HANDSHAKE_H_
#define SLUICE_REGIONAL_REDIS_REDIS_HANDSHAKE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "regional/redis/redis_connection.h"
#include "regional/redis/redis_stream.h"

namespace sluice {

// What a server must be to be used.
enum class ExpectedServer : std::uint8_t {
    kAny,             // one server, or any member of a Cluster
    kClusterMember,   // already known to be one
    kClusterSeed,     // a member of a Cluster, since several servers were given
    kSentinelMaster,  // what Sentinels gave as the address of a master
};

struct HandshakePlan {
    ExpectedServer expected = ExpectedServer::kAny;
    // The key of the marker to write, among the slots of this server; empty: none. A server that
    // turns out to be a member of a Cluster gets none unless that was expected.
    std::string marker = {};
};

struct HandshakeOutcome {
    std::string failure;  // why the server can't be used, for the log; empty: it can
    std::string refusal;  // why it refuses writes, for the log; empty: it doesn't
    std::string run_id;   // new at each start of the server; empty: unknown
    bool is_cluster = false;
    std::string marker;        // the key of the marker that was written; empty: none was
    std::string marker_value;  // of that marker
};

// A server that refuses all writes for now can be used, since it recovers without a new connection.
// One that refuses the login, a command or a key can't.
//
// Owned by the thread of the connection. Calls nothing if that breaks or is closed.
class RedisHandshake : public std::enable_shared_from_this<RedisHandshake> {
  public:
    using Done = std::function<void(HandshakeOutcome)>;

    RedisHandshake(std::shared_ptr<const RedisAccess> access,
                   std::shared_ptr<RedisConnection> connection,
                   HandshakePlan plan,
                   Done done);

    void run();

  private:
    using Step = void (RedisHandshake::*)(const RedisReply&);

    void send(std::string_view command, Step step);
    void log_in();
    void load_scripts();
    void on_logged_in(const RedisReply& reply);
    void on_selected(const RedisReply& reply);
    void on_info(const RedisReply& reply);
    void on_cluster_info(const RedisReply& reply);
    void on_role(const RedisReply& reply);
    void on_loaded(const RedisReply& reply);
    void on_identified();
    void on_marker_written(const RedisReply& reply);
    void refuse(std::string_view what, const RedisReply& reply);
    void fail(std::string why);
    void finish();

    const std::shared_ptr<const RedisAccess> access_;
    const std::shared_ptr<RedisConnection> connection_;
    const HandshakePlan plan_;
    Done done_;  // empty once it was called
    HandshakeOutcome outcome_;
    std::string mode_;  // from INFO; empty: unknown
    std::size_t unloaded_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_HANDSHAKE_H_
