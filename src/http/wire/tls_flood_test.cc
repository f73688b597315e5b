// Clients that send a great number of TLS records with little or no data in them.
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include "base/check.h"
#include "http/wire/test_server.h"
#include "http/wire/tls_test_client.h"

namespace sluice::http {
namespace {

// The number of the client's request among those that the server has handled.
constexpr std::string_view kCount = "GET /count HTTP/1.1\r\nHost: h\r\n";

std::string big_endian(std::uint64_t number, std::size_t size) {
    std::string bytes;
    for (std::size_t i = size; i > 0; --i)
        bytes += static_cast<char>(number >> (8 * (i - 1)));
    return bytes;
}

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

// Encrypts records of any type for an established connection of TLS 1.2 with AES-128-GCM, which
// OpenSSL's interface does not offer. Nothing may be sent through OpenSSL afterwards.
class RecordWriter {
  public:
    enum class Type : std::uint8_t { kAlert = 21, kHandshake = 22, kData = 23 };

    explicit RecordWriter(SSL* tls) : cipher_(EVP_CIPHER_CTX_new()) {
        std::string master(SSL_MAX_MASTER_KEY_LENGTH, '\0');
        master.resize(
            SSL_SESSION_get_master_key(SSL_get_session(tls), bytes_of(master), master.size()));
        std::string seed(SSL3_RANDOM_SIZE, '\0');
        SSL_get_server_random(tls, bytes_of(seed), seed.size());
        std::string client(SSL3_RANDOM_SIZE, '\0');
        SSL_get_client_random(tls, bytes_of(client), client.size());
        seed = "key expansion" + seed + client;
        // Two keys of 16 bytes and two salts of 4; the first of each is the client's.
        const std::string keys = expand(master, seed, 40);
        key_ = keys.substr(0, 16);
        salt_ = keys.substr(32, 4);
    }
    ~RecordWriter() { EVP_CIPHER_CTX_free(cipher_); }
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    std::string record(Type type, std::string content) {
        // The first record was the Finished message.
        const std::string number = big_endian(++sequence_, 8);
        const std::string version = {static_cast<char>(type), 3, 3};
        std::string added = number + version + big_endian(content.size(), 2);
        std::string nonce = salt_ + number;
        std::string tag(16, '\0');
        std::string text(content.size(), '\0');
        int size = 0;
        EVP_EncryptInit_ex(cipher_, EVP_aes_128_gcm(), nullptr, bytes_of(key_), bytes_of(nonce));
        EVP_EncryptUpdate(cipher_, nullptr, &size, bytes_of(added), static_cast<int>(added.size()));
        EVP_EncryptUpdate(
            cipher_, bytes_of(text), &size, bytes_of(content), static_cast<int>(content.size()));
        EVP_EncryptFinal_ex(cipher_, bytes_of(tag), &size);
        EVP_CIPHER_CTX_ctrl(cipher_, EVP_CTRL_GCM_GET_TAG, 16, tag.data());
        return version + big_endian(8 + text.size() + 16, 2) + number + text + tag;
    }

  private:
    static std::string expand(std::string secret, std::string seed, std::size_t size) {
        EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, "TLS1-PRF", nullptr);
        EVP_KDF_CTX* const context = EVP_KDF_CTX_new(kdf);
        EVP_KDF_free(kdf);
        std::array digest{'S', 'H', 'A', '2', '5', '6', '\0'};
        const std::array parameters{
            OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, secret.data(), secret.size()),
            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed.data(), seed.size()),
            OSSL_PARAM_construct_end()};
        std::string keys(size, '\0');
        SLUICE_CHECK(EVP_KDF_derive(context, bytes_of(keys), size, parameters.data()) == 1);
        EVP_KDF_CTX_free(context);
        return keys;
    }

    EVP_CIPHER_CTX* cipher_;
    std::string key_;
    std::string salt_;
    std::uint64_t sequence_ = 0;
};

class TlsFlood : public testing::Test {
  protected:
    using Type = RecordWriter::Type;

