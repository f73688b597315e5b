// Bearer tokens and their permissions. Only the SHA-256 of a token is stored.
#ifndef SLUICE_CONFIG_TOKEN_H_
#define SLUICE_CONFIG_TOKEN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace sluice::config {

struct Permissions {
    bool limit = false;
    bool read_override = false;
    bool set_override = false;
    bool delete_override = false;
    bool read_metrics = false;  // the state and the traffic of the node
    bool read_keys = false;     // which identifiers are denied most

    bool operator==(const Permissions&) const = default;
};
inline constexpr Permissions kAllPermissions{true, true, true, true, true, true};

inline constexpr std::size_t kMaxTokens = 1000;
inline constexpr std::size_t kMaxTokenLength = 512;

struct Token {
    std::string name;
    Sha256 sha256{};
    std::string workspace = "default";
    std::vector<std::string> namespaces{"*"};  // patterns; `*` matches any bytes
    Permissions permissions{.limit = true};

    bool operator==(const Token&) const = default;
};

// 64 hexadecimal digits, of either case.
std::optional<Sha256> parse_sha256(std::string_view text);

// 1 to 512 visible ASCII characters: what an Authorization header can carry.
bool is_valid_secret(std::string_view secret);

// A new secret of 258 random bits: "sluice_" and 43 characters that are safe in headers, shells and
// URLs.
std::string make_secret();

// The token for a secret from a flag or the environment: all permissions in the workspace
// `default`.
Token all_powerful_token(std::string name, std::string_view secret);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_TOKEN_H_
