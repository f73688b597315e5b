// Subscribes to resources of an ADS server (aggregated discovery service) and keeps subscribed.
#ifndef SLUICE_GRPC_CLIENT_ADS_CLIENT_H_
#define SLUICE_GRPC_CLIENT_ADS_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/jitter.h"
#include "grpc/client/client_session.h"
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
        Discovery::Options discovery;
        std::size_t max_message = 16UL * 1024 * 1024;
        // The delay before a new connection: half of a limit to all of it, which doubles from the
        // first to the last with each failure.
        std::chrono::milliseconds first_delay{500};
        std::chrono::milliseconds last_delay{30'000};
        std::chrono::milliseconds connect_timeout{5'000};
        // A server that sends nothing for this long gets a PING, and twice as long ends the
        // connection.
        std::chrono::milliseconds ping_interval{30'000};
    };
    // Called on the client's thread.
    struct Events {
        Discovery::Apply apply;
        // The stream has brought its first response.
        std::function<void()> on_connected;
        // A stream has ended, or none could be opened.
        std::function<void(std::string_view why)> on_disconnected;
    };

    // Starts the thread. Throws std::system_error if the system has no thread or descriptor left.
    AdsClient(Options options, Events events);
    // Ends the thread, within a second.
    ~AdsClient();
    AdsClient(const AdsClient&) = delete;
    AdsClient& operator=(const AdsClient&) = delete;

  private:
    class Socket;

    void run();
    std::string stream();
    std::string exchange(Socket& socket, ClientSession& session);
    void on_message(std::string_view message, ClientSession& session);
    bool is_stopped(std::chrono::milliseconds wait) const;

    const Options options_;
    const Events events_;
    Discovery discovery_;
    Jitter jitter_;
    int stop_event_;             // an eventfd, readable once the client is to stop
    bool has_response_ = false;  // of this stream
    bool is_malformed_ = false;  // the last response
    std::thread thread_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CLIENT_ADS_CLIENT_H_
