// Request framing: keep-alive, pipelining, chunks, and forms that could smuggle a request.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";

std::string body_about(int index) {
    return R"({"namespace":"pipe","identifier":"i","limit":)" + std::to_string(1000 + index) +
           R"(,"duration":2592000000})";
}

class Framing : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = std::make_unique<Server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    // Sends bytes that must not be understood, and behind them a request that must not be answered.
    static void expect_refused(const std::string& bytes, std::vector<int> statuses = {400}) {
        SCOPED_TRACE(bytes);
        Connection connection = server_->connect();
        connection.send(bytes + get_request("/healthz"));
        std::string rest = connection.receive_rest();
        const auto answer = take_answer(rest);
        ASSERT_TRUE(answer) << "there was no answer";
        EXPECT_NE(std::find(statuses.begin(), statuses.end(), answer->status), statuses.end())
            << answer->status;
        expect_error(*answer, answer->status);
        EXPECT_EQ(answer->field("Connection"), "close");
        EXPECT_EQ(rest, "") << "the connection was read further";
    }

    // A POST with these lines in its head, before and after the body.
    static std::string with_lines(const std::string& lines,
                                  const std::string& body = std::string(kBody)) {
        return "POST /v2/ratelimit.limit HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
               "application/json\r\n" +
               lines + "\r\n" + body;
    }

    static std::string length() {
        return "Content-Length: " + std::to_string(kBody.size()) + "\r\n";
    }

    static std::string chunked(const std::string& body) {
        return with_lines("Transfer-Encoding: chunked\r\n", body);
    }

    static inline std::unique_ptr<Server> server_;
};

TEST_F(Framing, AConnectionServesManyRequests) {
    Connection connection = server_->connect();
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(connection.ask(post(kLimit, kBody)).status, 200);
}

TEST_F(Framing, PipelinedRequestsAreAnsweredInOrder) {
    std::string all;
    for (int i = 0; i < 500; ++i)
        all += post(kLimit, body_about(i));
    Connection connection = server_->connect();
    connection.send(all);
    for (int i = 0; i < 500; ++i)
        EXPECT_EQ(expect_data(connection.receive()).at("limit").as_int64(), 1000 + i);
}

TEST_F(Framing, MorePipelinedRequestsThanAllowedWaitTheirTurn) {
    const Server server({.config = "[http]\nmax_pipelined = 2\n"});
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += post(kLimit, body_about(i));
    Connection connection = server.connect();
    connection.send(all);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(expect_data(connection.receive()).at("limit").as_int64(), 1000 + i);
}

TEST_F(Framing, ARequestMayArriveByteByByte) {
    Connection connection = server_->connect();
    for (const char byte : post(kLimit, kBody))
        connection.send({&byte, 1});
    EXPECT_EQ(connection.receive().status, 200);
}

TEST_F(Framing, ConnectionCloseIsHonoured) {
    Connection connection = server_->connect();
    const Answer answer = connection.ask(post(kLimit, kBody, {{"Connection", "close"}}));
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_EQ(connection.receive_rest(), "");
}

TEST_F(Framing, Http10ClosesUnlessKeepAliveIsRequested) {
    Connection once = server_->connect();
    once.send("GET /healthz HTTP/1.0\r\n\r\n");
    EXPECT_NE(once.receive_rest().find("200"), std::string::npos);

    Connection again = server_->connect();
    const Answer answer = again.ask("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(answer.field("Connection"), "keep-alive");
    EXPECT_EQ(again.ask(get_request("/healthz")).status, 200);
}

TEST_F(Framing, AClientThatOnlySendsItsEndStillGetsItsAnswers) {
    Connection connection = server_->connect();
    connection.send(post(kLimit, kBody) + post(kLimit, kBody));
    connection.finish_sending();
    EXPECT_EQ(connection.receive().status, 200);
    EXPECT_EQ(connection.receive().status, 200);
    EXPECT_EQ(connection.receive_rest(), "");
}

TEST_F(Framing, AChunkedBodyIsAccepted) {
    Connection connection = server_->connect();
    const std::string body(kBody);
    const auto in_hex = [](std::size_t size) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        return std::string{kDigits[size / 16], kDigits[size % 16]};
    };
    const std::string chunks = "5\r\n" + body.substr(0, 5) + "\r\n" + in_hex(body.size() - 5) +
                               ";ext=1\r\n" + body.substr(5) + "\r\n0\r\nX-Trailer: t\r\n\r\n";
    EXPECT_EQ(connection.ask(chunked(chunks)).status, 200);
    EXPECT_EQ(connection.ask(post(kLimit, kBody)).status, 200)
        << "the next request begins where the body ended";
}

