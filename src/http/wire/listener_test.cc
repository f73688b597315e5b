#include "http/wire/listener.h"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "http/wire/test_server.h"

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

TEST(Listener, AnswersOneRequestAfterTheOther) {
    HttpTestServer server;
    TestClient client(server.port());
    for (int i = 0; i < 3; ++i) {
        client.send(post("/a?b", "body"));
        EXPECT_EQ(client.read_answer(), "200 POST /a?b body");
        EXPECT_EQ(client.head().find("Connection"), std::string::npos);
    }
    EXPECT_EQ(server.counters().requests.get(), 3);
    EXPECT_EQ(server.counters().accepted.get(), 1);
}

TEST(Listener, AnswersPipelinedRequestsInOrder) {
    // More than a turn, and more than one read returns.
    HttpTestServer server({.turn = {.calls = 3}});
    TestClient client(server.port());
    std::string all;
    for (int i = 0; i < 5'000; ++i)
        all += i % 7 == 0 ? get("/later?" + std::to_string(i)) : post("/" + std::to_string(i), "b");
    std::thread sender([&] { client.send(all); });
    for (int i = 0; i < 5'000; ++i) {
        const std::string number = std::to_string(i);
        const std::string expected =
            i % 7 == 0 ? "200 GET /later?" + number + "  later" : "200 POST /" + number + "? b";
        ASSERT_EQ(client.read_answer(), expected);
    }
    sender.join();
}

TEST(Listener, SendsPipelinedAnswersInOneWrite) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/1") + get("/2") + get("/3"));
    std::string bytes(4096, '\0');
    const ssize_t got = recv(client.socket(), bytes.data(), bytes.size(), 0);
    ASSERT_GT(got, 0);
    bytes.resize(static_cast<std::size_t>(got));
    EXPECT_NE(bytes.find("GET /3?"), std::string::npos);
}

TEST(Listener, AcceptsRequestsByteByByte) {
    HttpTestServer server;
    TestClient client(server.port());
    for (const char c : post("/slow", "body"))
        client.send({&c, 1});
    EXPECT_EQ(client.read_answer(), "200 POST /slow? body");
    for (const char c : std::string_view("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                         "chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")) {
        client.send({&c, 1});
    }
    EXPECT_EQ(client.read_answer(), "200 POST /c? ab");
}

TEST(Listener, AcceptsALargeBodyAndRefusesALargerOne) {
    HttpTestServer server;
    TestClient client(server.port());
    const std::string body(1024UL * 1024, 'x');
    client.send(post("/large", body));
    EXPECT_EQ(client.read_answer(), "200 POST /large? " + body);
    client.send(post("/larger", body + "x"));
    EXPECT_EQ(client.read_answer(), "413 The body is too long.");
    EXPECT_NE(client.head().find("Connection: close"), std::string::npos);
    EXPECT_EQ(client.read_answer(), "closed");
}

TEST(Listener, ClosesAfterAMalformedRequestAndAnswersThoseBeforeIt) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/good") + "GET /bad HTTP/1.1\nHost: h\n\n" + get("/never"));
    EXPECT_EQ(client.read_answer(), "200 GET /good? ");
    EXPECT_EQ(client.read_answer().substr(0, 4), "400 ");
    EXPECT_NE(client.head().find("Connection: close"), std::string::npos);
    EXPECT_EQ(client.read_answer(), "closed");
    EXPECT_EQ(server.counters().protocol_errors.get(), 1);
}

TEST(Listener, SendsContinueBeforeTheBodyComes) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send("POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client.read_answer(), "100 ");
    client.send("ab");
    EXPECT_EQ(client.read_answer(), "200 POST /e? ab");
}

TEST(Listener, AnswersARefusedExpectationAtOnceAndCloses) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/first") +
                "POST /closed HTTP/1.1\r\nHost: h\r\nX-Test: t\r\nExpect: "
                "100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client.read_answer(), "200 GET /first? ");
    EXPECT_EQ(client.read_answer(), "403 POST t");
    EXPECT_NE(client.head().find("Connection: close"), std::string::npos);
    client.send("ab" + get("/never"));
    EXPECT_EQ(client.read_answer(), "closed");
    EXPECT_EQ(server.counters().requests.get(), 1);
}

