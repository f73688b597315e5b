// GET /healthz, /readyz and /metrics.
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"secret-name","limit":2,"duration":2592000000})";

TEST(Probes, AnswerWhileTheServerIsReady) {
    const Server server;
    EXPECT_EQ(server.get("/healthz").status, 200);
    EXPECT_EQ(server.get("/readyz").status, 200);
}

// Waits for the log line that the server listens.
void await_start(const Program& program) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (program.output().find("started") == std::string::npos)
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << program.output();
}

int exit_code_of_health(const Server& server, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"health", "--url", server.url()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).exit_code;
}

TEST(HealthCommand, NeedsNoToken) {
    const Server server({.config = to_toml({.token = "the-token"})});
    EXPECT_EQ(exit_code_of_health(server), 0);
    EXPECT_EQ(exit_code_of_health(server, {"--live"}), 0);
    const Ending json = run({"health", "--json", "--url", server.url()});
    EXPECT_EQ(json.exit_code, 0);
    EXPECT_NE(json.out.find("\"status\""), std::string::npos) << json.out;
}

TEST(HealthCommand, FailsInTimeIfTheServerIsStuck) {
    Server server;
    server.program().pause();
    const auto began = std::chrono::steady_clock::now();
    const Ending ending = run({"health", "--timeout", "300ms", "--url", server.url()});
    EXPECT_EQ(ending.exit_code, 1);
    EXPECT_NE(ending.err.find("timed out"), std::string::npos) << ending.err;
    EXPECT_LT(std::chrono::steady_clock::now() - began, kTimeout);
}

TEST(HealthCommand, PresentsACertificate) {
    const ScratchFolder folder;
    const Certificate own = make_certificate(folder, "server", "localhost");
    const Certificate client = make_certificate(folder, "client", "client");
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    const Program program({"serve",
                           "--listen",
                           address,
                           "--tls-cert",
                           own.cert,
                           "--tls-key",
                           own.key,
                           "--tls-client-ca",
                           client.cert});
    await_start(program);
    const auto exit_code = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{
            "health", "--url", "https://" + address, "--ca-cert", own.cert};
        words.insert(words.end(), more.begin(), more.end());
        return run(words).exit_code;
    };
    EXPECT_EQ(exit_code({}), 1);
    EXPECT_EQ(exit_code({"--client-cert", client.cert, "--client-key", client.key}), 0);
    EXPECT_EQ(exit_code({"--client-cert", client.cert}), 2);
}

// A health check of a container has no other way.
TEST(HealthCommand, TakesCertificatesFromTheEnvironment) {
    const ScratchFolder folder;
    const Certificate own = make_certificate(folder, "server", "localhost");
    const Certificate client = make_certificate(folder, "client", "client");
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    const std::vector<std::string> server = {
        "SLUICE_LISTEN=" + address,
        "SLUICE_TLS_CERT=" + own.cert,
        "SLUICE_TLS_KEY=" + own.key,
        "SLUICE_TLS_CLIENT_CA=" + client.cert,
        "SLUICE_URL=https://" + address,
        "SLUICE_CLIENT_CERT=" + client.cert,
        "SLUICE_CLIENT_KEY=" + client.key,
    };
    const Program program({"serve"}, server);
    await_start(program);
    EXPECT_EQ(program.output().find("there is no such variable"), std::string::npos)
        << program.output();
    const auto check = [&](const std::string& variable) {
        std::vector<std::string> environment = server;
        environment.push_back(variable);
        return run({"health"}, environment);
    };
    EXPECT_EQ(check("SLUICE_CA_CERT=" + own.cert).exit_code, 0);
    EXPECT_EQ(check("SLUICE_INSECURE=true").exit_code, 0);
    EXPECT_EQ(check("SLUICE_INSECURE=false").exit_code, 1) << "the authority is not known";
    const Ending wrong = check("SLUICE_INSECURE=yes");
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_NE(wrong.err.find("SLUICE_INSECURE is \"yes\"; allowed are"), std::string::npos)
        << wrong.err;
    std::vector<std::string> insecure = server;
    insecure.push_back("SLUICE_INSECURE=true");
    EXPECT_EQ(run({"health", "--ca-cert", own.cert}, insecure).exit_code, 0);
    EXPECT_EQ(run({"health", "--ca-cert", client.cert}, insecure).exit_code, 1)
        << "the option holds, not the variable";
    const Ending half = run({"health"}, {server[4], server[5]});
    EXPECT_EQ(half.exit_code, 2);
    EXPECT_NE(half.err.find("SLUICE_CLIENT_KEY need"), std::string::npos) << half.err;
}