TEST_F(Framing, AClientThatExpectsContinueGetsIt) {
    Connection connection = server_->connect();
    connection.send(with_lines(length() + "Expect: 100-continue\r\n", ""));
    EXPECT_EQ(connection.receive().status, 100);
    EXPECT_EQ(connection.ask(kBody).status, 200);
}

TEST_F(Framing, HeadIsAnsweredWithTheHeaderOfGetAlone) {
    Connection connection = server_->connect();
    connection.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string rest = connection.receive_rest();
    EXPECT_TRUE(rest.starts_with("HTTP/1.1 200 ")) << rest;
    EXPECT_TRUE(rest.ends_with("\r\n\r\n")) << rest;
    EXPECT_NE(rest.find("Content-Length: "), std::string::npos) << rest;
    EXPECT_EQ(rest.find("Content-Length: 0"), std::string::npos) << rest;
}

TEST_F(Framing, AnEmptyCookieIsAccepted) {
    EXPECT_EQ(server_->connect().ask(with_lines(length() + "cookie: \r\n")).status, 200);
}

TEST_F(Framing, TwoLengthsAreRefused) {
    expect_refused(with_lines(length() + "Content-Length: 0\r\n"));
    expect_refused(with_lines("Content-Length: 0\r\n" + length()));
    expect_refused(with_lines(length() + length()));
    expect_refused(with_lines("Content-Length: 61, 61\r\n"));
}

TEST_F(Framing, ALengthThatIsNoPlainNumberIsRefused) {
    for (const std::string value : {"+61",
                                    "-1",
                                    "0x3d",
                                    "6 1",
                                    "61.0",
                                    "",
                                    "a",
                                    "18446744073709551616",
                                    "99999999999999999999999"})
        expect_refused(with_lines("Content-Length: " + value + "\r\n"), {400, 413});
}