TEST(Listener, ChecksAnExpectationWhoseHeadArrivesInParts) {
    HttpTestServer server;
    TestClient client(server.port());
    for (const char c : std::string_view("POST /closed HTTP/1.1\r\nHost: h\r\nX-Test: t\r\nExpect: "
                                         "100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"))
        client.send({&c, 1});
    EXPECT_EQ(client.read_answer(), "403 POST t");
    EXPECT_EQ(client.read_answer(), "closed");
}

TEST(Listener, SurvivesAHandlerThatThrowsAtAnExpectation) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(
        "POST /throw HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client.read_answer(),
              "500 The server failed to answer this request. Cause: as asked.");
    EXPECT_EQ(client.read_answer(), "closed");
}

TEST(Listener, ServesHttp10AndHead) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(client.read_answer(), "200 GET /old? ");
    EXPECT_NE(client.head().find("Connection: keep-alive"), std::string::npos);
    client.send("HEAD /old HTTP/1.0\r\n\r\n");
    const std::string rest = client.read_to_end();
    EXPECT_NE(rest.find("Content-Length: 11\r\n"), std::string::npos);
    EXPECT_TRUE(rest.ends_with("Connection: close\r\n\r\n"));
}

TEST(Listener, AnswersAClientThatHasFinishedSending) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/one") + get("/later"));
    client.finish_sending();
    EXPECT_EQ(client.read_answer(), "200 GET /one? ");
    EXPECT_EQ(client.read_answer(), "200 GET /later?  later");
    EXPECT_EQ(client.read_answer(), "closed");
    wait_until([&] { return server.counters().connections.get() == 0; });
}

TEST(Listener, DefersAnAnswerWithoutBlockingOtherConnections) {
    HttpTestServer server;
    TestClient waiting(server.port());
    TestClient other(server.port());
    waiting.send(get("/before") + get("/held") + get("/after"));
    EXPECT_EQ(waiting.read_answer(), "200 GET /before? ");
    wait_until([&] { return server.handler().held_count.load(std::memory_order_acquire) == 1; });
    other.send(get("/other"));
    EXPECT_EQ(other.read_answer(), "200 GET /other? ");
    other.send(get("/finish"));
    EXPECT_EQ(other.read_answer(), "200 GET /finish? ");
    EXPECT_EQ(waiting.read_answer(), "200 GET /held? ");
    EXPECT_EQ(waiting.read_answer(), "200 GET /after? ");
}

TEST(Listener, AnswersIfACompletionIsDropped) {
    HttpTestServer server;
    TestClient waiting(server.port());
    TestClient other(server.port());
    waiting.send(get("/held") + get("/after"));
    wait_until([&] { return server.handler().held_count.load(std::memory_order_acquire) == 1; });
    other.send(get("/forget"));
    EXPECT_EQ(other.read_answer(), "200 GET /forget? ");
    EXPECT_EQ(waiting.read_answer(), "500 The server failed to answer this request.");
    EXPECT_EQ(waiting.read_answer(), "closed");
}

TEST(Listener, AcceptsACompletionCalledOrDroppedWithinHandle) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/at-once") + get("/dropped"));
    EXPECT_EQ(client.read_answer(), "200 GET /at-once? ");
    EXPECT_EQ(client.read_answer(), "500 The server failed to answer this request.");
    EXPECT_EQ(client.read_answer(), "closed");
}

TEST(Listener, SurvivesAHandlerThatThrows) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/throw"));
    EXPECT_EQ(client.read_answer(),
              "500 The server failed to answer this request. Cause: as asked.");
    TestClient next(server.port());
    next.send(get("/next"));
    EXPECT_EQ(next.read_answer(), "200 GET /next? ");
}

TEST(Listener, SurvivesAClientThatLeavesBeforeItsAnswer) {
    HttpTestServer server;
    {
        TestClient client(server.port());
        client.send(get("/held"));
        wait_until(
            [&] { return server.handler().held_count.load(std::memory_order_acquire) == 1; });
    }
    TestClient other(server.port());
    other.send(get("/finish"));
    EXPECT_EQ(other.read_answer(), "200 GET /finish? ");
    wait_until([&] { return server.counters().connections.get() == 1; });
}

TEST(Listener, MayBeDestroyedWhileAnswersAreDeferred) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/held"));
    wait_until([&] { return server.handler().held_count.load(std::memory_order_acquire) == 1; });
    server.destroy_listener();
    EXPECT_EQ(client.read_answer(), "closed");
}