TEST(Metrics, ArePrometheusTextWithEveryDocumentedName) {
    const Server server;
    const Answer answer = server.get("/metrics");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.field("Content-Type").starts_with("text/plain; version=0.0.4"));
    for (const std::string name : {"sluice_decisions_total",
                                   "sluice_keys_held",
                                   "sluice_keys_created_total",
                                   "sluice_keys_evicted_total",
                                   "sluice_strict_activations_total",
                                   "sluice_cas_retries_total",
                                   "sluice_http_request_duration_seconds",
                                   "sluice_http_errors_total",
                                   "sluice_http_connections_open",
                                   "sluice_reloads_total",
                                   "sluice_build_info"}) {
        EXPECT_NE(answer.body.find("# TYPE " + name + " "), std::string::npos) << name;
        EXPECT_NE(answer.body.find("# HELP " + name + " "), std::string::npos) << name;
    }
}

TEST(Metrics, AreServedByTheAdminListenerAlone) {
    const Server server;
    EXPECT_EQ(server.connect().ask(get_request("/metrics")).status, 404);
    EXPECT_EQ(server.connect_to_admin().ask(get_request("/metrics")).status, 200);
    EXPECT_EQ(server.connect_to_admin().ask(get_request("/healthz")).status, 404);
    // The page on the admin listener uses the routes of the API.
    EXPECT_EQ(server.connect_to_admin().ask(post(kLimit, kBody)).status, 200);
}

TEST(Metrics, AreNotServedWhereNoAdminListenerIsSet) {
    const Program program({"serve", "--listen", "127.0.0.1:0"});
    await_start(program);
    EXPECT_NE(program.output().find("admin_address=none"), std::string::npos) << program.output();
}

TEST(Metrics, ElsewhereThanOnLoopbackNeedAToken) {
    const std::uint16_t port = free_port();
    const Program program({"serve",
                           "--listen",
                           "127.0.0.1:0",
                           "--admin-listen",
                           "0.0.0.0:" + std::to_string(port),
                           "--token",
                           "the-token",
                           "--insecure-http"});
    await_start(program);
    EXPECT_EQ(Connection(port).ask(get_request("/metrics")).status, 401);
    const std::string scrape =
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token\r\n\r\n";
    EXPECT_EQ(Connection(port).ask(scrape).status, 200);
    const Ending refused = run({"serve", "--admin-listen", "0.0.0.0:0"});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_NE(refused.err.find("admin_listen"), std::string::npos) << refused.err;
}

TEST(Metrics, HaveAnAddressOfTheirOwn) {
    const std::string port = std::to_string(free_port());
    const Ending ending = run({"serve", "--listen", "127.0.0.1:" + port, "--admin-listen", port});
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_NE(ending.err.find("admin_listen is \"127.0.0.1:" + port), std::string::npos)
        << ending.err;
}

TEST(Metrics, CountRequestsAndErrors) {
    const Server server({.flags = {"--threads", "2"}});
    for (int i = 0; i < 5; ++i)
        server.ask(kLimit, kBody);
    server.ask("/v2/ratelimit.multiLimit",
               "[" + std::string(kBody) + "," + std::string(kBody) + "]");
    server.ask(kLimit, "nonsense");
    server.ask("/nowhere", kBody);

    const std::string text = server.get("/metrics").body;
    EXPECT_EQ(sum_of(text, "sluice_decisions_total", R"(outcome="passed")"), 2);
    EXPECT_EQ(sum_of(text, "sluice_decisions_total", R"(outcome="denied")"), 5);
    EXPECT_EQ(sum_of(text, "sluice_keys_held"), 1);
    EXPECT_EQ(sum_of(text, "sluice_http_errors_total", R"(kind="invalid_request")"), 1);
    EXPECT_EQ(sum_of(text, "sluice_http_errors_total", R"(kind="not_found")"), 1);
    EXPECT_EQ(sum_of(text, "sluice_http_request_duration_seconds_count", R"(route="limit")"), 6);
    EXPECT_GE(sum_of(text, "sluice_http_connections_accepted_total"), 8);
}

TEST(Metrics, NeverNameAnIdentifier) {
    const Server server;
    server.ask(kLimit, kBody);
    server.ask("/v2/ratelimit.setOverride", kBody);
    EXPECT_EQ(server.get("/metrics").body.find("secret-name"), std::string::npos);
}

}  // namespace
}  // namespace sluice::server_test
