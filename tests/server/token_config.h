// Tokens as they stand in a configuration file.
#ifndef SLUICE_TESTS_SERVER_TOKEN_CONFIG_H_
#define SLUICE_TESTS_SERVER_TOKEN_CONFIG_H_

#include <string>
#include <string_view>

#include "server/answer.h"

namespace sluice::server_test {

struct TokenEntry {
    std::string token;
    std::string workspace = "default";
    std::string namespaces = R"(["*"])";
    std::string permissions = R"(["limit", "read_override", "set_override", "delete_override"])";
};

// The lines of the file for one token.
std::string to_toml(const TokenEntry& entry);

// The field that presents a token.
Fields bearing(std::string_view token);

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_TOKEN_CONFIG_H_
