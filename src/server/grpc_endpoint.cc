#include "server/grpc_endpoint.h"

#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/random.h"
#include "grpc/reflection_service.h"

namespace sluice::server {

namespace {

// The names that clients of Envoy's rate limit service check.
std::vector<std::string> health_names() {
    return {"",
            "ratelimit",
            "envoy.service.ratelimit.v3.RateLimitService",
            "kuadrant.service.ratelimit.v1.RateLimitService"};
}

}  // namespace

GrpcEndpoint::GrpcEndpoint(boost::asio::io_context& loop, Options options)
    : health_(health_names(), options.is_serving),
      context_(context_of(loop, options)),
      listener_(loop,
                std::make_unique<grpc::GrpcProtocol>(context_, options.age, system_random()),
                std::move(options.listener)) {
    health_.add_to(methods_);
    grpc::add_reflection(methods_, options.descriptors);
    if (options.add_methods) options.add_methods(methods_);
}

grpc::SessionContext GrpcEndpoint::context_of(boost::asio::io_context& loop,
                                              const Options& options) const {
    return {.methods = methods_,
            .limits = options.limits,
            .post = std::make_shared<const std::function<void(std::function<void()>)>>(
                [&loop](std::function<void()> act) { boost::asio::post(loop, std::move(act)); }),
            .on_failure = [&log = options.log](std::string_view path, std::string_view what) {
                log.error("call_failed", {{"path", path}, {"cause", what}});
            }};
}

Result<std::uint16_t> GrpcEndpoint::listen(const http::ListenAddress& address) {
    return listener_.listen(address);
}

void GrpcEndpoint::drain(std::chrono::milliseconds timeout, std::function<void()> drained) {
    health_.publish();
    listener_.drain(timeout, std::move(drained));
}

}  // namespace sluice::server
