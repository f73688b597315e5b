// HTTPS.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";

class Tls : public testing::Test {
  protected:
    ServerOptions secure() const {
        return {.flags = {"--tls-cert", certificate_.cert, "--tls-key", certificate_.key},
                .trusted = certificate_.cert};
    }

    ScratchFolder folder_;
    Certificate certificate_ = make_certificate(folder_, "server", "first");
};

TEST_F(Tls, Versions12And13AreAccepted) {
    const Server server(secure());
    for (const auto& [version, name] :
         {std::pair(TLS1_2_VERSION, "TLSv1.2"), {TLS1_3_VERSION, "TLSv1.3"}}) {
        Connection connection(server.port(), {.trusted = certificate_.cert, .version = version});
        EXPECT_EQ(connection.tls_version(), name);
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(connection.ask(post(kLimit, kBody)).status, 200);
    }
}

TEST_F(Tls, OlderVersionsAreRefused) {
    const Server server(secure());
    for (const int version : {TLS1_VERSION, TLS1_1_VERSION})
        EXPECT_THROW(Connection(server.port(), {.trusted = certificate_.cert, .version = version}),
                     std::runtime_error);
}

TEST_F(Tls, OnlyModernCiphersAreAccepted) {
    const Server server(secure());
    const auto connect = [&](const std::string& ciphers) {
        return Connection(
            server.port(),
            {.trusted = certificate_.cert, .version = TLS1_2_VERSION, .ciphers = ciphers});
    };
    EXPECT_EQ(connect("ECDHE-ECDSA-AES128-GCM-SHA256").ask(get_request("/healthz")).status, 200);
    for (const std::string cbc : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"})
        EXPECT_THROW(connect(cbc), std::runtime_error) << cbc;
}

TEST_F(Tls, ClientsNeedACertificateWhereTheirAuthorityIsSet) {
    const Certificate client = make_certificate(folder_, "client", "client");
    const std::string port = std::to_string(free_port());
    // Not a Server, which would wait for a client without a certificate to be answered.
    Program program({"serve",
                     "--listen",
                     "127.0.0.1:" + port,
                     "--tls-cert",
                     certificate_.cert,
                     "--tls-key",
                     certificate_.key,
                     "--tls-client-ca",
                     client.cert});
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (program.output().find("started") == std::string::npos)
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << program.output();
    const auto connect = [&](const Certificate& own) {
        return Connection(static_cast<std::uint16_t>(std::stoi(port)),
                          {.trusted = certificate_.cert,
                           .version = TLS1_2_VERSION,
                           .certificate = own.cert,
                           .key = own.key});
    };
    EXPECT_EQ(connect(client).ask(post(kLimit, kBody)).status, 200);
    EXPECT_THROW(connect({}), std::runtime_error);
    EXPECT_THROW(connect(make_certificate(folder_, "stranger", "stranger")), std::runtime_error);
}

TEST_F(Tls, ARenewedCertificateIsLoadedWithoutASignal) {
    Server server(secure());
    Connection open = server.connect();
    ASSERT_EQ(open.ask(post(kLimit, kBody)).status, 200) << "it is not a silent one";
    const ScratchFolder other;
    const Certificate renewed = make_certificate(other, "server", "renewed");
    folder_.write("server.crt", read_file(renewed.cert));
    folder_.write("server.key", read_file(renewed.key));
    const auto is_renewed = [&] {
        try {
            const Connection connection(server.port(), {.trusted = renewed.cert});
            return true;
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!is_renewed()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server.program().output();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(open.ask(post(kLimit, kBody)).status, 200) << "the connection was kept";
    EXPECT_NE(server.program().output().find(" reloaded "), std::string::npos)
        << server.program().output();
}

TEST_F(Tls, PipelinedAndLargeRequestsPass) {
    const Server server(secure());
    Connection connection = server.connect();
    const std::string large = std::string(kBody) + std::string(500'000, ' ');
    connection.send(post(kLimit, large) + post(kLimit, kBody) + post(kLimit, kBody));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(connection.receive().status, 200);
}

TEST_F(Tls, AClientThatSpeaksPlainHttpIsClosed) {
    const Server server(secure());
    Connection plain(server.port());
    plain.send(get_request("/healthz"));
    EXPECT_EQ(plain.receive_rest().find("200 OK"), std::string::npos);
    EXPECT_EQ(server.get("/healthz").status, 200);
}

TEST_F(Tls, AnUnfinishedHandshakeTimesOut) {
    ServerOptions options = secure();
    options.config = "[http]\nheader_timeout = \"300ms\"\n";
    const Server server(options);
    Connection plain(server.port());
    plain.send("\x16");
    plain.receive_rest();
}

TEST_F(Tls, AMissingOrForeignKeyStopsTheProgramBeforeItListens) {
    const Certificate other = make_certificate(folder_, "other", "other");
    for (const std::string& key : {folder_.path("missing.key"), other.key}) {
        const Ending ending = run({"serve",
                                   "--listen",
                                   "127.0.0.1:" + std::to_string(free_port()),
                                   "--tls-cert",
                                   certificate_.cert,
                                   "--tls-key",
                                   key});
        EXPECT_NE(ending.exit_code, 0);
        EXPECT_TRUE(ending.err.starts_with("sluice serve: tls.key is \"" + key + "\": "))
            << ending.err;
    }
    EXPECT_NE(run({"serve", "--tls-cert", certificate_.cert}).exit_code, 0)
        << "a certificate needs its key";
}

TEST_F(Tls, ANewCertificateIsTakenOnSighupAndOpenConnectionsStay) {
    Server server(secure());
    Connection before = server.connect();
    EXPECT_EQ(before.subject(), "/CN=first");

    make_certificate(folder_, "server", "second");
    server.program().signal(SIGHUP);
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    const auto renewed = [&] {
        try {
            return server.connect().subject() == "/CN=second";
        } catch (
            const std::runtime_error&) {  // still the old certificate, which is no longer trusted
            return false;
        }
    };
    while (!renewed())
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server.program().output();
    EXPECT_EQ(before.ask(post(kLimit, kBody)).status, 200);
}

TEST_F(Tls, AnInvalidCertificateOnSighupIsRefusedAndTheOldOneStays) {
    Server server(secure());
    const std::string trusted = folder_.write("trusted.crt", read_file(certificate_.cert));
    folder_.write("server.crt", "not a certificate");
    server.program().signal(SIGHUP);
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    const auto refused = [&] {
        Connection connection(server.admin_port(), {.trusted = trusted});
        const std::string text = connection.ask(get_request("/metrics")).body;
        return text.find("sluice_reloads_total{result=\"failed\"} 1") != std::string::npos;
    };
    while (!refused())
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server.program().output();
    EXPECT_EQ(Connection(server.port(), {.trusted = trusted}).subject(), "/CN=first");
}

}  // namespace
}  // namespace sluice::server_test
