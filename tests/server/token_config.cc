#include "server/token_config.h"

#include <array>

#include <openssl/sha.h>

namespace sluice::server_test {
namespace {

std::string sha256_in_hex(const std::string& text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    std::string hex;
    for (const unsigned char byte : digest) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        hex += kDigits[byte >> 4U];
        hex += kDigits[byte & 0xFU];
    }
    return hex;
}

}  // namespace

std::string to_toml(const TokenEntry& entry) {
    return "[[tokens]]\nname = \"" + entry.token.substr(0, 4) + "\"\nsha256 = \"" +
           sha256_in_hex(entry.token) + "\"\nworkspace = \"" + entry.workspace +
           "\"\nnamespaces = " + entry.namespaces + "\npermissions = " + entry.permissions + "\n";
}

Fields bearing(std::string_view token) {
    return {{"Authorization", "Bearer " + std::string(token)}};
}

}  // namespace sluice::server_test
