#include "http/wire/tls.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/check.h"
#include "http/wire/test_server.h"
#include "http/wire/tls_test_client.h"

namespace sluice::http {
namespace {

// As PEM_write_PrivateKey, but in the format that begins with "EC PRIVATE KEY".
int write_traditional(std::FILE* file,
                      const EVP_PKEY* key,
                      const EVP_CIPHER* cipher,
                      const unsigned char* phrase,
                      int phrase_size,
                      pem_password_cb* ask,
                      void* argument) {
    BIO* const bio = BIO_new_fp(file, BIO_NOCLOSE);
    const int done =
        PEM_write_bio_PrivateKey_traditional(bio, key, cipher, phrase, phrase_size, ask, argument);
    BIO_free(bio);
    return done;
}

TEST(Tls, ServesBothVersions) {
    HttpTestServer server({}, make_slot("both"));
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsClient client(server.port(), {.version = version, .protocols = "\x02h2\x08http/1.1"});
        ASSERT_TRUE(client.is_connected());
        for (int i = 0; i < 3; ++i) {
            client.send(post("/a", "body"));
            EXPECT_TRUE(client.read_until("body").ends_with("\r\n\r\nPOST /a? body"));
        }
        const unsigned char* chosen = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(client.native(), &chosen, &size);
        EXPECT_EQ(size, 8U);
    }
}

TEST(Tls, RefusesOldVersionsAndOtherProtocols) {
    HttpTestServer server({}, make_slot("old"));
    EXPECT_FALSE(
        TlsClient(server.port(), {.version = TLS1_1_VERSION, .protocols = ""}).is_connected());
    EXPECT_FALSE(TlsClient(server.port(), {.version = TLS1_3_VERSION, .protocols = "\x02h2"})
                     .is_connected());
    TestClient plain(server.port());
    plain.send(get("/"));
    EXPECT_EQ(plain.read_answer(), "closed");
    while (server.counters().handshake_failures.get() < 3)
        std::this_thread::yield();
}

TEST(Tls, AcceptsOnlyModernCiphers) {
    const auto context = TlsContext::load(make_certificate("ciphers", KeyType::kRsa));
    ASSERT_TRUE(context.has_value());
    HttpTestServer server({}, std::make_shared<TlsSlot>(*context));
    const auto connects = [&](const std::string& ciphers) {
        return TlsClient(server.port(), {.version = TLS1_2_VERSION, .ciphers = ciphers})
            .is_connected();
    };
    for (const std::string good : {"ECDHE-RSA-AES128-GCM-SHA256",
                                   "ECDHE-RSA-AES256-GCM-SHA384",
                                   "ECDHE-RSA-CHACHA20-POLY1305"})
        EXPECT_TRUE(connects(good)) << good;
    for (const std::string bad : {"AES128-GCM-SHA256",
                                  "AES256-GCM-SHA384",
                                  "AES128-SHA",
                                  "AES256-SHA256",
                                  "ECDHE-RSA-AES128-SHA",
                                  "ECDHE-RSA-AES256-SHA384",
                                  "DHE-RSA-AES128-SHA256",
                                  "ECDHE-RSA-CAMELLIA128-SHA256"})
        EXPECT_FALSE(connects(bad)) << bad;
}

TEST(Tls, ResumesSessionsUntilTheirTicketKeyIsTooOld) {
    // Written by the test, read by the server's thread; relaxed, since it publishes nothing else.
    std::atomic<std::chrono::hours::rep> hours{0};
    const auto clock = [&] {
        return std::chrono::steady_clock::time_point(
            std::chrono::hours{hours.load(std::memory_order_relaxed)});
    };
    const auto context = TlsContext::load(make_certificate("tickets"), clock);
    ASSERT_TRUE(context.has_value());
    HttpTestServer server({}, std::make_shared<TlsSlot>(*context));
    const auto resumes = [&](SSL_SESSION* original) {
        // OpenSSL does not resume a session that ended without close_notify.
        const std::unique_ptr<SSL_SESSION, void (*)(SSL_SESSION*)> copy(SSL_SESSION_dup(original),
                                                                        SSL_SESSION_free);
        TlsClient client(server.port(), {.version = TLS1_2_VERSION, .session = copy.get()});
        EXPECT_TRUE(client.is_connected());
        return SSL_session_reused(client.native()) == 1;
    };
    TlsClient first(server.port(), {.version = TLS1_2_VERSION});
    ASSERT_TRUE(first.is_connected());
    const std::unique_ptr<SSL_SESSION, void (*)(SSL_SESSION*)> session(
        SSL_get1_session(first.native()), SSL_SESSION_free);
    EXPECT_TRUE(resumes(session.get()));
    hours = 1;
    EXPECT_TRUE(resumes(session.get())) << "the previous key still decrypts";
    hours = 2;
    EXPECT_FALSE(resumes(session.get()));
}

TEST(Tls, DoesNotResumeSessionsOfAnotherContext) {
    const TlsFiles files = make_certificate("reloaded");
    const auto slot = std::make_shared<TlsSlot>(*TlsContext::load(files));
    HttpTestServer server({}, slot);
    TlsClient first(server.port(), {.version = TLS1_2_VERSION});
    ASSERT_TRUE(first.is_connected());
    const std::unique_ptr<SSL_SESSION, void (*)(SSL_SESSION*)> session(
        SSL_get1_session(first.native()), SSL_SESSION_free);
    slot->replace(*TlsContext::load(files));
    TlsClient second(server.port(), {.version = TLS1_2_VERSION, .session = session.get()});
    ASSERT_TRUE(second.is_connected());
    EXPECT_EQ(SSL_session_reused(second.native()), 0);
}

TEST(Tls, RequiresAClientCertificateIfAuthoritiesAreSet) {
    const TlsFiles client = make_certificate("client");
    TlsFiles files = make_certificate("strict");
    files.client_ca = client.certificate;
    const auto context = TlsContext::load(files);
    ASSERT_TRUE(context.has_value()) << context.error().message;
    HttpTestServer server({}, std::make_shared<TlsSlot>(*context));
    const auto answer = [&](const TlsFiles& own, int version) {
        TlsClient connection(server.port(), {.version = version, .own = own});
        connection.send(get("/"));
        return connection.read_until("GET /? ");
    };
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        EXPECT_TRUE(answer(client, version).ends_with("GET /? "));
        EXPECT_EQ(answer({}, version), "") << "no certificate";
        EXPECT_EQ(answer(make_certificate("stranger"), version), "") << "an unknown authority";
    }
    files.client_ca = "/none";
    const auto refused = TlsContext::load(files);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("/none"), std::string::npos);
}

