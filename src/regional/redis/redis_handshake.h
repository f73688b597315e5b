// The first words on a connection: who we are, whom we talk to, and what it remembers.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_HANDSHAKE_H_
#define SLUICE_REGIONAL_REDIS_REDIS_HANDSHAKE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "regional/redis/redis_access.h"
#include "regional/redis/redis_connection.h"

namespace sluice {

// A key that is written at the first handshake and kept alive since. Where it is gone, so may be
// all else.
struct Marker {
    std::string key;    // empty: there is none
    std::string owner;  // its only field
};

// How long a marker lives without being kept alive, in milliseconds.
inline constexpr std::string_view kMarkerLifetime = "60000";

std::string keep_marker_command(const Marker& marker);
std::string write_marker_command(const Marker& marker);
// For a server that has lost it, and perhaps its scripts as well.
std::string rewrite_marker_command(const Marker& marker);

// What the server says of itself.
struct RedisServerInfo {
    std::string run_id;  // new at each start; empty: it does not tell
    bool is_cluster = false;
};

struct HandshakeOutcome {
    std::string failure;  // why the server can't be used, for people; empty: it can
    RedisServerInfo server;
    bool had_marker = false;
};

// Logs in, selects the database, asks the server what it is, tells it the script, and writes the
// marker, which at the same time tries out what raising a component needs: the right to do so, and
// a server that may be written to. In a cluster the marker is written only if `in_cluster`: it was
// chosen for this server then.
//
// Owned by the thread of the connection. Where that breaks or is closed, nothing is told.
class RedisHandshake : public std::enable_shared_from_this<RedisHandshake> {
  public:
    using Done = std::function<void(HandshakeOutcome)>;

    struct Plan {
        Marker marker;
        bool in_cluster = false;
    };

    RedisHandshake(std::shared_ptr<const RedisAccess> access,
                   std::shared_ptr<RedisConnection> connection,
                   Plan plan,
                   Done done);

    void run();

  private:
    using Step = void (RedisHandshake::*)(const RedisReply&);

    void send(std::string_view command, Step step);
    void log_in();
    void on_logged_in(const RedisReply& reply);
    void on_selected(const RedisReply& reply);
    void on_info(const RedisReply& reply);
    void on_cluster_info(const RedisReply& reply);
    void on_loaded(const RedisReply& reply);
    void on_kept(const RedisReply& reply);
    void on_written(const RedisReply& reply);
    void refuse(std::string_view what, const RedisReply& reply);
    void refuse_as_stranger();
    void finish();

    const std::shared_ptr<const RedisAccess> access_;
    const std::shared_ptr<RedisConnection> connection_;
    const Plan plan_;
    Done done_;  // empty once it was told
    HandshakeOutcome outcome_;
    std::string mode_;  // what the server says that it is, if it does
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_HANDSHAKE_H_
