#include "grpc/server_session.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/server_session_fixture.h"

namespace sluice::grpc {
namespace {

using namespace std::string_literals;

TEST_F(ServerSessionTest, AnswersAUnaryCall) {
    const TestResponse response = call({.body = framed("hello")});
    EXPECT_EQ(response.fields.at(":status"), "200");
    EXPECT_EQ(response.fields.at("content-type"), "application/grpc");
    EXPECT_EQ(response.body, framed("192.0.2.1 says hello"));
    EXPECT_EQ(response.status(), "0");
    EXPECT_EQ(response.fields.count("grpc-message"), 0U);
    EXPECT_TRUE(response.is_closed);
    EXPECT_EQ(response.error, 0U);
    EXPECT_EQ(session().calls(), 0U);
    EXPECT_EQ(session().held_bytes(), 0U);
    EXPECT_FALSE(session().has_unsent_answers());
}

TEST_F(ServerSessionTest, AnswersManyCallsOfOneRead) {
    std::vector<std::int32_t> streams;
    for (int i = 0; i < 100; ++i)
        streams.push_back(peer.start({.body = framed(std::to_string(i))}));
    EXPECT_TRUE(peer.exchange(session()));
    for (std::size_t i = 0; i < streams.size(); ++i)
        EXPECT_EQ(peer.response(streams[i]).body, framed("192.0.2.1 says " + std::to_string(i)));
}

TEST_F(ServerSessionTest, HandlesAnEmptyMessageAndOneOfManyFrames) {
    EXPECT_EQ(call({.body = framed("")}).body, framed("192.0.2.1 says "));
    const std::string large(500'000, 'x');
    EXPECT_EQ(call({.body = framed(large)}).body, framed("192.0.2.1 says " + large));
    EXPECT_EQ(session().held_bytes(), 0U);
}

TEST_F(ServerSessionTest, SendsAnErrorAsTrailersOnlyWithAnEncodedMessage) {
    const TestResponse response = call({.body = framed("deny")});
    EXPECT_EQ(response.status(), "7");
    EXPECT_EQ(response.fields.at("grpc-message"), "50 %25 of %C3%A4%0A");
    EXPECT_EQ(response.body, "");
}

TEST_F(ServerSessionTest, AnswersAnExceptionWithInternalAndReportsIt) {
    const TestResponse response = call({.body = framed("throw")});
    EXPECT_EQ(response.status(), "13");
    EXPECT_EQ(response.message(), "The server failed to answer this call.");
    EXPECT_EQ(failures, std::vector{"/test.Echo/Say: as asked"s});
    EXPECT_EQ(call({.body = framed("again")}).status(), "0");
}

TEST_F(ServerSessionTest, RefusesAnUnknownMethod) {
    const TestResponse response = call({.path = "/test.Echo/Sing", .body = framed("la")});
    EXPECT_EQ(response.status(), "12");
    EXPECT_EQ(response.message(), "There is no method /test.Echo/Sing.");
}

TEST_F(ServerSessionTest, RefusesWhatIsNoGrpcWithAnHttpStatus) {
    EXPECT_EQ(call({.content_type = "application/json"}).fields.at(":status"), "415");
    EXPECT_EQ(call({.content_type = ""}).fields.at(":status"), "415");
    EXPECT_EQ(call({.method = "GET"}).fields.at(":status"), "405");
    EXPECT_EQ(call({.body = framed("x"), .content_type = "application/grpc+proto"}).status(), "0");
}

TEST_F(ServerSessionTest, RefusesCompressionUnlessItIsIdentity) {
    EXPECT_EQ(call({.body = framed("x"), .fields = {{"grpc-encoding", "gzip"}}}).status(), "12");
    EXPECT_EQ(call({.body = framed("x"), .fields = {{"grpc-encoding", "identity"}}}).status(), "0");
    EXPECT_EQ(call({.body = "\1\0\0\0\1x"s}).status(), "12");
    EXPECT_EQ(call({.body = "\2\0\0\0\1x"s}).status(), "13");
}

TEST_F(ServerSessionTest, RefusesOtherThanOneCompleteMessage) {
    EXPECT_EQ(call({.body = ""}).message(), "A unary call has one message; there is none.");
    EXPECT_EQ(call({.body = framed("a") + framed("b")}).message(),
              "A unary call has one message; there are more.");
    EXPECT_EQ(call({.body = framed("abc").substr(0, 7)}).message(),
              "The last message is incomplete.");
    EXPECT_EQ(call({.body = framed("abc").substr(0, 3)}).status(), "13");
    EXPECT_FALSE(session().awaited_since());
}

TEST_F(ServerSessionTest, RefusesALargeMessageBeforeItHasArrived) {
    context.limits.message = 1'000;
    const std::int32_t stream =
        peer.start({.body = framed(std::string(1'001, 'x')).substr(0, 5), .ends = false});
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_EQ(peer.response(stream).status(), "8");
    EXPECT_EQ(peer.response(stream).message(), "The message is larger than 1000 bytes.");
    // The client is asked to stop.
    EXPECT_TRUE(peer.response(stream).is_closed);
    EXPECT_EQ(peer.response(stream).error, NGHTTP2_NO_ERROR);
    EXPECT_EQ(session().calls(), 0U);
    EXPECT_EQ(call({.body = framed(std::string(1'000, 'x'))}).status(), "0");
}

TEST_F(ServerSessionTest, RefusesLargeHeaderFieldsAndClosesOnAFlood) {
    context.limits.header_list = 4'000;
    const std::string long_value(1'000, 'x');
    TestFields fields{{"a", long_value}, {"b", long_value}, {"c", long_value}};
    EXPECT_EQ(call({.body = framed("x"), .fields = fields}).status(), "0");
    fields.emplace_back("d", long_value);
    EXPECT_EQ(call({.body = framed("x"), .fields = fields}).status(), "8");
    TestFields late = fields;
    late.emplace_back("content-type", "application/grpc");
    EXPECT_EQ(call({.body = framed("x"), .fields = late, .content_type = ""}).status(), "8")
        << "not 415 for a field that was not read";
    for (int i = 0; i < 15; ++i)
        fields.emplace_back("e", long_value);
    peer.start({.body = framed("x"), .fields = fields});
    EXPECT_FALSE(peer.exchange(session()));
    EXPECT_EQ(peer.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
    EXPECT_EQ(context.counters.floods.get(), 1);
}

TEST_F(ServerSessionTest, AnswersADeferredCallLater) {
    const std::int32_t stream = peer.start({.body = framed("later")});
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_EQ(session().deferred_calls(), 1U);
    EXPECT_FALSE(peer.response(stream).is_closed);
    EXPECT_EQ(call({.body = framed("meanwhile")}).status(), "0");
    held.front()({.bytes = "now"});
    EXPECT_EQ(wakes, 0);
    run_posted();
    EXPECT_EQ(wakes, 1);
    EXPECT_EQ(session().deferred_calls(), 0U);
    peer.exchange(session());
    EXPECT_EQ(peer.response(stream).body, framed("now"));
    EXPECT_EQ(peer.response(stream).status(), "0");
}

TEST_F(ServerSessionTest, AnswersADroppedCallWithInternal) {
    const std::int32_t stream = peer.start({.body = framed("later")});
    peer.exchange(session());
    held.clear();
    run_posted();
    peer.exchange(session());
    EXPECT_EQ(peer.response(stream).status(), "13");
}

TEST_F(ServerSessionTest, IgnoresTheAnswerToACancelledCall) {
    const std::int32_t stream = peer.start({.body = framed("later")});
    peer.exchange(session());
    peer.reset(stream);
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_EQ(session().calls(), 0U);
    EXPECT_EQ(session().deferred_calls(), 0U);
    EXPECT_EQ(session().held_bytes(), 0U);
    EXPECT_EQ(context.counters.cancelled.get(), 1);
    held.front()({.bytes = "too late"});
    run_posted();
    EXPECT_EQ(call({.body = framed("next")}).status(), "0");
}

TEST_F(ServerSessionTest, IgnoresAnAnswerAfterItsEnd) {
    peer.start({.body = framed("later")});
    peer.exchange(session());
    session_.reset();
    held.front()({.bytes = "too late"});
    run_posted();
    EXPECT_EQ(wakes, 0);
}

TEST_F(ServerSessionTest, StreamsMessagesBothWays) {
    const std::int32_t stream =
        peer.start({.path = "/test.Echo/Repeat", .body = framed("a"), .ends = false});
    peer.exchange(session());
    EXPECT_EQ(messages_of(peer.response(stream).body), std::vector{"a"s});
    EXPECT_FALSE(session().has_unsent_answers());
    peer.send_more(stream, framed("b") + framed("c").substr(0, 3), false);
    peer.exchange(session());
    EXPECT_TRUE(session().awaited_since());
    peer.send_more(stream, framed("c").substr(3), true);
    peer.exchange(session());
    EXPECT_EQ(messages_of(peer.response(stream).body), (std::vector{"a"s, "b"s, "c"s}));
    EXPECT_EQ(peer.response(stream).status(), "0");
    EXPECT_EQ(session().held_bytes(), 0U);
}

TEST_F(ServerSessionTest, AwaitsEachMessageOfAStreamByItself) {
    const auto at = [](int seconds) { return ServerSession::Time{std::chrono::seconds{seconds}}; };
    const std::int32_t stream =
        peer.start({.path = "/test.Echo/Repeat", .body = framed("a"), .ends = false});
    session().receive(peer.take_output(), at(1));
    EXPECT_FALSE(session().awaited_since());
    const auto send_at = [&](int seconds, const std::string& bytes) {
        peer.send_more(stream, bytes, false);
        session().receive(peer.take_output(), at(seconds));
        return session().awaited_since();
    };
    const std::string message = framed("b");
    EXPECT_EQ(send_at(2, message.substr(0, 3)), at(2));
    EXPECT_EQ(send_at(3, message.substr(3, 1)), at(2));
    EXPECT_EQ(send_at(4, message.substr(4) + message.substr(0, 3)), at(4)) << "of the next one";
    const std::int32_t unary = peer.start({.body = framed("hello").substr(0, 7), .ends = false});
    session().receive(peer.take_output(), at(5));
    EXPECT_EQ(send_at(6, message.substr(3)), at(5)) << "of the other call";
    peer.reset(unary);
    session().receive(peer.take_output(), at(7));
    EXPECT_FALSE(session().awaited_since());
}

TEST_F(ServerSessionTest, EndsAStreamWithItsStatus) {
    const TestResponse after_one =
        call({.path = "/test.Echo/Repeat", .body = framed("a") + framed("end"), .ends = false});
    EXPECT_EQ(after_one.status(), "10");
    EXPECT_TRUE(after_one.is_closed);
    const TestResponse at_once =
        call({.path = "/test.Echo/Repeat", .body = framed("end"), .ends = false});
    EXPECT_EQ(at_once.status(), "10");
    const TestResponse thrown =
        call({.path = "/test.Echo/Repeat", .body = framed("a") + framed("throw"), .ends = false});
    EXPECT_EQ(thrown.status(), "13");
    EXPECT_EQ(session().calls(), 0U);
}

// A string that was long once keeps its memory.
TEST_F(ServerSessionTest, CountsTheMemoryThatAnAnswerHasAllocated) {
    TestPeer slow(1);
    const std::int32_t stream = slow.start({.body = framed("spacious")});
    slow.exchange(session());
    EXPECT_GT(session().held_bytes(), kSpacious);
    slow.open_window(stream, 1'000);
    slow.exchange(session());
    EXPECT_EQ(slow.response(stream).body, framed("spacious"));
    EXPECT_EQ(session().held_bytes(), 0U);
}

TEST_F(ServerSessionTest, CountsTheFieldsOfAnIncompleteCall) {
    peer.start({.fields = {{"traceparent", std::string(10'000, 'x')}}, .ends = false});
    peer.exchange(session());
    EXPECT_GT(session().held_bytes(), 10'000U);
}

TEST_F(ServerSessionTest, FreesTheMemoryOfMessagesThatWereHandled) {
    const std::string large = framed(std::string(60'000, 'x'));
    const std::int32_t stream = peer.start(
        {.path = "/test.Echo/Repeat", .body = large + framed("a").substr(0, 1), .ends = false});
    peer.exchange(session());
    EXPECT_EQ(peer.response(stream).body, large);
    EXPECT_LT(session().held_bytes(), 10'000U);
    const std::int32_t deferred = peer.start({.body = framed("later")});
    peer.exchange(session());
    EXPECT_FALSE(peer.response(deferred).is_closed);
    EXPECT_LT(session().held_bytes(), 10'000U);
}

TEST_F(ServerSessionTest, SendsNoMoreInATurnThanItsBudgetAllows) {
    constexpr std::size_t kCalls = 50;
    for (std::size_t i = 0; i < kCalls; ++i)
        peer.start({.body = framed("later")});
    peer.exchange(session());
    for (Completion& completion : std::exchange(held, {}))
        completion({.bytes = "done"});
    run_posted();
    // Each call needs three: a head, a message and trailers. The last two end it.
    constexpr std::size_t kFrames = 30;
    turn = http::Turn({.records = kFrames});
    std::size_t turns = 0;
    for (std::size_t ended = 0; ended < kCalls; ++turns) {
        turn.begin();
        std::string out;
        ASSERT_TRUE(session().send(out, 1'000'000));
        ASSERT_TRUE(peer.receive(out));
        const std::size_t before = std::exchange(ended, kCalls - session().calls());
        EXPECT_LE(ended, before + kFrames / 2);
        ASSERT_LE(turns, kCalls);
    }
    EXPECT_GE(turns, 3 * kCalls / kFrames);
}

TEST_F(ServerSessionTest, EndsAStreamWhoseMessagesStayUnread) {
    context.limits.stream_unsent = 10'000;
    TestPeer slow(100);
    std::string body;
    for (int i = 0; i < 20; ++i)
        body += framed(std::string(1'000, 'x'));
    const std::int32_t stream =
        slow.start({.path = "/test.Echo/Repeat", .body = body, .ends = false});
    slow.exchange(session());
    EXPECT_TRUE(session().has_unsent_answers());
    EXPECT_LT(session().held_bytes(), 32'000U);
    slow.open_window(stream, 1'000'000);
    slow.exchange(session());
    EXPECT_EQ(slow.response(stream).status(), "8");
    EXPECT_FALSE(session().has_unsent_answers());
}

TEST_F(ServerSessionTest, ForgetsTheMessagesThatASlowClientHasRead) {
    TestPeer slow(1'500);
    const std::string message = framed(std::string(995, 'x'));
    const std::int32_t stream =
        slow.start({.path = "/test.Echo/Repeat", .body = message + message, .ends = false});
    slow.open_window(0, 1'000'000);
    slow.exchange(session());
    for (int i = 0; i < 100; ++i) {
        slow.open_window(stream, 1'000);
        slow.send_more(stream, message, false);
        slow.exchange(session());
        ASSERT_TRUE(session().has_unsent_answers());
        ASSERT_LT(session().held_bytes(), 8'000U) << i;
    }
    EXPECT_EQ(slow.response(stream).body.size(), 101'500U);
}

TEST_F(ServerSessionTest, CountsAnAnswerThatTheClientDoesNotTake) {
    TestPeer slow(10);
    const std::int32_t stream = slow.start({.body = framed(std::string(1'000, 'x'))});
    slow.exchange(session());
    EXPECT_TRUE(session().has_unsent_answers());
    EXPECT_GE(session().held_bytes(), 1'000U);
    slow.open_window(stream, 10'000);
    slow.exchange(session());
    EXPECT_FALSE(session().has_unsent_answers());
    EXPECT_EQ(slow.response(stream).body.size(), 1'020U);
    EXPECT_EQ(session().held_bytes(), 0U);
}

TEST_F(ServerSessionTest, ClosesOnAFloodOfPings) {
    context.limits.control_frames = {.burst = 50, .per_second = 0};
    for (int i = 0; i < 40; ++i)
        peer.ping();
    EXPECT_TRUE(peer.exchange(session()));
    // Answered calls earn more.
    for (int i = 0; i < 10; ++i)
        call({.body = framed("x")});
    for (int i = 0; i < 40; ++i)
        peer.ping();
    EXPECT_TRUE(peer.exchange(session()));
    for (int i = 0; i < 40; ++i)
        peer.ping();
    EXPECT_FALSE(peer.exchange(session()));
    EXPECT_EQ(peer.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(ServerSessionTest, ClosesOnAFloodOfOtherFrames) {
    context.limits.control_frames = {.burst = 50, .per_second = 0};
    const std::vector<std::pair<std::string, std::string>> frames{
        {"PRIORITY", "\0\0\5\2\0\0\0\0\1\0\0\0\0\x10"s},
        {"SETTINGS", "\0\0\0\4\0\0\0\0\0"s},
        {"WINDOW_UPDATE", "\0\0\4\x8\0\0\0\0\0\0\0\0\1"s}};
    for (const auto& [name, bytes] : frames) {
        session_.reset();
        TestPeer client;
        client.exchange(session());
        bool is_open = true;
        int count = 0;
        for (; is_open && count < 100; ++count)
            is_open = session().receive(bytes, ServerSession::Time{std::chrono::hours{1}});
        EXPECT_FALSE(is_open) << name;
        EXPECT_GE(count, 45) << name;
    }
}

TEST_F(ServerSessionTest, ClosesOnAFloodOfResets) {
    context.limits.resets = {.burst = 20, .per_second = 0};
    for (const std::uint32_t error : {NGHTTP2_CANCEL, NGHTTP2_NO_ERROR}) {
        session_.reset();
        TestPeer client;
        const std::int64_t cancelled = context.counters.cancelled.get();
        bool is_open = true;
        int resets = 0;
        for (; is_open && resets < 100; ++resets) {
            const std::int32_t stream = client.start({.body = framed("later")});
            client.exchange(session());
            client.reset(stream, error);
            is_open = client.exchange(session());
        }
        EXPECT_EQ(resets, 21) << error;
        EXPECT_EQ(client.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
        EXPECT_EQ(context.counters.cancelled.get() - cancelled, 20);
    }
}

TEST_F(ServerSessionTest, DoesNotCountResetsOfAnsweredCalls) {
    context.limits.resets = {.burst = 5, .per_second = 0};
    for (int i = 0; i < 20; ++i) {
        const std::int32_t stream = peer.start({.body = framed("x")});
        peer.exchange(session());
        peer.reset(stream);
        ASSERT_TRUE(peer.exchange(session()));
    }
}

TEST_F(ServerSessionTest, LimitsConcurrentCalls) {
    context.limits.streams = 3;
    ASSERT_TRUE(peer.exchange(session()));
    std::vector<std::int32_t> streams;
    for (int i = 0; i < 5; ++i)
        streams.push_back(peer.start({.body = framed("later")}));
    peer.exchange(session());
    // The client's library keeps to the limit.
    EXPECT_EQ(session().deferred_calls(), 3U);
}

TEST_F(ServerSessionTest, FinishesCallsInProgressWhenItDrains) {
    const std::int32_t stream = peer.start({.body = framed("later")});
    peer.exchange(session());
    session().announce_drain();
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_EQ(peer.goaway_error, NGHTTP2_NO_ERROR);
    EXPECT_EQ(peer.goaway_last, 0x7fffffff);
    EXPECT_TRUE(session().has_drain_ack());
    session().drain();
    EXPECT_TRUE(peer.exchange(session()));
    EXPECT_EQ(peer.goaway_last, stream);
    held.front()({.bytes = "last"});
    run_posted();
    EXPECT_FALSE(peer.exchange(session()));
    EXPECT_TRUE(session().is_finished());
    EXPECT_EQ(peer.response(stream).body, framed("last"));
}

TEST_F(ServerSessionTest, ClosesOnBytesThatAreNoHttp2) {
    EXPECT_FALSE(session().receive("GET / HTTP/1.1\r\nHost: h\r\n\r\n", {}));
}

TEST_F(ServerSessionTest, AnswersAMalformedFrameWithGoaway) {
    peer.exchange(session());
    session().receive("\0\0\1\6\0\0\0\0\0x"s, {});  // a PING of one byte
    std::string out;
    session().send(out, 1'000);
    peer.receive(out);
    EXPECT_EQ(peer.goaway_error, NGHTTP2_FRAME_SIZE_ERROR);
    EXPECT_TRUE(session().is_finished());
}

}  // namespace
}  // namespace sluice::grpc
