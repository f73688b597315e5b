// Subscribes to resources of an ADS server (aggregated discovery service) and keeps subscribed.
#ifndef SLUICE_GRPC_CLIENT_ADS_CLIENT_H_
#define SLUICE_GRPC_CLIENT_ADS_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/jitter.h"
#include "base/thread.h"
#include "grpc/client/client_session.h"
#include "grpc/client/client_socket.h"
#include "grpc/client/client_tls.h"
#include "grpc/client/discovery.h"

namespace sluice::grpc {

// A thread with one connection. Where it ends, the thread connects again after a growing delay;
// resources that were applied stay in force meanwhile.
//
// Owned by the thread that constructs it.
class AdsClient {
  public:
    struct Options {
        std::string host;
        std::uint16_t port = 0;
        std::optional<ClientTlsFiles> tls{};  // read again for each connection
        Discovery::Options discovery;
        std::size_t max_message = 16UL * 1024 * 1024;
        // The delay before a new connection: half of a limit to all of it, which doubles from the
        // first to the last with each failure, and starts over after a stream that has lived longer
        // than the last.
        std::chrono::milliseconds first_delay{500};
        std::chrono::milliseconds last_delay{30'000};
        // For TCP, for TLS, and for the server's first bytes.
        std::chrono::milliseconds connect_timeout{5'000};
        // A server that sends nothing for this long gets a PING, and twice as long ends the
        // connection.
        std::chrono::milliseconds ping_interval{30'000};
        // Between two responses that are handled. Of those that arrive meanwhile, older ones are
        // skipped.
        std::chrono::milliseconds pause{50};
        // The thread has caught an exception, most likely std::bad_alloc, which has ended the
        // stream; it connects again.
        OnThreadFailure on_thread_failure = {};
    };
    // Called on the client's thread.
    struct Events {
        Discovery::Handlers resources;
        // A stream has brought its first response, or stays open without one.
        std::function<void()> on_connected;
        // A stream has ended, or none could be opened. Also called where on_connected was not.
        std::function<void(std::string_view why)> on_disconnected;
    };

    // Starts the thread. Throws std::system_error if the system has no thread or descriptor left.
    AdsClient(Options options, Events events);
    // Ends the thread, soon: a lookup of the host's name that is underway is abandoned.
    ~AdsClient();
    AdsClient(const AdsClient&) = delete;
    AdsClient& operator=(const AdsClient&) = delete;

  private:
    void run();
    std::string stream();
    std::string exchange(ClientSocket& socket, ClientSession& session);
    bool answer_newest(ClientSession& session);
    void announce();
    bool is_stopped(std::chrono::milliseconds wait) const;

    const Options options_;
    const Events events_;
    Discovery discovery_;
    Jitter jitter_;
    int stop_event_;                     // an eventfd, readable once the client is to stop
    bool is_announced_ = false;          // this stream, by on_connected
    std::optional<std::string> newest_;  // a response that is not handled yet
    std::thread thread_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CLIENT_ADS_CLIENT_H_
