// Access to the servers of one Redis, and a stream of bytes to one of them: over TCP, with or
// without TLS, or over a unix socket.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_STREAM_H_
#define SLUICE_REGIONAL_REDIS_REDIS_STREAM_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "base/host_lookup.h"
#include "url/redis_url.h"

namespace sluice {

// Paths of PEM files.
struct RedisTlsFiles {
    std::string ca = {};    // certificates to trust; empty: those that the system trusts
    std::string cert = {};  // the client certificate; empty: none
    std::string key = {};   // the key of `cert`
};

// A TLS client with these files. The error names the file that can't be used.
Result<std::shared_ptr<boost::asio::ssl::context>> redis_tls_context(const RedisTlsFiles& files);

// TLS, login, database and timeout: the same for all servers of a Cluster and for the Sentinels of
// a master. Immutable.
struct RedisAccess {
    std::shared_ptr<boost::asio::ssl::context> tls;  // null: plain connections
    std::string user;
    std::string password;
    int database = 0;
    std::chrono::milliseconds timeout;  // of a call
};

// At most one connect, one read and one write at a time; their arguments must live until they are
// done. Each completes once, also after close(), which ends them early. The owner must live until
// then.
//
// Owned by the thread of its io_context.
class RedisStream {
  public:
    // Why an operation failed, as a message for the log; none if it did not.
    using Failure = std::optional<std::string>;
    using Connected = std::function<void(Failure)>;
    using Read = std::function<void(Failure, std::size_t size)>;
    using Written = std::function<void(Failure)>;

    // `tls` may be null and must outlive the stream.
    RedisStream(boost::asio::io_context& loop, boost::asio::ssl::context* tls);

    // Completes after the TLS handshake, if there is one.
    void connect(const RedisAddress& address, Connected connected);
    void read_some(std::span<char> buffer, Read read);
    void write(std::string_view bytes, Written written);
    void close();

  private:
    using Socket = boost::asio::generic::stream_protocol::socket;
    using Endpoint = boost::asio::generic::stream_protocol::endpoint;

    void resolve(const RedisAddress& address, Connected connected);
    void try_endpoints(std::vector<Endpoint> endpoints, Connected connected);
    void shake_hands(Connected connected);

    std::optional<HostLookup> lookup_;                  // while it is underway
    boost::asio::posix::stream_descriptor lookup_end_;  // a duplicate of its descriptor
    Socket socket_;
    std::optional<boost::asio::ssl::stream<Socket&>> tls_;
    std::string host_;  // that the certificate must name
    std::vector<Endpoint> endpoints_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_STREAM_H_
