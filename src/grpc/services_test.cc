// Health and reflection, over a session without a socket.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "grpc/health_service.h"
#include "grpc/reflection_service.h"
#include "grpc/server_session.h"
#include "grpc/test_peer.h"

namespace sluice::grpc {
namespace {

using namespace std::string_literals;

// An encoded message with one field of text.
std::string text_field(protozero::pbf_tag_type tag, const std::string& text) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_string(tag, text);
    return bytes;
}

std::vector<std::string> texts(const std::string& bytes, protozero::pbf_tag_type tag) {
    std::vector<std::string> found;
    protozero::pbf_reader reader(bytes);
    while (reader.next(tag))
        found.push_back(reader.get_string());
    return found;
}

class ServicesTest : public testing::Test {
  protected:
    ServicesTest() {
        health.add_to(methods);
        add_reflection(methods, descriptors);
    }

    TestResponse check(const std::string& name) {
        return peer.call(
            session, {.path = "/grpc.health.v1.Health/Check", .body = framed(text_field(1, name))});
    }

    // The fields of the answer to one reflection request: 4 files, 5 numbers, 6 services, 7 error.
    std::vector<std::string> reflect(const std::string& request, protozero::pbf_tag_type field) {
        const TestResponse response =
            peer.call(session,
                      {.path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                       .body = framed(request)});
        EXPECT_EQ(response.status(), "0");
        const auto messages = messages_of(response.body);
        if (messages.size() != 1) return {};
        EXPECT_EQ(texts(messages[0], 2), std::vector{request});
        return texts(messages[0], field);
    }

    bool is_serving = true;
    HealthService health{{"", "ratelimit"}, [this] { return is_serving; }};
    DescriptorIndex descriptors{embedded_descriptors()};
    MethodRegistry methods;
    SessionContext context{.methods = methods};
    TestPeer peer;
    http::Turn turn = endless_turn();
    ServerSession session{context, "192.0.2.1", turn, {}};
};

TEST_F(ServicesTest, CheckReturnsTheStateOfKnownNames) {
    EXPECT_EQ(check("").body, framed("\x08\x01"));
    EXPECT_EQ(check("ratelimit").body, framed("\x08\x01"));
    is_serving = false;
    EXPECT_EQ(check("ratelimit").body, framed("\x08\x02"));
    const TestResponse number =
        peer.call(session, {.path = "/grpc.health.v1.Health/Check", .body = framed("\x08\x05")});
    EXPECT_EQ(number.body, framed("\x08\x02")) << "a field of another type is unknown";
    EXPECT_EQ(check("other").status(), "5");
    const TestResponse malformed =
        peer.call(session, {.path = "/grpc.health.v1.Health/Check", .body = framed("\x0a\x05x")});
    EXPECT_EQ(malformed.status(), "3");
}

TEST_F(ServicesTest, WatchSendsEachChange) {
    const std::int32_t stream = peer.start(
        {.path = "/grpc.health.v1.Health/Watch", .body = framed(text_field(1, "ratelimit"))});
    peer.exchange(session);
    health.publish();
    is_serving = false;
    health.publish();
    health.publish();
    peer.exchange(session);
    EXPECT_EQ(messages_of(peer.response(stream).body), (std::vector{"\x08\x01"s, "\x08\x02"s}));
    EXPECT_FALSE(peer.response(stream).is_closed);
    peer.reset(stream);
    peer.exchange(session);
    is_serving = true;
    health.publish();  // no watch is left
    EXPECT_EQ(session.calls(), 0U);
}

TEST_F(ServicesTest, WatchReportsAnUnknownNameAndWaits) {
    const std::int32_t stream = peer.start(
        {.path = "/grpc.health.v1.Health/Watch", .body = framed(text_field(1, "other"))});
    peer.exchange(session);
    EXPECT_EQ(messages_of(peer.response(stream).body), std::vector{"\x08\x03"s});
    EXPECT_FALSE(peer.response(stream).is_closed);
}

TEST_F(ServicesTest, WatchNeedsARequest) {
    EXPECT_EQ(peer.call(session, {.path = "/grpc.health.v1.Health/Watch"}).status(), "3");
}

TEST_F(ServicesTest, ReflectionListsTheServices) {
    const auto answers = reflect(text_field(7, "*"), 6);
    ASSERT_EQ(answers.size(), 1U);
    std::vector<std::string> names;
    for (const std::string& service : texts(answers[0], 1))
        names.push_back(texts(service, 1).at(0));
    EXPECT_EQ(names,
              (std::vector{"grpc.health.v1.Health"s,
                           "grpc.reflection.v1.ServerReflection"s,
                           "grpc.reflection.v1alpha.ServerReflection"s}));
}

TEST_F(ServicesTest, ReflectionReturnsAFileWithItsImports) {
    for (const std::string symbol : {"envoy.service.ratelimit.v3.RateLimitService",
                                     "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit",
                                     "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit",
                                     "envoy.service.ratelimit.v3.RateLimitRequest.domain"}) {
        const auto answers = reflect(text_field(4, symbol), 4);
        ASSERT_EQ(answers.size(), 1U) << symbol;
        std::vector<std::string> names;
        for (const std::string& file : texts(answers[0], 1))
            names.push_back(texts(file, 1).at(0));
        EXPECT_EQ(names,
                  (std::vector{"rls.proto"s,
                               "google/protobuf/duration.proto"s,
                               "google/protobuf/struct.proto"s,
                               "google/protobuf/timestamp.proto"s,
                               "header_value.proto"s,
                               "ratelimit_descriptor.proto"s,
                               "google/protobuf/wrappers.proto"s,
                               "ratelimit_unit.proto"s}));
    }
    EXPECT_EQ(reflect(text_field(3, "kuadrant_rls.proto"), 4).size(), 1U);
}

TEST_F(ServicesTest, ReflectionAnswersErrorsInItsMessages) {
    EXPECT_EQ(reflect(text_field(4, "no.Such"), 7).size(), 1U);
    EXPECT_EQ(reflect(text_field(3, "no.proto"), 7).size(), 1U);
    EXPECT_EQ(reflect(text_field(6, "no.Such"), 7).size(), 1U);
    EXPECT_EQ(reflect(text_field(6, "grpc.health.v1.HealthCheckRequest"), 5).size(), 1U);
    EXPECT_EQ(reflect("", 7).size(), 1U);
    EXPECT_EQ(reflect("\x20\x05", 7).size(), 1U);  // field 4 as a number
    const TestResponse malformed =
        peer.call(session,
                  {.path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                   .body = framed("\x22\x05x")});
    EXPECT_EQ(malformed.status(), "3");
}

}  // namespace
}  // namespace sluice::grpc
