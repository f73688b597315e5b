// Which addresses the server may listen on, and what protects them.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "config/temporary_settings.h"

namespace sluice::config {
namespace {

TEST(Listeners, OpenListenerNeedsAToken) {
    const std::string fault = fault_of("\nlisten = \"0.0.0.0:8080\"\n");
    EXPECT_TRUE(
        fault.starts_with("FILE:2: listen is \"0.0.0.0:8080\"; allowed is an address on loopback, "
                          "such as 127.0.0.1:8080, as long as there is no token"))
        << fault;
    EXPECT_FALSE(with_flag("listen", "[::]:8080"));
    EXPECT_TRUE(load_settings({.file = {},
                               .environment = {},
                               .flags = {{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}},
                               .tokens = {"secret"}}));
    EXPECT_FALSE(load_settings(
        {.file = {}, .environment = {}, .flags = {{"listen", "0.0.0.0:1"}}, .tokens = {""}}));
}

TEST(Listeners, AdminListenerIsOnLoopbackUnlessAnAddressIsGiven) {
    EXPECT_EQ(settings_of("").admin_listen, std::nullopt);
    EXPECT_EQ(settings_of("admin_listen = 9090").admin_listen, (Address{"127.0.0.1", 9090}));
    EXPECT_EQ(settings_of("admin_listen = \"9090\"").admin_listen, (Address{"127.0.0.1", 9090}));
    EXPECT_EQ(settings_of("admin_listen = \"[::1]:0\"").admin_listen, (Address{"::1", 0}));
}

TEST(Listeners, OpenAdminListenerNeedsAToken) {
    const std::string fault = fault_of("\nadmin_listen = \"0.0.0.0:9090\"\n");
    EXPECT_TRUE(
        fault.starts_with("FILE:2: admin_listen is \"0.0.0.0:9090\"; allowed is an address "
                          "on loopback, such as 127.0.0.1:9090, as long as there is no "
                          "token"))
        << fault;
    EXPECT_TRUE(load_settings({.file = {},
                               .environment = {},
                               .flags = {{"admin_listen", "0.0.0.0:1"}, {"behind_proxy", "true"}},
                               .tokens = {"secret"}}));
}

TEST(Listeners, TokensOverPlainHttpBeyondLoopbackMustBeAccepted) {
    const auto with = [](std::map<std::string, std::string> flags) {
        return load_settings(
            {.file = {}, .environment = {}, .flags = std::move(flags), .tokens = {"secret"}});
    };
    const std::string reason =
        "an address on loopback as long as tokens are sent over plain HTTP, which anyone on the "
        "network path can read. Set tls.cert and tls.key, or --behind-proxy if a proxy in front "
        "terminates "
        "TLS, or --insecure-http to accept that";
    EXPECT_EQ(fault_of(with({{"listen", "0.0.0.0:1"}})),
              "--listen: listen is \"0.0.0.0:1\"; allowed is " + reason);
    EXPECT_EQ(fault_of(with({{"admin_listen", "10.0.0.1:1"}})),
              "--admin-listen: admin_listen is \"10.0.0.1:1\"; allowed is " + reason);
    EXPECT_TRUE(with({{"listen", "127.0.0.1:1"}}));
    EXPECT_TRUE(with({{"listen", "0.0.0.0:1"}, {"behind_proxy", "true"}}));
    EXPECT_TRUE(with({{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}}));
    EXPECT_TRUE(with({{"listen", "0.0.0.0:1"}, {"tls.cert", "c"}, {"tls.key", "k"}}));
    EXPECT_FALSE(with_flag("insecure_http", "maybe"));
    EXPECT_FALSE(load_settings({.file = {},
                                .environment = {},
                                .flags = {{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}},
                                .tokens = {}}))
        << "a listener beyond loopback needs a token";
}

TEST(Listeners, GrpcBeyondLoopbackNeedsClientCertificates) {
    const auto with = [](std::map<std::string, std::string> flags) {
        flags["grpc.listen"] = "0.0.0.0:8081";
        return load_settings({.file = {}, .environment = {}, .flags = flags, .tokens = {"secret"}});
    };
    EXPECT_EQ(
        fault_of(with({})),
        "--grpc-listen: grpc.listen is \"0.0.0.0:8081\"; allowed is an address on loopback, "
        "such as 127.0.0.1:8081, as long as clients need no certificate: anyone who can reach "
        "the address could spend limits. Set tls.cert, tls.key and tls.client_ca, or "
        "--grpc-insecure to accept that");
    EXPECT_FALSE(with({{"tls.cert", "c"}, {"tls.key", "k"}}));
    EXPECT_TRUE(with({{"tls.cert", "c"}, {"tls.key", "k"}, {"tls.client_ca", "a"}}));
    EXPECT_TRUE(with({{"grpc.insecure", "true"}}));
    EXPECT_TRUE(with_flag("grpc.listen", "127.0.0.1:8081"));
    EXPECT_FALSE(with_flag("grpc.listen", "8081"));
}

TEST(Listeners, AllowedHostsAreSeparatedByCommas) {
    EXPECT_EQ(settings_of("allowed_hosts = \"a.example, b_c-d\"").allowed_hosts,
              (std::vector<std::string>{"a.example", "b_c-d"}));
    for (const char* bad : {"", ",", "a,,b", "a b", "a:80", "[::1]", "*.example"})
        EXPECT_FALSE(with_flag("allowed_hosts", bad)) << bad;
}

TEST(Listeners, TestClockIsForLoopbackOnly) {
    EXPECT_TRUE(with_flag("test_clock", "true"));
    EXPECT_EQ(
        fault_of(load_settings(
            {.file = {},
             .environment = {},
             .flags = {{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}, {"test_clock", "true"}},
             .tokens = {"secret"}})),
        "--test-clock: test_clock is true; allowed is false unless the server listens on "
        "loopback: its clients choose the time");
}

TEST(Listeners, CertificateAndKeyComeTogether) {
    EXPECT_EQ(fault_of(with_flag("tls.cert", "c.pem")),
              "default: tls.key is \"\"; allowed is the path of a file, since tls.cert is set");
    EXPECT_EQ(fault_of(with_flag("tls.key", "k.pem")),
              "default: tls.cert is \"\"; allowed is the path of a file, since tls.key is set");
    EXPECT_EQ(
        fault_of(with_flag("tls.client_ca", "ca.pem")),
        "default: tls.cert is \"\"; allowed is the path of a file, since tls.client_ca is set");
}

}  // namespace
}  // namespace sluice::config
