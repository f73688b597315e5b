#include "config/token.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sluice::config {
namespace {

constexpr const char* kHashOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Token, HashMatchesThePublishedVectors) {
    EXPECT_EQ(to_hex(sha256_of("abc")), kHashOfAbc);
    EXPECT_EQ(to_hex(sha256_of("")),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Token, HashIsReadInEitherCase) {
    std::string upper = kHashOfAbc;
    for (char& c : upper)
        c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(parse_sha256(kHashOfAbc), sha256_of("abc"));
    EXPECT_EQ(parse_sha256(upper), sha256_of("abc"));
}

TEST(Token, InvalidHashIsRefused) {
    EXPECT_EQ(parse_sha256(""), std::nullopt);
    EXPECT_EQ(parse_sha256(std::string(63, 'a')), std::nullopt);
    EXPECT_EQ(parse_sha256(std::string(65, 'a')), std::nullopt);
    EXPECT_EQ(parse_sha256(std::string(63, 'a') + "g"), std::nullopt);
    EXPECT_EQ(parse_sha256("0x" + std::string(62, 'a')), std::nullopt);
    EXPECT_EQ(parse_sha256("-1" + std::string(62, 'a')), std::nullopt);
}

TEST(Token, NewSecretsAreLongVisibleAndUnique) {
    std::set<std::string> secrets;
    for (int i = 0; i < 100; ++i)
        secrets.insert(make_secret());
    EXPECT_EQ(secrets.size(), 100U);
    for (const std::string& secret : secrets) {
        EXPECT_EQ(secret.size(), 50U);
        EXPECT_TRUE(secret.starts_with("sluice_"));
        EXPECT_TRUE(is_valid_secret(secret));
    }
}

TEST(Token, SecretThatAHeaderCannotCarryIsRefused) {
    EXPECT_TRUE(is_valid_secret("x"));
    EXPECT_TRUE(is_valid_secret(std::string(512, '~')));
    EXPECT_FALSE(is_valid_secret(""));
    EXPECT_FALSE(is_valid_secret(std::string(513, 'a')));
    EXPECT_FALSE(is_valid_secret("a b"));
    EXPECT_FALSE(is_valid_secret("a\n"));
    EXPECT_FALSE(is_valid_secret("\xc3\xa4"));
}

TEST(Token, BareSecretHasAllPermissionsInTheDefaultWorkspace) {
    const Token token = all_powerful_token("flag", "abc");
    EXPECT_EQ(token.sha256, sha256_of("abc"));
    EXPECT_EQ(token.workspace, "default");
    EXPECT_EQ(token.namespaces, std::vector<std::string>{"*"});
    EXPECT_EQ(token.permissions, kAllPermissions);
}

}  // namespace
}  // namespace sluice::config
