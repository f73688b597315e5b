// Bearer tokens and the permissions of their callers.
#ifndef SLUICE_HTTP_API_TOKEN_SET_H_
#define SLUICE_HTTP_API_TOKEN_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/current.h"
#include "base/sha256.h"
#include "config/token.h"
#include "overrides/patterns.h"

namespace sluice::http {

// The permissions of one token.
struct Caller {
    std::string token = {};  // its name; empty for a server without tokens
    std::string workspace = "default";
    config::Permissions permissions = config::kAllPermissions;
    std::vector<overrides::Glob> namespaces;
    bool is_anonymous = false;                            // has no token, since the server has none
    std::vector<std::string> namespace_patterns = {"*"};  // the same as texts

    bool may_use(std::string_view name_space) const;
};

// The tokens of the settings. Immutable, hence thread-safe. Holds no secret, only hashes.
class TokenSet {
  public:
    explicit TokenSet(std::span<const config::Token> tokens);

    // Without tokens, every caller has all permissions in the workspace `default`.
    bool is_open() const { return callers_.empty(); }
    const Caller& anonymous() const { return anonymous_; }

    // Returns the caller with this token, or null, at a cost that does not grow with the number of
    // tokens. Hashes are compared in constant time.
    const Caller* find(std::string_view secret) const;
    const Caller* find(const Sha256& presented) const;

  private:
    // Seeded, so that the time of a search reveals nothing about the hashes that are held.
    struct BucketHash {
        std::uint64_t seed;
        std::size_t operator()(const Sha256& hash) const;
    };
    struct ConstantTimeEqual {
        bool operator()(const Sha256& a, const Sha256& b) const;
    };

    Caller anonymous_;
    std::unordered_map<Sha256, Caller, BucketHash, ConstantTimeEqual> callers_;
};

// The tokens in effect. A reload replaces them while requests run.
//
// Thread-safe. Serving threads read through a TokenReader.
class CurrentTokens : public Current<TokenSet> {
  public:
    explicit CurrentTokens(std::span<const config::Token> tokens)
        : Current(std::make_shared<const TokenSet>(tokens)) {}

    // Takes effect for every request that starts afterwards.
    void replace(std::span<const config::Token> tokens) {
        Current::replace(std::make_shared<const TokenSet>(tokens));
    }
};

using TokenReader = Current<TokenSet>::Reader;

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_TOKEN_SET_H_
