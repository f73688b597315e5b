// A connection to one Redis whose calls wait for their replies.
#ifndef SLUICE_DOCTOR_REDIS_SESSION_H_
#define SLUICE_DOCTOR_REDIS_SESSION_H_

#include <sluice/result.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "config/settings.h"
#include "regional/redis/redis_connection.h"
#include "url/redis_url.h"

namespace sluice::doctor {

// Owned by one thread.
class RedisSession {
  public:
    // Connects to the first server of the settings' origin that answers, or to the master that its
    // Sentinels name, and logs in. The error says why that failed, without secrets.
    static Result<std::unique_ptr<RedisSession>> open(const config::Settings& settings);
    ~RedisSession();
    RedisSession(const RedisSession&) = delete;
    RedisSession& operator=(const RedisSession&) = delete;

    // Another server of the same Redis.
    Result<std::unique_ptr<RedisSession>> open_other(const RedisAddress& address) const;

    // The reply, which may be an error of Redis; an error if the connection broke or none came.
    Result<RedisReply> ask(std::initializer_list<std::string_view> words);

    const RedisAddress& address() const { return address_; }

  private:
    RedisSession(std::shared_ptr<const RedisAccess> access, RedisAddress address);
    std::optional<Error> connect();
    std::optional<Error> log_in();

    const std::shared_ptr<const RedisAccess> access_;
    const RedisAddress address_;
    boost::asio::io_context loop_;
    std::shared_ptr<RedisConnection> connection_;
    std::string broken_;  // why; empty: it is not
};

}  // namespace sluice::doctor

#endif  // SLUICE_DOCTOR_REDIS_SESSION_H_
