#include "grpc/client/client_session.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/server_session.h"

namespace sluice::grpc {
namespace {

using namespace std::string_literals;

// Repeats each message; "end" ends the call.
class Repeater final : public StreamHandler {
  public:
    explicit Repeater(StreamWriter& writer) : writer_(writer) {}
    void on_message(std::string_view message) override {
        if (message == "end") return writer_.finish({Code::kAborted, "50 % done"});
        writer_.send(message);
    }
    void on_end() override { writer_.finish({}); }

  private:
    StreamWriter& writer_;
};

// A client and a server, which exchange bytes in memory.
class ClientSessionTest : public testing::Test {
  protected:
    ClientSessionTest() {
        methods.add("test.Echo", "Repeat", StreamOpener([](StreamWriter& writer) {
                        return std::make_unique<Repeater>(writer);
                    }));
        server = std::make_unique<ServerSession>(context, "192.0.2.1", turn, nullptr);
        open("/test.Echo/Repeat");
    }

    void open(const std::string& path) {
        client = std::make_unique<ClientSession>(ClientSession::Options{
            .authority = "localhost:1",
            .path = path,
            .max_message = 100'000,
            .on_message = [this](std::string_view message) { got.emplace_back(message); }});
    }

    void exchange() {
        for (bool moved = true; moved;) {
            std::string request;
            EXPECT_TRUE(client->take_output(request));
            server->receive(request, ServerSession::Time{std::chrono::hours{1}});
            std::string response;
            EXPECT_TRUE(server->send(response, 1UL << 20U));
            EXPECT_TRUE(client->receive(response));
            moved = !request.empty() || !response.empty();
        }
    }

    MethodRegistry methods;
    SessionContext context{.methods = methods};
    http::Turn turn{{.bytes = SIZE_MAX, .records = SIZE_MAX, .calls = SIZE_MAX}};
    std::unique_ptr<ServerSession> server;
    std::unique_ptr<ClientSession> client;
    std::vector<std::string> got;
};

TEST_F(ClientSessionTest, ExchangesMessages) {
    client->send("a");
    exchange();
    client->send("b");
    client->send(std::string(90'000, 'x'));
    exchange();
    EXPECT_EQ(got, (std::vector{"a"s, "b"s, std::string(90'000, 'x')}));
    EXPECT_FALSE(client->end());
}

TEST_F(ClientSessionTest, ReturnsTheStatusOfTheCall) {
    client->send("a");
    client->send("end");
    exchange();
    EXPECT_EQ(got, std::vector{"a"s});
    EXPECT_EQ(client->end(), (Status{Code::kAborted, "50 % done"}));
}

TEST_F(ClientSessionTest, ReturnsTheStatusOfARefusedCall) {
    server = std::make_unique<ServerSession>(context, "192.0.2.1", turn, nullptr);
    open("/test.Echo/Sing");
    exchange();
    EXPECT_EQ(client->end(), (Status{Code::kUnimplemented, "There is no method /test.Echo/Sing."}));
}

TEST_F(ClientSessionTest, EndsACallWithALargeMessage) {
    client->send(std::string(100'001, 'x'));
    exchange();
    ASSERT_TRUE(client->end());
    EXPECT_EQ(client->end()->code, Code::kResourceExhausted);
    EXPECT_TRUE(got.empty());
    EXPECT_EQ(server->calls(), 0U);
}

TEST_F(ClientSessionTest, RefusesWhatIsNoHttp2) {
    std::string request;
    EXPECT_TRUE(client->take_output(request));
    client->receive("HTTP/1.1 400 Bad Request\r\n\r\n");
    EXPECT_FALSE(client->take_output(request));
}

}  // namespace
}  // namespace sluice::grpc