TEST(Tls, PipelinesAndSendsLargeAnswers) {
    HttpTestServer server({}, make_slot("large"));
    TlsClient client(server.port());
    const std::string body(300'000, 'x');
    client.send(get("/later") + post("/echo", body) + get("/big") +
                get("/end", "Connection: close\r\n"));
    const std::string all = client.read_until("never");
    EXPECT_NE(all.find("GET /later?  later"), std::string::npos);
    EXPECT_NE(all.find("POST /echo? " + body), std::string::npos);
    EXPECT_GT(all.size(), 8UL * 1024 * 1024);
    EXPECT_TRUE(all.ends_with("GET /end? "));
    // The connection ended with close_notify.
    EXPECT_NE(SSL_get_shutdown(client.native()) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST(Tls, GivesUpOnAHandshakeThatStalls) {
    HttpTestServer server({.header_timeout = std::chrono::milliseconds{50}}, make_slot("stall"));
    TestClient client(server.port());
    EXPECT_EQ(client.read_answer(), "closed");
    EXPECT_EQ(server.counters().timeouts.get(), 1);
}

TEST(Tls, BoundsTheMemoryOfUnfinishedHandshakes) {
    constexpr std::size_t kCap = 1024UL * 1024;
    HttpTestServer server({.buffered = kCap}, make_slot("handshakes"));
    std::deque<TestClient> clients;
    for (int i = 0; i < 50; ++i)
        clients.emplace_back(server.port());
    ASSERT_TRUE(TlsClient(server.port()).is_connected());
    EXPECT_EQ(server.counters().shed.get(), 0) << "a client that sends nothing takes no memory";
    for (TestClient& client : clients)
        client.send("\x16");
    for (int i = 0; i < 20; ++i) {
        TlsClient client(server.port());
        ASSERT_TRUE(client.is_connected());
        client.send(get("/"));
        EXPECT_TRUE(client.read_until("GET /? ").ends_with("GET /? "));
        EXPECT_LE(server.counters().buffered.get(), kCap);
    }
    EXPECT_GT(server.counters().shed.get(), 0);
}

TEST(Tls, CountsUnreadAnswersAndRecordsAgainstTheMemoryCap) {
    constexpr std::size_t kCap = 2UL * 1024 * 1024;
    HttpTestServer server({.buffered = kCap}, make_slot("unread"));
    std::string requests;
    for (int i = 0; i < 64; ++i)
        requests += get("/page");
    std::deque<TlsClient> silent;
    for (int i = 0; i < 60; ++i) {
        silent.emplace_back(server.port());
        ASSERT_TRUE(silent.back().is_connected());
        silent.back().send(requests);
    }
    TlsClient client(server.port());
    for (int i = 0; i < 20; ++i) {
        client.send("POST /two HTTP/1.1\r\nHost: h\r\n");
        client.send("Content-Length: 4\r\n\r\nbody");
        ASSERT_TRUE(client.read_until("? body").ends_with("POST /two? body"));
        EXPECT_LE(server.counters().buffered.get(), kCap);
    }
    EXPECT_GT(server.counters().shed.get(), 0);
}

TEST(Tls, UsesANewCertificateForNewConnections) {
    const auto slot = make_slot("before");
    HttpTestServer server({}, slot);
    TlsClient old(server.port());
    ASSERT_TRUE(old.is_connected());
    EXPECT_EQ(old.certificate_name(), "before");
    slot->replace(*TlsContext::load(make_certificate("after")));
    TlsClient fresh(server.port());
    ASSERT_TRUE(fresh.is_connected());
    EXPECT_EQ(fresh.certificate_name(), "after");
    old.send(get("/still"));
    EXPECT_TRUE(old.read_until("still").ends_with("GET /still? "));
}

TEST(Tls, NamesTheFileThatItCannotUse) {
    const TlsFiles good = make_certificate("good");
    const TlsFiles other = make_certificate("other");
    const auto error = [](const TlsFiles& files) {
        const auto context = TlsContext::load(files);
        return context ? "" : context.error().message;
    };
    EXPECT_EQ(error(good), "");
    EXPECT_EQ(error({.certificate = "/none", .key = good.key}),
              "tls.cert is \"/none\": it can't be read: No such file or directory");
    EXPECT_EQ(error({.certificate = good.certificate, .key = "/none"}),
              "tls.key is \"/none\": it can't be read: No such file or directory");
    EXPECT_EQ(error({.certificate = good.certificate, .key = "/"}),
              "tls.key is \"/\": it can't be read: Is a directory");
    EXPECT_TRUE(
        error({.certificate = good.key, .key = good.key})
            .starts_with("tls.cert is \"" + good.key + "\": it holds no certificate in PEM"));
    EXPECT_TRUE(error({.certificate = good.certificate, .key = good.certificate})
                    .starts_with("tls.key is \"" + good.certificate +
                                 "\": it holds no private key in PEM"));
    EXPECT_EQ(error({.certificate = good.certificate, .key = other.key}),
              "tls.key is \"" + other.key + "\": it is not the key of the certificate");
}

TEST(Tls, SaysThatAKeyIsEncrypted) {
    const TlsFiles files = make_certificate("encrypted");
    std::FILE* file = std::fopen(files.key.c_str(), "r");
    EVP_PKEY* key = PEM_read_PrivateKey(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    for (const auto write : {PEM_write_PrivateKey, write_traditional}) {
        const unsigned char phrase[] = "hush";
        file = std::fopen(files.key.c_str(), "w");
        ASSERT_EQ(write(file, key, EVP_aes_128_cbc(), phrase, 4, nullptr, nullptr), 1);
        std::fclose(file);
        const auto context = TlsContext::load(files);
        ASSERT_FALSE(context);
        EXPECT_TRUE(context.error().message.starts_with("tls.key is \"" + files.key +
                                                        "\": the key is encrypted and "))
            << context.error().message;
    }
    EVP_PKEY_free(key);
}

}  // namespace
}  // namespace sluice::http
