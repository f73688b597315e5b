#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/server_session.h"
#include "grpc/server_session_fixture.h"

namespace sluice::grpc {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST_F(ServerSessionTest, PassesTheDeadline) {
    call({.body = framed("x")});
    EXPECT_FALSE(last_deadline);
    call({.body = framed("x"), .fields = {{"grpc-timeout", "20m"}}});
    EXPECT_EQ(last_deadline,
              ServerSession::Time{std::chrono::hours{1}} + std::chrono::milliseconds{20});
    EXPECT_EQ(call({.body = framed("x"), .fields = {{"grpc-timeout", "0n"}}}).status(), "4");
    EXPECT_EQ(call({.body = framed("x"), .fields = {{"grpc-timeout", "20"}}}).status(), "13");
    EXPECT_EQ(call({.body = framed("x"), .fields = {{"grpc-timeout", "-1m"}}}).status(), "13");
}

TEST_F(ServerSessionTest, EndsADeferredCallAtItsDeadline) {
    const auto began = ServerSession::Time{std::chrono::hours{1}};
    const std::int32_t late =
        peer.start({.body = framed("later"), .fields = {{"grpc-timeout", "30m"}}});
    const std::int32_t later =
        peer.start({.body = framed("later"), .fields = {{"grpc-timeout", "40m"}}});
    const std::int32_t unlimited = peer.start({.body = framed("later")});
    peer.exchange(session());
    EXPECT_EQ(session().next_deadline(), began + 30ms);
    session().expire(began + 29ms);
    EXPECT_EQ(session().deferred_calls(), 3U);
    session().expire(began + 30ms);
    EXPECT_EQ(wakes, 1);
    EXPECT_EQ(session().next_deadline(), began + 40ms);
    EXPECT_EQ(session().deferred_calls(), 2U);
    peer.exchange(session());
    EXPECT_EQ(peer.response(late).status(), "4");
    EXPECT_EQ(peer.response(late).message(), "The deadline has passed.");
    EXPECT_TRUE(peer.response(late).is_closed);
    EXPECT_FALSE(peer.response(later).is_closed);
    // Its result is discarded, and those of the others are not.
    for (Completion& completion : held)
        completion({.bytes = "done"});
    run_posted();
    peer.exchange(session());
    EXPECT_EQ(peer.response(late).body, "");
    EXPECT_EQ(peer.response(later).body, framed("done"));
    EXPECT_EQ(peer.response(unlimited).body, framed("done"));
    EXPECT_FALSE(session().next_deadline());
    EXPECT_EQ(session().held_bytes(), 0U);
    EXPECT_EQ(context.counters.expired.get(), 1);
}

TEST_F(ServerSessionTest, EndsACallWhoseRequestIsIncompleteAtItsDeadline) {
    const std::int32_t stream = peer.start(
        {.body = framed("hello").substr(0, 7), .fields = {{"grpc-timeout", "1S"}}, .ends = false});
    peer.exchange(session());
    EXPECT_TRUE(session().awaited_since());
    session().expire(ServerSession::Time{std::chrono::hours{1}} + 1s);
    peer.exchange(session());
    EXPECT_EQ(peer.response(stream).status(), "4");
    EXPECT_TRUE(peer.response(stream).is_closed);
    EXPECT_FALSE(session().awaited_since());
    EXPECT_EQ(session().calls(), 0U);
}

TEST_F(ServerSessionTest, DoesNotHandleARequestThatIsCompleteAfterItsDeadline) {
    const std::int32_t stream =
        peer.start({.body = "", .fields = {{"grpc-timeout", "1S"}}, .ends = false});
    peer.exchange(session());
    peer.send_more(stream, framed("throw"), true);
    session().receive(peer.take_output(), ServerSession::Time{std::chrono::hours{1}} + 2s);
    peer.exchange(session());
    EXPECT_EQ(peer.response(stream).status(), "4");
    EXPECT_TRUE(failures.empty());
}

TEST_F(ServerSessionTest, EndsAStreamingCallAtItsDeadline) {
    const std::int32_t stream = peer.start({.path = "/test.Echo/Repeat",
                                            .body = framed("a"),
                                            .fields = {{"grpc-timeout", "1S"}},
                                            .ends = false});
    peer.exchange(session());
    EXPECT_EQ(messages_of(peer.response(stream).body), std::vector{"a"s});
    session().expire(ServerSession::Time{std::chrono::hours{1}} + 1s);
    peer.exchange(session());
    EXPECT_EQ(peer.response(stream).status(), "4");
    EXPECT_TRUE(peer.response(stream).is_closed);
}

TEST_F(ServerSessionTest, EndsTheRequestsThatAreIncompleteForTooLong) {
    const auto at = [](int seconds) { return ServerSession::Time{std::chrono::seconds{seconds}}; };
    const auto start = [&](const std::string& path) {
        return peer.start({.path = path, .body = framed("hello").substr(0, 7), .ends = false});
    };
    const std::int32_t unary = start("/test.Echo/Say");
    const std::int32_t streaming = start("/test.Echo/Repeat");
    session().receive(peer.take_output(), at(1));
    const std::int32_t later = start("/test.Echo/Say");
    session().receive(peer.take_output(), at(2));
    EXPECT_TRUE(session().end_overdue(at(1), at(5)));
    EXPECT_EQ(session().awaited_since(), at(2));
    peer.exchange(session());
    for (const std::int32_t stream : {unary, streaming}) {
        EXPECT_EQ(peer.response(stream).status(), "4");
        EXPECT_EQ(peer.response(stream).message(), "The request did not arrive in time.");
        EXPECT_TRUE(peer.response(stream).is_closed);
    }
    EXPECT_EQ(context.counters.expired.get(), 2);
    peer.send_more(later, framed("hello").substr(7), true);
    peer.exchange(session());
    EXPECT_EQ(peer.response(later).status(), "0");
    EXPECT_EQ(session().held_bytes(), 0U);
}

TEST_F(ServerSessionTest, EndsWithARequestWhoseFieldsAreIncompleteForTooLong) {
    const auto at = [](int seconds) { return ServerSession::Time{std::chrono::seconds{seconds}}; };
    session().receive(peer.take_output(), at(1));
    peer.start({.body = framed("hello")});
    session().receive(peer.take_output().substr(0, 12), at(1));
    EXPECT_EQ(session().awaited_since(), at(1));
    EXPECT_FALSE(session().end_overdue(at(1), at(2)));
    std::string out;
    session().send(out, 1'000);
    peer.receive(out);
    EXPECT_EQ(peer.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
    EXPECT_TRUE(session().is_finished());
}

TEST_F(ServerSessionTest, ForgetsTheDeadlineOfACallThatEnds) {
    call({.body = framed("x"), .fields = {{"grpc-timeout", "1S"}}});
    EXPECT_FALSE(session().next_deadline()) << "it was answered at once";
    const std::int32_t stream =
        peer.start({.body = framed("later"), .fields = {{"grpc-timeout", "1S"}}});
    peer.exchange(session());
    EXPECT_TRUE(session().next_deadline());
    peer.reset(stream);
    peer.exchange(session());
    EXPECT_FALSE(session().next_deadline());
    session().expire(ServerSession::Time::max());
    EXPECT_EQ(context.counters.expired.get(), 0);
}

// The window holds it back, so the call is still open, but its answer is there.
TEST_F(ServerSessionTest, LeavesAnAnswerThatIsNotTakenInTime) {
    TestPeer slow(10);
    const std::int32_t stream =
        slow.start({.body = framed(std::string(1'000, 'x')), .fields = {{"grpc-timeout", "1S"}}});
    slow.exchange(session());
    session().expire(ServerSession::Time::max());
    slow.open_window(stream, 10'000);
    slow.exchange(session());
    EXPECT_EQ(slow.response(stream).status(), "0");
}

}  // namespace
}  // namespace sluice::grpc
