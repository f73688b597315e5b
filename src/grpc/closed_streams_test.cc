#include <string>

#include <gtest/gtest.h>

#include "grpc/server_session.h"
#include "grpc/server_session_fixture.h"

namespace sluice::grpc {
namespace {

using namespace std::string_literals;

// HEADERS of `stream` with a field, END_HEADERS and END_STREAM.
std::string headers_of(char stream) {
    return "\0\0\1\1\5\0\0\0"s + stream + "\x82";
}

TEST_F(ServerSessionTest, ClosesOnHeadersOfAStreamThatBothSidesHaveEnded) {
    EXPECT_EQ(call({.body = framed("x")}).status(), "0");
    EXPECT_FALSE(session().receive(headers_of(1), {}));
    std::string out;
    session().send(out, 1'000);
    peer.receive(out);
    EXPECT_EQ(peer.goaway_error, NGHTTP2_STREAM_CLOSED);
}

TEST_F(ServerSessionTest, ClosesOnHeadersOfAStreamThatTheClientHasReset) {
    const std::int32_t stream = peer.start({.body = "", .ends = false});
    peer.exchange(session());
    peer.reset(stream);
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_FALSE(session().receive(headers_of(1), {}));
}

TEST_F(ServerSessionTest, ClosesOnAStreamThatWasSkipped) {
    peer.exchange(session());
    EXPECT_TRUE(session().receive(headers_of(5), {}));
    EXPECT_FALSE(session().receive(headers_of(3), {}));
}

TEST_F(ServerSessionTest, IgnoresTrailersThatWereSentBeforeTheClientKnewOfTheAnswer) {
    context.limits.message = 1'000;
    const std::int32_t stream =
        peer.start({.body = framed(std::string(1'001, 'x')).substr(0, 5), .ends = false});
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_EQ(peer.response(stream).status(), "8");
    EXPECT_EQ(session().calls(), 0U);
    EXPECT_TRUE(session().receive(headers_of(1), {}));
    EXPECT_TRUE(session().receive(headers_of(3), {})) << "the next call";
    EXPECT_TRUE(session().receive(headers_of(1), {})) << "it may be on its way still";
}

TEST_F(ServerSessionTest, RefusesCallsAboveALimitThatTheClientDoesNotKnowYet) {
    context.limits.streams = 1;
    peer.start({.body = framed("later")});
    std::string out;
    EXPECT_TRUE(session().receive(peer.take_output(), {}));
    session().send(out, 10'000);
    out.clear();
    EXPECT_TRUE(session().receive(headers_of(3), {}));
    session().send(out, 10'000);
    EXPECT_EQ(out, "\0\0\4\3\0\0\0\0\3\0\0\0\7"s) << "RST_STREAM with REFUSED_STREAM";
    // Trailers of refused calls may be on their way.
    for (const char stream : "\3\5\3\5\5"s)
        EXPECT_TRUE(session().receive(headers_of(stream), {}));
    EXPECT_EQ(session().calls(), 1U);
}

TEST_F(ServerSessionTest, ClosesOnCallsAboveALimitThatTheClientKnows) {
    context.limits.streams = 1;
    peer.exchange(session());
    peer.start({.body = framed("later")});
    peer.exchange(session());
    session().receive(headers_of(3), {});
    std::string out;
    session().send(out, 10'000);
    peer.receive(out);
    EXPECT_EQ(peer.goaway_error, NGHTTP2_PROTOCOL_ERROR);
}

TEST_F(ServerSessionTest, IgnoresTrailersOfACallAfterItsDrain) {
    peer.start({.body = framed("later")});
    peer.exchange(session());
    session().drain();
    std::string out;
    session().send(out, 10'000);
    EXPECT_TRUE(session().receive(headers_of(3), {}));
    EXPECT_TRUE(session().receive(headers_of(3), {}));
    EXPECT_EQ(session().calls(), 1U);
}

TEST_F(ServerSessionTest, ClosesOnAPriorityOfTheConnection) {
    peer.exchange(session());
    EXPECT_TRUE(session().receive("\0\0\5\2\0\0\0\0\1\0\0\0\0\x10"s, {}));
    EXPECT_FALSE(session().receive("\0\0\5\2\0\0\0\0\0\0\0\0\0\x10"s, {}));
}

}  // namespace
}  // namespace sluice::grpc
