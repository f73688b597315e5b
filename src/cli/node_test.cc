#include "cli/node.h"

#include <future>
#include <string>

#include <gtest/gtest.h>

#include "cli/greeting.h"
#include "cli/http_client.h"
#include "log/captured_log.h"

namespace sluice::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kQuestion =
    R"({"namespace":"n","identifier":"i","limit":10,"duration":60000})";

// A node on a free port of loopback, and its log.
class NodeTest : public testing::Test {
  protected:
    void start(config::Settings settings) {
        settings.listen = {"127.0.0.1", 0};
        settings.threads = 2;
        auto node = Node::start(settings, log_);
        ASSERT_TRUE(node) << node.error().message;
        node_ = *std::move(node);
    }

    int status(const std::string& token = "") {
        const Target target{
            .url = *parse_url(url_of(node_->settings())), .token = token, .ca_cert = {}};
        const auto answer = post_json(target, "/v2/ratelimit.limit", kQuestion, 10s);
        return answer ? answer->status : 0;
    }

    void drain() {
        std::promise<void> drained;
        node_->drain([&] { drained.set_value(); });
        drained.get_future().wait();
    }

    bool has_logged(const std::string& text) {
        return captured_.text().find(text) != std::string::npos;
    }

    config::Loaded with_tokens(const std::vector<std::string>& secrets) const {
        config::Loaded loaded;
        loaded.settings = node_->settings();
        loaded.settings.tokens.clear();
        for (const std::string& secret : secrets)
            loaded.settings.tokens.push_back(config::all_powerful_token(secret, secret));
        return loaded;
    }

    CapturedLog captured_;
    Log& log_ = captured_.log;
    std::unique_ptr<Node> node_;
};

TEST_F(NodeTest, AnswersOnThePortThatItFound) {
    start({});
    EXPECT_NE(node_->settings().listen.port, 0);
    EXPECT_EQ(status(), 200);
}

TEST_F(NodeTest, StoresOverridesWhileItDecides) {
    start({});
    const Target target{.url = *parse_url(url_of(node_->settings())), .token = {}, .ca_cert = {}};
    const auto set = [&](int number) {
        const std::string body = R"({"namespace":"n","identifier":"i)" + std::to_string(number) +
                                 R"(","limit":10,"duration":60000})";
        const auto answer = post_json(target, "/v2/ratelimit.setOverride", body, 10s);
        return answer ? answer->status : 0;
    };
    auto other = std::async(std::launch::async, [&] {
        int stored = 0;
        for (int i = 0; i < 20; ++i)
            stored += set(i) == 200 ? 1 : 0;
        return stored;
    });
    for (int i = 0; i < 20; ++i)
        EXPECT_NE(status(), 0);
    EXPECT_EQ(other.get(), 20);
    drain();
}

TEST_F(NodeTest, TakesOverTokensOnAReload) {
    start({});
    EXPECT_EQ(status(), 200);
    node_->reload(with_tokens({"new"}));
    EXPECT_EQ(status(), 401);
    EXPECT_EQ(status("new"), 200);
    EXPECT_TRUE(has_logged("info reloaded tokens=1"));
}

TEST_F(NodeTest, KeepsTheOldWhereAReloadIsRefused) {
    start({});
    node_->reload(with_tokens({"new"}));
    node_->reload(Error{kInvalidOption, "sluice.toml:1: this is not TOML"});
    EXPECT_EQ(status("new"), 200);
    EXPECT_EQ(status(), 401);
    EXPECT_TRUE(has_logged("error reload_refused why=\"sluice.toml:1: this is not TOML\""));
}

TEST_F(NodeTest, AReloadDoesNotRemoveTheClientAuthorities) {
    config::Settings settings;
    settings.tls.client_ca = "ca.pem";
    start(settings);
    config::Loaded loaded = with_tokens({"new"});
    loaded.settings.tls.client_ca.clear();
    node_->reload(loaded);
    EXPECT_TRUE(has_logged(
        "error reload_refused why=\"tls.client_ca is empty: removing it needs a restart\""))
        << captured_.text();
    EXPECT_EQ(status(), 200) << "nothing was taken over";
}

TEST_F(NodeTest, TakesOverTheLogLevelOnAReload) {
    start({});
    config::Loaded loaded = with_tokens({});
    loaded.settings.log.level = config::LogLevel::kError;
    node_->reload(loaded);
    EXPECT_FALSE(has_logged("reloaded"));
}

TEST_F(NodeTest, TellsWhatAReloadCannotChange) {
    start({});
    config::Loaded loaded = with_tokens({});
    loaded.settings.region = "elsewhere";
    loaded.settings.max_keys = 5;
    node_->reload(loaded);
    EXPECT_TRUE(has_logged("warn restart_needed changed=region,max_keys"));
}

TEST_F(NodeTest, RefusesConnectionsOnceItHasDrained) {
    start({});
    EXPECT_EQ(status(), 200);
    drain();
    EXPECT_EQ(status(), 0);
}

TEST_F(NodeTest, LogsRequestsWhereThatIsAskedFor) {
    config::Settings settings;
    settings.log.requests = true;
    start(settings);
    status("hush");
    drain();
    node_.reset();
    EXPECT_TRUE(has_logged("info request request_id="));
    EXPECT_TRUE(
        has_logged("method=POST path=/v2/ratelimit.limit status=200 outcome=passed "
                   "workspace=default namespace=n peer=127.0.0.1"))
        << captured_.text();
    EXPECT_FALSE(has_logged("hush"));
}

TEST_F(NodeTest, SecondOneOnTheSamePortIsRefused) {
    start({});
    const auto second = Node::start(node_->settings(), log_);
    ASSERT_FALSE(second);
    EXPECT_TRUE(second.error().message.starts_with(
        "listen is \"" + config::to_string(node_->settings().listen) + "\": "))
        << second.error().message;
}

}  // namespace
}  // namespace sluice::cli
