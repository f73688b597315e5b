// A serving thread: an event loop with its own listeners and handlers.
#ifndef SLUICE_SERVER_WORKER_H_
#define SLUICE_SERVER_WORKER_H_

#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/thread.h"
#include "http/api/api.h"
#include "http/wire/listener.h"
#include "insight/observer.h"
#include "log/log.h"
#include "server/grpc_endpoint.h"

namespace sluice::server {

// Logs that a second of traffic and top keys was skipped. Does not throw.
void log_observation_failure(Log& log, std::string_view why);

// Owned by the thread that constructs it; counters() may be called by any thread.
class Worker {
  public:
    struct Options {
        http::Listener::Options listener;
        Log& log;
        bool log_requests;  // false: only requests that fail with status 500 are logged
        insight::Observer& observer;
        OnThreadFailure on_thread_failure;
    };

    Worker(const http::ApiContext& context, Options options);

    // Stops the thread at once.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Binds the address, which workers share, and returns the port. Connections are accepted as
    // soon as the thread runs.
    Result<std::uint16_t> listen(const http::ListenAddress& address);
    // The same for gRPC, on the same event loop. At most once.
    Result<std::uint16_t> listen_grpc(const http::ListenAddress& address,
                                      GrpcEndpoint::Options options);
    void run();

    // Sends an event to the streams of an admin listener. May be called by any thread.
    void send_events();
    // Whether the event loop has run since the last call; asks it to, unless it still has to.
    bool responds();

    // Sends a changed readiness to gRPC clients that watch it.
    void publish_health();

    // Calls `drained` on the worker's thread, after `timeout` at the latest.
    void drain(std::chrono::milliseconds timeout, std::function<void()> drained);

    const http::WireCounters& counters() const { return listener_->counters(); }
    // Of its thread; null on an admin listener.
    insight::Recorder* recorder() const { return recorder_.get(); }
    // Null without gRPC.
    const GrpcEndpoint* grpc() const { return grpc_.get(); }

  private:
    http::ApiContext with_hooks(http::ApiContext context, const Options& options);
    void collect_activity();
    void observe(const std::function<void()>& act);

    Log& log_;
    insight::Observer& observer_;
    const OnThreadFailure on_failure_;
    std::unique_ptr<insight::Recorder> recorder_;  // null on an admin listener
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    boost::asio::steady_timer collect_timer_;
    http::Api api_;
    std::optional<http::Listener> listener_;
    std::unique_ptr<GrpcEndpoint> grpc_;
    // Cleared by the owner, who asks, and set by the worker's thread; acquire-release, so that a
    // set flag means that the loop has run.
    std::atomic<bool> has_responded_{true};
    int draining_ = 0;                   // listeners; of the worker's thread
    bool has_failed_observing_ = false;  // the last time; of the worker's thread
    std::thread thread_;
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_WORKER_H_
