#include "support/nats_credentials.h"

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <openssl/evp.h>

namespace sluice::nats_test {
namespace {

// The letter that an encoded key begins with, as five bits.
enum class Role : unsigned { kAccount = 0, kOperator = 14, kSeed = 18, kUser = 20 };

// Groups of `bits` bits as letters of `alphabet`, without padding.
std::string encoded(std::string_view bytes, unsigned bits, std::string_view alphabet) {
    std::string text;
    unsigned held = 0;
    unsigned buffer = 0;
    for (const char byte : bytes) {
        buffer = (buffer << 8U) | static_cast<unsigned char>(byte);
        for (held += 8; held >= bits; held -= bits)
            text += alphabet[(buffer >> (held - bits)) & ((1U << bits) - 1)];
        buffer &= (1U << held) - 1;
    }
    if (held > 0) text += alphabet[(buffer << (bits - held)) & ((1U << bits) - 1)];
    return text;
}

std::string base32(std::string_view bytes) {
    return encoded(bytes, 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
}

std::string base64(std::string_view bytes) {
    return encoded(bytes, 6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}

// CRC-16 with the polynomial 0x1021, its lower byte first.
std::string checksum(std::string_view bytes) {
    unsigned crc = 0;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8U;
        for (int bit = 0; bit < 8; ++bit)
            crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xFFFFU;
    }
    return {static_cast<char>(crc & 0xFFU), static_cast<char>(crc >> 8U)};
}

// An Ed25519 key in the encoding of NATS.
class Nkey {
  public:
    explicit Nkey(Role role)
        : role_(static_cast<unsigned>(role) << 3U),
          key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free) {
        if (key_ == nullptr) throw std::runtime_error("OpenSSL made no key");
    }

    std::string public_key() const {
        const std::string bytes = static_cast<char>(role_) + raw(EVP_PKEY_get_raw_public_key);
        return base32(bytes + checksum(bytes));
    }

    std::string seed() const {
        const unsigned prefix = static_cast<unsigned>(Role::kSeed) << 3U;
        const std::string bytes{static_cast<char>(prefix | (role_ >> 5U)),
                                static_cast<char>((role_ & 31U) << 3U)};
        const std::string all = bytes + raw(EVP_PKEY_get_raw_private_key);
        return base32(all + checksum(all));
    }

    std::string sign(const std::string& text) const {
        const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                              EVP_MD_CTX_free);
        std::array<unsigned char, 64> signature{};
        std::size_t size = signature.size();
        const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
        if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
            EVP_DigestSign(context.get(), signature.data(), &size, bytes, text.size()) != 1)
            throw std::runtime_error("OpenSSL signed nothing");
        return {signature.begin(), signature.end()};
    }

  private:
    std::string raw(int (*get)(const EVP_PKEY*, unsigned char*, std::size_t*)) const {
        std::array<unsigned char, 32> bytes{};
        std::size_t size = bytes.size();
        if (get(key_.get(), bytes.data(), &size) != 1)
            throw std::runtime_error("OpenSSL gave no key");
        return {bytes.begin(), bytes.end()};
    }

    unsigned role_;
    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

// A token about `subject`, signed by `issuer`; `claims` is JSON.
std::string token(const Nkey& issuer, const Nkey& subject, const std::string& claims) {
    const std::string text =
        base64(R"({"typ":"JWT","alg":"ed25519-nkey"})") + "." +
        base64(R"({"jti":"test","iat":1600000000,"iss":")" + issuer.public_key() +
               R"(","name":"test","sub":")" + subject.public_key() + R"(","nats":)" + claims + "}");
    return text + "." + base64(issuer.sign(text));
}

}  // namespace

NatsCredentials make_nats_credentials() {
    const Nkey operator_key(Role::kOperator);
    const Nkey account(Role::kAccount);
    const Nkey user(Role::kUser);
    const std::string operator_token =
        token(operator_key, operator_key, R"({"type":"operator","version":2})");
    const std::string account_token =
        token(operator_key,
              account,
              R"({"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,)"
              R"("wildcards":true,"conn":-1,"leaf":-1},"type":"account","version":2})");
    const std::string user_token =
        token(account,
              user,
              R"({"pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2})");
    return {.server_config = "operator: \"" + operator_token +
                             "\"\nresolver: MEMORY\nresolver_preload: { " + account.public_key() +
                             ": \"" + account_token + "\" }\n",
            .user_file = "-----BEGIN NATS USER JWT-----\n" + user_token +
                         "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" +
                         user.seed() + "\n------END USER NKEY SEED------\n"};
}

}  // namespace sluice::nats_test