    TlsFlood() {
        // So that the flood is in the kernel when the server reads.
        const int size = 4 * 1024 * 1024;
        SLUICE_CHECK(
            setsockopt(
                flooding_.transport().socket(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
        SLUICE_CHECK(old_.is_connected() && flooding_.is_connected());
        for (int i = 0; i < kNeighbours; ++i)
            neighbours_.emplace_back(server_.port()).send(get("/warm"));
        for (TlsClient& neighbour : neighbours_)
            SLUICE_CHECK(neighbour.read_until("warm? ").ends_with("warm? "));
    }

    // Returns the bytes of OpenSSL's records that `write` makes it send.
    template <class Write>
    static std::string recorded(TlsClient& client, Write write) {
        BIO* const socket = SSL_get_wbio(client.native());
        BIO_up_ref(socket);
        BIO* const memory = BIO_new(BIO_s_mem());
        SSL_set0_wbio(client.native(), memory);
        write();
        char* data = nullptr;
        const long size = BIO_get_mem_data(memory, &data);
        std::string bytes(data, static_cast<std::size_t>(size));
        SSL_set0_wbio(client.native(), socket);
        return bytes;
    }

    // Sends `flood`, and requests of others behind it, while the server's thread is busy. Expects
    // that the others are served before a request for /count at the end of the flood.
    void expect_served_before_end(TestClient& client, const std::string& flood) {
        BusyThread thread(server_);
        // Less than a socket takes from a client of a blocked server.
        EXPECT_LT(flood.size(), 2UL * 1024 * 1024);
        client.send(flood);
        for (TlsClient& neighbour : neighbours_)
            neighbour.send(std::string(kCount) + "\r\n");
        thread.release();
        for (TlsClient& neighbour : neighbours_)
            EXPECT_LE(count(neighbour), 2 * kNeighbours) << "it was served after the flood";
    }

    // The body of an answer for /count; 0 at the end of the connection.
    static int count(TlsClient& client) {
        const std::string answer = client.read_until("\r\n\r\n");
        const std::size_t end = answer.find("\r\n\r\n");
        return end == std::string::npos ? 0 : std::stoi(answer.substr(end + 4));
    }

    static constexpr int kNeighbours = 5;  // each has sent one request before
    static constexpr int kLast = 2 * kNeighbours + 1;

    HttpTestServer server_{{}, make_slot("flood")};
    TlsClient flooding_{server_.port()};
    TlsClient old_{server_.port(),
                   {.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"}};
    RecordWriter writer_{old_.native()};
    std::deque<TlsClient> neighbours_;
};

TEST_F(TlsFlood, OfKeyUpdatesDelaysNoOthers) {
    const std::string flood = recorded(flooding_, [&] {
        for (int i = 0; i < 20'000; ++i) {
            SSL_key_update(flooding_.native(), SSL_KEY_UPDATE_NOT_REQUESTED);
            SSL_do_handshake(flooding_.native());
        }
        flooding_.send(std::string(kCount) + "\r\n");
    });
    EXPECT_GT(flood.size(), 500'000U);
    expect_served_before_end(flooding_.transport(), flood);
    EXPECT_EQ(count(flooding_), kLast) << "what follows the flood is read as well";
}

TEST_F(TlsFlood, OfKeyUpdatesThatAskForOneDelaysNoOthers) {
    const std::string flood = recorded(flooding_, [&] {
        for (int i = 0; i < 5'000; ++i) {
            SSL_key_update(flooding_.native(), SSL_KEY_UPDATE_REQUESTED);
            SSL_do_handshake(flooding_.native());
        }
        flooding_.send(std::string(kCount) + "\r\n");
    });
    expect_served_before_end(flooding_.transport(), flood);
    EXPECT_EQ(count(flooding_), kLast);
}

TEST_F(TlsFlood, OfRenegotiationsIsRefusedAndDelaysNoOthers) {
    std::string flood;
    for (int i = 0; i < 20'000; ++i)
        flood += writer_.record(Type::kHandshake, std::string(1, '\1') + std::string(3, '\0'));
    flood += writer_.record(Type::kData, std::string(kCount) + "\r\n");
    expect_served_before_end(old_.transport(), flood);
    // A client of OpenSSL ends at the refusal, so that the answer can't be read.
    wait_until([&] { return server_.counters().requests.get() == kLast; });
}

// OpenSSL takes 32 in a row.
TEST_F(TlsFlood, OfEmptyRecordsDelaysNoOthers) {
    std::string flood = writer_.record(Type::kData, std::string(kCount) + "X: ");
    for (int i = 0; i < 20'000; ++i)
        flood += writer_.record(Type::kData, i % 30 == 0 ? "x" : "");
    flood += writer_.record(Type::kData, "\r\n\r\n");
    expect_served_before_end(old_.transport(), flood);
    EXPECT_EQ(count(old_), kLast);
}

// OpenSSL takes 4 in a row.
TEST_F(TlsFlood, OfWarningsDelaysNoOthers) {
    std::string flood = writer_.record(Type::kData, std::string(kCount) + "X: ");
    for (int i = 0; i < 20'000; ++i)
        flood += i % 4 == 0 ? writer_.record(Type::kData, "x")
                            : writer_.record(Type::kAlert, {1, 90 /* user_canceled */});
    flood += writer_.record(Type::kData, "\r\n\r\n");
    expect_served_before_end(old_.transport(), flood);
    EXPECT_EQ(count(old_), kLast);
}

TEST_F(TlsFlood, OfRecordsOfOneByteDelaysNoOthers) {
    std::string flood = writer_.record(Type::kData, std::string(kCount) + "X: ");
    for (int i = 0; i < 15'000; ++i)
        flood += writer_.record(Type::kData, "x");
    flood += writer_.record(Type::kData, "\r\n\r\n");
    expect_served_before_end(old_.transport(), flood);
    EXPECT_EQ(count(old_), kLast);
}

// The event of the second half comes while the first one waits for turns.
TEST_F(TlsFlood, IsReadToItsEndThoughItArrivesBetweenTurns) {
    for (int round = 0; round < 30; ++round) {
        std::string flood = writer_.record(Type::kData, std::string(kCount) + "X: ");
        for (int i = 0; i < 550; ++i)
            flood += writer_.record(Type::kData, "x");
        old_.transport().send(flood);
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        old_.transport().send(writer_.record(Type::kData, "\r\n\r\n"));
        ASSERT_EQ(count(old_), kNeighbours + 1 + round);
    }
}

// Turns do not restart the time.
TEST_F(TlsFlood, OfPiecesOfAHeadEndsAtTheTimeForAHead) {
    HttpTestServer impatient({.header_timeout = std::chrono::milliseconds{300}},
                             make_slot("impatient"));
    TlsClient client(impatient.port(),
                     {.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"});
    RecordWriter writer(client.native());
    client.transport().send(writer.record(Type::kData, std::string(kCount) + "X: "));
    // Each piece takes two turns; the head would be too long only after 5 seconds.
    for (int piece = 0; piece < 80 && impatient.counters().timeouts.get() == 0; ++piece) {
        std::string flood;
        for (int i = 0; i < 200; ++i)
            flood += writer.record(Type::kData, "x");
        client.transport().send(flood);
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    EXPECT_EQ(client.read_until("\r\n").substr(0, 13), "HTTP/1.1 408 ");
}

TEST_F(TlsFlood, OfEmptyOrWarningRecordsAloneEndsTheConnection) {
    std::string flood;
    for (int i = 0; i < 1'000; ++i)
        flood += writer_.record(Type::kAlert, {1, 90});
    expect_served_before_end(old_.transport(), flood);
    EXPECT_EQ(count(old_), 0);
}

// A hello of 16,000 bytes in records of one byte, which are not encrypted yet.
TEST_F(TlsFlood, OfPiecesOfAHandshakeIsReadToItsEnd) {
    TestClient client(server_.port());
    const std::string hello = '\1' + big_endian(16'000, 3) + std::string(16'000, 'x');
    std::string flood;
    for (const char c : hello)
        flood += std::string("\x16\3\1\0\1", 5) + c;
    expect_served_before_end(client, flood);
    EXPECT_EQ(client.read_answer(), "closed");
    EXPECT_EQ(server_.counters().handshake_failures.get(), 1);
}

}  // namespace
}  // namespace sluice::http