TEST(Listener, AnswersASlowHeadWith408) {
    HttpTestServer server({.header_timeout = 50ms});
    TestClient client(server.port());
    client.send(get("/first"));
    EXPECT_EQ(client.read_answer(), "200 GET /first? ");
    const auto start = std::chrono::steady_clock::now();
    client.send("GET / HTTP/1.1\r\n");
    // Sending slowly does not extend the deadline.
    std::thread trickle([&] {
        for (int i = 0; i < 40; ++i) {
            client.send("X: y\r\n");
            std::this_thread::sleep_for(10ms);
        }
    });
    EXPECT_EQ(client.read_answer(), "408 The request did not arrive in time.");
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
    EXPECT_EQ(client.read_answer(), "closed");
    trickle.join();
    EXPECT_EQ(server.counters().timeouts.get(), 1);
}

TEST(Listener, AnswersASlowBodyWith408) {
    HttpTestServer server({.body_timeout = 50ms});
    TestClient client(server.port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    EXPECT_EQ(client.read_answer(), "408 The request did not arrive in time.");
    EXPECT_EQ(client.read_answer(), "closed");
}

TEST(Listener, ClosesIdleConnectionsSilently) {
    HttpTestServer server({.idle_timeout = 50ms});
    TestClient client(server.port());
    client.send(get("/"));
    EXPECT_EQ(client.read_answer(), "200 GET /? ");
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_EQ(server.counters().timeouts.get(), 0);
}

// The idle time is for clients that have sent a request.
TEST(Listener, ClosesAConnectionWithoutARequestAfterTheTimeForAHead) {
    HttpTestServer server({.header_timeout = 50ms});
    TestClient silent(server.port());
    EXPECT_EQ(silent.read_to_end(), "");
    EXPECT_EQ(server.counters().timeouts.get(), 1);
}

TEST(Listener, ClosesTheLongestIdleConnectionAtItsCap) {
    HttpTestServer server({.connections = 2});
    TestClient one(server.port());
    TestClient two(server.port());
    const auto ask = [](TestClient& client) {
        client.send(get("/"));
        return client.read_answer();
    };
    ASSERT_EQ(ask(one), "200 GET /? ");
    ASSERT_EQ(ask(two), "200 GET /? ");
    // Until the coarse clock of the server has moved.
    std::this_thread::sleep_for(20ms);
    ASSERT_EQ(ask(one), "200 GET /? ");
    TestClient three(server.port());
    EXPECT_EQ(ask(three), "200 GET /? ");
    EXPECT_EQ(two.read_to_end(), "");
    EXPECT_EQ(ask(one), "200 GET /? ");
    EXPECT_EQ(server.counters().evicted.get(), 1);
    EXPECT_EQ(server.counters().refused.get(), 0);
    EXPECT_EQ(server.counters().connections.get(), 2);
}

TEST(Listener, AdmitsNewConnectionsWhileManyAreSilent) {
    HttpTestServer server({.connections = 20});
    std::deque<TestClient> silent;
    for (int i = 0; i < 100; ++i) {
        TestClient& client = silent.emplace_back(server.port());
        // Nothing, or the beginning of a head.
        if (i % 2 == 0) client.send("GET / HT");
    }
    for (int i = 0; i < 30; ++i) {
        TestClient client(server.port());
        client.send(get("/"));
        ASSERT_EQ(client.read_answer(), "200 GET /? ");
    }
    EXPECT_EQ(server.counters().refused.get(), 0);
    EXPECT_GE(server.counters().evicted.get(), 80);
}

TEST(Listener, AnswersRequestsOfConnectionsThatArriveAtTheCapTogether) {
    HttpTestServer server({.connections = 10});
    BusyThread thread(server);
    std::deque<TestClient> clients;
    for (int i = 0; i < 40; ++i)
        clients.emplace_back(server.port()).send(get("/"));
    thread.release();
    // None is closed before its request, which had arrived, is answered.
    for (TestClient& client : clients)
        EXPECT_EQ(client.read_answer(), "200 GET /? ");
}

TEST(Listener, ClosesNoConnectionWithARequestForANewOne) {
    HttpTestServer server({.connections = 3});
    TestClient waiting(server.port());
    TestClient sending(server.port());
    TestClient streaming(server.port());
    waiting.send(get("/held"));
    sending.send("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbo");
    streaming.send(get("/stream"));
    wait_until([&] {
        return server.handler().held_count.load(std::memory_order_acquire) == 1 &&
               server.handler().stream_count.load(std::memory_order_acquire) == 1 &&
               server.counters().buffered.get() > 0;
    });
    TestClient refused(server.port());
    EXPECT_EQ(refused.read_answer(), "503 The server has too many connections.");
    EXPECT_EQ(refused.read_answer(), "closed");
    EXPECT_EQ(server.counters().refused.get(), 1);
    EXPECT_EQ(server.counters().evicted.get(), 0);
    sending.send("dy");
    EXPECT_EQ(sending.read_answer(), "200 POST /body? body");
    sending.send(get("/finish"));
    EXPECT_EQ(sending.read_answer(), "200 GET /finish? ");
    EXPECT_EQ(waiting.read_answer(), "200 GET /held? ");
}

TEST(Listener, DrainsWithoutLosingRequestsInProgress) {
    HttpTestServer server;
    TestClient idle(server.port());
    TestClient busy(server.port());
    TestClient partial(server.port());
    idle.send(get("/"));
    EXPECT_EQ(idle.read_answer(), "200 GET /? ");
    partial.send(get("/") + "GET /finish HTTP/1.1\r\n");
    EXPECT_EQ(partial.read_answer(), "200 GET /? ");
    busy.send(get("/held") + get("/never"));
    wait_until([&] { return server.handler().held_count.load(std::memory_order_acquire) == 1; });

    server.start_drain(20s);
    EXPECT_EQ(idle.read_to_end(), "");
    partial.send("Host: h\r\n\r\n" + get("/never"));
    for (TestClient* client : {&partial, &busy}) {
        EXPECT_EQ(client->read_answer(),
                  client == &partial ? "200 GET /finish? " : "200 GET /held? ");
        EXPECT_NE(client->head().find("Connection: close"), std::string::npos);
        EXPECT_EQ(client->read_answer(), "closed");
        client->finish_sending();
    }
    server.wait_until_drained();
    EXPECT_EQ(server.counters().requests.get(), 4);
}

TEST(Listener, AnswersRequestsThatArriveRightBeforeTheDrain) {
    for (int i = 0; i < 20; ++i) {
        HttpTestServer server;
        TestClient client(server.port());
        client.send(get("/"));
        EXPECT_EQ(client.read_answer(), "200 GET /? ");
        client.send(get("/last"));
        server.start_drain(20s);
        EXPECT_EQ(client.read_answer(), "200 GET /last? ");
        client.finish_sending();
        server.wait_until_drained();
    }
}

TEST(Listener, AnswersAllConnectionsThatWaitWhenTheDrainBegins) {
    HttpTestServer server;
    BusyThread thread(server);
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 300; ++i) {
        clients.push_back(std::make_unique<TestClient>(server.port()));
        clients.back()->send(get("/last"));
    }
    server.start_drain(20s);
    thread.release();
    for (const auto& client : clients) {
        ASSERT_EQ(client->read_answer(), "200 GET /last? ");
        client->finish_sending();
    }
    server.wait_until_drained();
}

TEST(Listener, ClosesConnectionsThatOutlastTheDrain) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(get("/held"));
    wait_until([&] { return server.handler().held_count.load(std::memory_order_acquire) == 1; });
    server.start_drain(50ms);
    server.wait_until_drained();
    EXPECT_EQ(client.read_answer(), "closed");
    EXPECT_EQ(server.counters().connections.get(), 0);
}

TEST(Listener, ClaimsOnlyAFreePort) {
    const auto free = claim({.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(free.has_value());
    EXPECT_NE(free->port, 0);
    HttpTestServer server;
    const auto taken = claim({.host = "127.0.0.1", .port = server.port()});
    ASSERT_FALSE(taken.has_value());
    EXPECT_NE(taken.error().message.find("127.0.0.1:" + std::to_string(server.port())),
              std::string::npos);
    EXPECT_FALSE(claim({.host = "192.0.2.1", .port = 0}).has_value());
    EXPECT_FALSE(claim({.host = "no.such.host.invalid", .port = 0}).has_value());
}

}  // namespace
}  // namespace sluice::http
