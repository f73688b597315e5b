#include "server/grpc_endpoint.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "grpc/test_server.h"

namespace sluice::server {
namespace {

using namespace std::string_literals;

TEST(GrpcEndpoint, SendsAReadinessThatChangesAfterAClientHasConnected) {
    const grpc::DescriptorIndex descriptors{grpc::embedded_descriptors()};
    Log log({.level = LogLevel::kOff});
    std::atomic<bool> is_serving{false};
    boost::asio::io_context loop(1);
    const auto work = boost::asio::make_work_guard(loop);
    GrpcEndpoint endpoint(loop,
                          {.listener = {},
                           .limits = {},
                           .age = {},
                           .add_methods = {},
                           .is_serving = [&] { return is_serving.load(); },
                           .descriptors = descriptors,
                           .log = log});
    const auto port = endpoint.listen({.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(port);
    std::thread thread([&] { loop.run(); });

    grpc::TestConnection client(*port);
    const std::int32_t watch =
        client.peer().start({.path = "/grpc.health.v1.Health/Watch", .body = grpc::framed("")});
    client.flush();
    const auto states = [&] { return grpc::messages_of(client.peer().response(watch).body); };
    while (states().empty() && client.read()) {
    }
    EXPECT_EQ(states(), std::vector{"\x08\x02"s});
    is_serving.store(true);
    boost::asio::post(loop, [&] { endpoint.publish_health(); });
    while (states().size() < 2 && client.read()) {
    }
    EXPECT_EQ(states(), (std::vector{"\x08\x02"s, "\x08\x01"s}));
    loop.stop();
    thread.join();
}

}  // namespace
}  // namespace sluice::server
