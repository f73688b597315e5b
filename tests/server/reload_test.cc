// SIGHUP: new tokens and log level, no connection dropped.
#include <thread>

#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"i","limit":1000,"duration":2592000000})";

class Reload : public testing::Test {
  protected:
    // Signals, and waits until that many reloads have ended this way.
    void reload(const std::string& label, int times = 1) {
        server_.program().signal(SIGHUP);
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        while (sum_of(server_.get("/metrics").body, "sluice_reloads_total", label) < times) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server_.program().output();
            std::this_thread::sleep_for(10ms);
        }
    }

    int status_for(const std::string& token) {
        return server_.ask(kLimit, kBody, bearing(token)).status;
    }

    Server server_{{.config = to_toml({.token = "old-token"})}};
};

TEST_F(Reload, ReplacesTheTokens) {
    Connection open = server_.connect();
    EXPECT_EQ(open.ask(post(kLimit, kBody, bearing("old-token"))).status, 200);
    EXPECT_EQ(status_for("new-token"), 401);

    server_.rewrite_config(to_toml({.token = "new-token"}));
    reload(R"(result="ok")");
    EXPECT_EQ(status_for("new-token"), 200);
    EXPECT_EQ(status_for("old-token"), 401);
    EXPECT_EQ(open.ask(post(kLimit, kBody, bearing("new-token"))).status, 200)
        << "the connection was kept";
    EXPECT_EQ(open.ask(post(kLimit, kBody, bearing("old-token"))).status, 401);
}

TEST_F(Reload, RefusesAnInvalidFileAndKeepsTheOldOne) {
    int failures = 0;
    for (const std::string broken : {"this is [ not TOML",
                                     "unknown_key = 1\n",
                                     "[[tokens]]\nname = \"x\"\nsha256 = \"short\"\n"}) {
        server_.rewrite_config(broken);
        reload(R"(result="failed")", ++failures);
        EXPECT_EQ(status_for("old-token"), 200);
        EXPECT_EQ(status_for("wrong"), 401);
    }
    EXPECT_NE(server_.program().output().find("unknown_key"), std::string::npos)
        << "the log names the fault";
}

TEST_F(Reload, KeepsTheCounts) {
    EXPECT_EQ(status_for("old-token"), 200);
    server_.rewrite_config(to_toml({.token = "old-token"}) + to_toml({.token = "new-token"}));
    reload(R"(result="ok")");
    const Answer answer = server_.ask(kLimit, kBody, bearing("new-token"));
    EXPECT_EQ(expect_data(answer).at("remaining").as_int64(), 998);
}

TEST_F(Reload, LosesNoRequestUnderLoad) {
    std::atomic<bool> done = false;
    std::atomic<int> answered = 0;
    std::thread client([&] {
        Connection connection = server_.connect();
        while (!done) {
            EXPECT_EQ(connection.ask(post(kLimit, kBody, bearing("old-token"))).status, 200);
            ++answered;
        }
    });
    for (int i = 1; i <= 20; ++i)
        reload(R"(result="ok")", i);
    done = true;
    client.join();
    EXPECT_GT(answered, 0);
}

}  // namespace
}  // namespace sluice::server_test
