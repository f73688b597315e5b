// SHA-256 digests, by OpenSSL: users link OpenSSL::Crypto.
#ifndef SLUICE_BASE_SHA256_H_
#define SLUICE_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "base/check.h"

namespace sluice {

using Sha256 = std::array<std::uint8_t, 32>;

inline Sha256 sha256_of(std::string_view text) {
    Sha256 digest{};
    SLUICE_CHECK(
        EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
    return digest;
}

// 64 lower-case hexadecimal digits.
inline std::string to_hex(const Sha256& digest) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text += kHex[byte >> 4U];
        text += kHex[byte & 15U];
    }
    return text;
}

}  // namespace sluice

#endif  // SLUICE_BASE_SHA256_H_
