// The client's side of an HTTP/2 connection that carries one gRPC call with streams in both
// directions, without a socket.
#ifndef SLUICE_GRPC_CLIENT_CLIENT_SESSION_H_
#define SLUICE_GRPC_CLIENT_CLIENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "grpc/message_reader.h"
#include "grpc/status.h"

namespace sluice::grpc {

// Owned by one thread.
class ClientSession {
  public:
    struct Options {
        std::string scheme = "http";  // or "https"
        std::string authority;        // "host:port"
        std::string path;             // "/package.Service/Method"
        std::size_t max_message = 16UL * 1024 * 1024;
        // Must not destroy the session.
        std::function<void(std::string_view message)> on_message;
    };

    // Starts the call. Throws std::bad_alloc.
    explicit ClientSession(Options options);
    ~ClientSession();
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // A server that leaves too much unread has the call ended.
    void send(std::string_view message);
    void ping();

    // Handles bytes from the server. False: the connection is broken.
    bool receive(std::string_view bytes);
    // Appends bytes for the server to `out`. False: the connection is broken.
    bool take_output(std::string& out);

    // True once the server has shown that it speaks HTTP/2.
    bool is_open() const { return is_open_; }
    // The outcome of the call, once it has ended.
    const std::optional<Status>& end() const { return end_; }

  private:
    struct Callbacks;

    void on_field(std::string_view name, std::string_view value);
    void on_data(std::string_view bytes);
    void on_close(std::uint32_t error);
    void fail(Code code, std::string message);

    const Options options_;
    nghttp2_session* http2_ = nullptr;
    std::int32_t stream_ = 0;
    MessageReader reader_;
    std::string unsent_;  // messages
    std::string http_status_;
    std::string grpc_status_;
    std::string grpc_message_;
    bool is_open_ = false;
    std::optional<Status> end_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CLIENT_CLIENT_SESSION_H_
