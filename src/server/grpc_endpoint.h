// The gRPC listener of one serving thread, with its methods.
#ifndef SLUICE_SERVER_GRPC_ENDPOINT_H_
#define SLUICE_SERVER_GRPC_ENDPOINT_H_

#include <sluice/result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "grpc/connection.h"
#include "grpc/descriptor_index.h"
#include "grpc/health_service.h"
#include "grpc/method.h"
#include "http/wire/listener.h"
#include "log/log.h"

namespace boost::asio {
class io_context;
}

namespace sluice::server {

// Adds the methods of a service. Called once for each serving thread, before it runs.
using AddMethods = std::function<void(grpc::MethodRegistry&)>;

// Owned by the thread that constructs it; used by the thread that runs `loop`. Counters may be read
// by any.
class GrpcEndpoint {
  public:
    struct Options {
        http::Listener::Options listener;
        grpc::SessionLimits limits;
        grpc::ConnectionAge age;
        AddMethods add_methods;            // besides health and reflection
        std::function<bool()> is_serving;  // for the health service
        const grpc::DescriptorIndex& descriptors;
        Log& log;
    };

    // The loop must outlive the endpoint and all completions of calls.
    GrpcEndpoint(boost::asio::io_context& loop, Options options);

    Result<std::uint16_t> listen(const http::ListenAddress& address);

    // Sends a changed state of `is_serving` to the clients that watch it.
    void publish_health() { health_.publish(); }

    // Reports to watching clients that the server no longer serves, ends connections as their calls
    // end, and calls `drained`.
    void drain(std::chrono::milliseconds timeout, std::function<void()> drained);

    const http::WireCounters& counters() const { return listener_.counters(); }
    const grpc::SessionCounters& session_counters() const { return context_.counters; }

  private:
    grpc::SessionContext context_of(boost::asio::io_context& loop, const Options& options) const;

    grpc::MethodRegistry methods_;
    grpc::HealthService health_;
    grpc::SessionContext context_;
    http::Listener listener_;
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_GRPC_ENDPOINT_H_
