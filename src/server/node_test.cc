#include "server/node.h"

#include <cstdio>
#include <fstream>
#include <future>
#include <iterator>
#include <regex>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include "log/captured_log.h"

namespace sluice::server {
namespace {

namespace beast_http = boost::beast::http;

// Sends JSON to a node and returns the status of its response, or 0 if there is none.
int send(const Node& node,
         beast_http::verb method,
         const char* path,
         const std::string& body,
         const std::string& token) {
    namespace asio = boost::asio;
    const config::Address& address = node.settings().listen;
    beast_http::request<beast_http::string_body> request(method, path, 11);
    request.set(beast_http::field::host, config::to_string(address));
    request.set(beast_http::field::content_type, "application/json");
    if (!token.empty()) request.set(beast_http::field::authorization, "Bearer " + token);
    request.body() = body;
    request.prepare_payload();
    asio::io_context loop;
    asio::ip::tcp::socket socket(loop);
    boost::system::error_code failed;
    socket.connect({asio::ip::make_address(address.host), address.port}, failed);
    if (!failed) beast_http::write(socket, request, failed);
    beast_http::response<beast_http::string_body> response;
    boost::beast::flat_buffer buffer;
    if (!failed) beast_http::read(socket, buffer, response, failed);
    return failed ? 0 : static_cast<int>(response.result_int());
}

int post(const Node& node, const char* path, const std::string& body, const std::string& token) {
    return send(node, beast_http::verb::post, path, body, token);
}

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
        return post(*node_,
                    "/v2/ratelimit.limit",
                    R"({"namespace":"n","identifier":"i","limit":10,"duration":60000})",
                    token);
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

TEST_F(NodeTest, RespondsOnTheAssignedPort) {
    start({});
    EXPECT_NE(node_->settings().listen.port, 0);
    EXPECT_EQ(status(), 200);
}

TEST_F(NodeTest, IsHealthyWithoutValidRulesUnlessTheyAreNeeded) {
    config::Settings settings;
    settings.rules = testing::TempDir() + "sluice_node_" + std::to_string(getpid()) + ".yaml";
    std::ofstream(settings.rules) << "domain: [";
    const auto health = [&] { return send(*node_, beast_http::verb::get, "/healthcheck", "", ""); };
    start(settings);
    EXPECT_EQ(health(), 200);
    EXPECT_EQ(post(*node_, "/json", R"({"domain":"web","descriptors":[{}]})", ""), 400);
    settings.rls.needs_rules = true;
    start(settings);
    EXPECT_EQ(health(), 500);
    std::ofstream(settings.rules) << "domain: web";
    start(settings);
    EXPECT_EQ(health(), 200);
    EXPECT_EQ(post(*node_, "/json", R"({"domain":"web","descriptors":[{}]})", ""), 200);
    std::remove(settings.rules.c_str());
}

TEST_F(NodeTest, StoresOverridesWhileItDecides) {
    start({});
    const auto set = [&](int number) {
        const std::string body = R"({"namespace":"n","identifier":"i)" + std::to_string(number) +
                                 R"(","limit":10,"duration":60000})";
        return post(*node_, "/v2/ratelimit.setOverride", body, "");
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

TEST_F(NodeTest, ReloadAppliesTokens) {
    start({});
    EXPECT_EQ(status(), 200);
    node_->reload(with_tokens({"new"}));
    EXPECT_EQ(status(), 401);
    EXPECT_EQ(status("new"), 200);
    EXPECT_TRUE(has_logged("info reloaded tokens=1"));
}

TEST_F(NodeTest, RefusedReloadChangesNothing) {
    start({});
    node_->reload(with_tokens({"new"}));
    node_->reload(Error{kInvalidOption, "sluice.toml:1: this is not TOML"});
    EXPECT_EQ(status("new"), 200);
    EXPECT_EQ(status(), 401);
    EXPECT_TRUE(has_logged("error reload_refused why=\"sluice.toml:1: this is not TOML\""));
}

TEST_F(NodeTest, ReloadCannotRemoveTheClientAuthorities) {
    config::Settings settings;
    settings.tls.client_ca = "ca.pem";
    start(settings);
    config::Loaded loaded = with_tokens({"new"});
    loaded.settings.tls.client_ca.clear();
    node_->reload(loaded);
    EXPECT_TRUE(has_logged(
        "error reload_refused why=\"tls.client_ca is empty: removing it needs a restart\""))
        << captured_.text();
    EXPECT_EQ(status(), 200) << "nothing was applied";
}

// Without the name of a file, loading fails.
TEST_F(NodeTest, ARetryLogsAnotherFailureOnly) {
    start({});
    const auto failures = [&] {
        const std::string text = captured_.text();
        const std::regex line("error reload_refused");
        return std::distance(std::sregex_iterator(text.begin(), text.end(), line), {});
    };
    EXPECT_FALSE(node_->reload_certificate(CertificateLoad::kChanged));
    EXPECT_EQ(failures(), 1);
    EXPECT_FALSE(node_->reload_certificate(CertificateLoad::kRetry));
    EXPECT_EQ(failures(), 1);
    EXPECT_FALSE(node_->reload_certificate(CertificateLoad::kChanged));
    EXPECT_EQ(failures(), 2) << "the files are others";
}

TEST_F(NodeTest, ReloadAppliesTheLogLevel) {
    start({});
    config::Loaded loaded = with_tokens({});
    loaded.settings.log.level = LogLevel::kError;
    node_->reload(loaded);
    EXPECT_FALSE(has_logged("reloaded"));
}

TEST_F(NodeTest, ReloadLogsSettingsThatNeedARestart) {
    start({});
    config::Loaded loaded = with_tokens({});
    loaded.settings.region = "elsewhere";
    loaded.settings.max_keys = 5;
    node_->reload(loaded);
    EXPECT_TRUE(has_logged("warn restart_needed changed=region,max_keys"));
}

TEST_F(NodeTest, RefusesConnectionsAfterItHasDrained) {
    start({});
    EXPECT_EQ(status(), 200);
    drain();
    EXPECT_EQ(status(), 0);
}

TEST_F(NodeTest, LogsRequestsIfTheSettingSaysSo) {
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

TEST_F(NodeTest, SecondNodeOnTheSamePortIsRefused) {
    start({});
    const auto second = Node::start(node_->settings(), log_);
    ASSERT_FALSE(second);
    EXPECT_TRUE(second.error().message.starts_with(
        "listen is \"" + config::to_string(node_->settings().listen) + "\": "))
        << second.error().message;
}

}  // namespace
}  // namespace sluice::server