TEST_F(Framing, ALengthWithChunksIsRefused) {
    expect_refused(with_lines(length() + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"));
    expect_refused(with_lines("Transfer-Encoding: chunked\r\n" + length(), "0\r\n\r\n"));
}

TEST_F(Framing, ACodingOtherThanChunkedOnceIsRefused) {
    for (const std::string value : {"identity",
                                    "gzip, chunked",
                                    "chunked, chunked",
                                    "chunked, identity",
                                    "xchunked",
                                    "chunked;q=1",
                                    "\"chunked\"",
                                    "\vchunked",
                                    ""})
        expect_refused(with_lines("Transfer-Encoding: " + value + "\r\n", "0\r\n\r\n"), {400, 501});
    expect_refused(
        with_lines("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
        {400, 501});
    expect_refused(
        "POST /v2/ratelimit.limit HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

TEST_F(Framing, ABareLineFeedIsRefused) {
    expect_refused("GET /healthz HTTP/1.1\nHost: localhost\n\n");
    expect_refused("GET /healthz HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n");
    expect_refused(with_lines("X: y\n" + length()));
    expect_refused("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n");
}

TEST_F(Framing, AFoldedOrOddFieldIsRefused) {
    expect_refused(with_lines("X: a\r\n b\r\n" + length()));
    expect_refused(with_lines("X: a\r\n\tb\r\n" + length()));
    expect_refused("GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n");
    expect_refused(with_lines("Content-Length : 61\r\n"));
    expect_refused(with_lines(" Content-Length: 61\r\n"));
    expect_refused(with_lines("Content\tLength: 61\r\n" + length()));
    expect_refused(with_lines("no colon\r\n" + length()));
    expect_refused(with_lines(": nameless\r\n" + length()));
    expect_refused(with_lines("X: a\rb\r\n" + length()));
    expect_refused(with_lines(std::string("X: a\0b\r\n", 8) + length()));
}

TEST_F(Framing, ARequestNeedsOneHost) {
    expect_refused("GET /healthz HTTP/1.1\r\n\r\n");
    expect_refused("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
}

TEST_F(Framing, ARequestHasOneAuthorization) {
    expect_refused(with_lines(length() + "Authorization: Bearer a\r\nAuthorization: Bearer a\r\n"));
}

TEST_F(Framing, AForeignHostIsRefused) {
    const auto asks = [](const std::string& host) { return post(kLimit, kBody, {{"Host", host}}); };
    Connection connection = server_->connect();
    for (const std::string host : {"example.com", "evil.example:8080", "127.0.0.1.example.com"})
        expect_error(connection.ask(asks(host)), 421);
    for (const std::string host : {"localhost", "127.0.0.1:8080", "[::1]:8080", "a.localhost"})
        EXPECT_EQ(connection.ask(asks(host)).status, 200) << host;
    EXPECT_EQ(connection.ask("GET /healthz HTTP/1.1\r\nHost: example.com\r\n\r\n").status, 421);
    expect_error(
        server_->connect_to_admin().ask("GET /metrics HTTP/1.1\r\nHost: example.com\r\n\r\n"), 421);
}

TEST(ForeignHost, IsAcceptedIfASettingAllowsIt) {
    const std::string request = post(kLimit, kBody, {{"Host", "example.com"}});
    const Server named({.flags = {"--allowed-hosts", "sluice.internal,Example.com"}});
    EXPECT_EQ(named.connect().ask(request).status, 200);
    Fields fields = bearing("a-token");
    fields.emplace_back("Host", "example.com");
    const Server behind_proxy(
        {.flags = {"--behind-proxy"}, .config = to_toml({.token = "a-token"})});
    EXPECT_EQ(behind_proxy.connect().ask(post(kLimit, kBody, fields)).status, 200);
    expect_error(
        behind_proxy.connect_to_admin().ask("GET /metrics HTTP/1.1\r\nHost: example.com\r\n\r\n"),
        421);
}

// A foreign page can reach it through a browser on this machine as well as any other.
TEST(ForeignHost, IsRefusedBehindAProxyWithoutTokens) {
    const Server open({.flags = {"--behind-proxy", "--allowed-hosts", "limits.example"}});
    expect_error(open.connect().ask(post(kLimit, kBody, {{"Host", "example.com"}})), 421);
    for (const std::string host : {"limits.example", "localhost:8080"})
        EXPECT_EQ(open.connect().ask(post(kLimit, kBody, {{"Host", host}})).status, 200) << host;
}

TEST_F(Framing, AMalformedRequestLineIsRefused) {
    expect_refused("nonsense\r\n\r\n");
    expect_refused("GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_refused("GET /healthz\r\nHost: localhost\r\n\r\n");
    expect_refused("GET /health\x01z HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_refused("G@T /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_refused("GET /healthz http/1.1\r\nHost: localhost\r\n\r\n");
}

TEST_F(Framing, AnotherVersionOfHttpIs505) {
    expect_refused("GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n", {505});
    expect_refused("GET /healthz HTTP/1.2\r\nHost: localhost\r\n\r\n", {505});
    expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505});
}

TEST_F(Framing, MalformedChunksAreRefused) {
    for (const std::string body : {"x\r\n",
                                   "-1\r\nab\r\n0\r\n\r\n",
                                   "+1\r\na\r\n0\r\n\r\n",
                                   "0x1\r\na\r\n0\r\n\r\n",
                                   "1\na\n0\n\n",
                                   "1\r\nab\r\n0\r\n\r\n",
                                   " 1\r\na\r\n0\r\n\r\n",
                                   "\r\n",
                                   "1;\na\r\n0\r\n\r\n",
                                   "0\r\nTrailer\r\n\r\n",
                                   "0\r\n\n"})
        expect_refused(chunked(body));
    expect_refused(chunked("ffffffffffffffff\r\na\r\n"), {400, 413});
    expect_refused(chunked("10000000000000001\r\na\r\n"), {400, 413});
}

TEST_F(Framing, ARefusalLeavesOtherConnectionsAlone) {
    Connection good = server_->connect();
    EXPECT_EQ(good.ask(post(kLimit, kBody)).status, 200);
    expect_refused("nonsense\r\n\r\n");
    EXPECT_EQ(good.ask(post(kLimit, kBody)).status, 200);
}

}  // namespace
}  // namespace sluice::server_test
