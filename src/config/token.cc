#include "config/token.h"

#include <algorithm>
#include <charconv>

#include <openssl/rand.h>

#include "base/check.h"

namespace sluice::config {

std::optional<Sha256> parse_sha256(std::string_view text) {
    Sha256 hash{};
    if (text.size() != hash.size() * 2) return std::nullopt;
    const char* next = text.data();
    for (std::uint8_t& byte : hash) {
        const auto [end, failed] = std::from_chars(next, next + 2, byte, 16);
        if (failed != std::errc{} || end != next + 2) return std::nullopt;
        next = end;
    }
    return hash;
}

bool is_valid_secret(std::string_view secret) {
    const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
    return !secret.empty() && secret.size() <= kMaxTokenLength &&
           std::all_of(secret.begin(), secret.end(), is_visible);
}

std::string make_secret() {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::array<std::uint8_t, 43> random{};
    SLUICE_CHECK(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1);
    std::string secret = "sluice_";
    // The alphabet's 64 characters take six bits of each byte, evenly.
    for (const std::uint8_t byte : random)
        secret += kAlphabet[byte & 63U];
    return secret;
}

Token all_powerful_token(std::string name, std::string_view secret) {
    return {.name = std::move(name), .sha256 = sha256_of(secret), .permissions = kAllPermissions};
}

}  // namespace sluice::config
