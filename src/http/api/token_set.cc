#include "http/api/token_set.h"

#include <algorithm>

#include <openssl/crypto.h>

namespace sluice::http {
namespace {

std::vector<overrides::Glob> prepare(std::span<const std::string> patterns) {
    return {patterns.begin(), patterns.end()};
}

}  // namespace

bool Caller::may_use(std::string_view name_space) const {
    return std::ranges::any_of(
        namespaces, [&](const overrides::Glob& pattern) { return pattern.matches(name_space); });
}

TokenSet::TokenSet(std::span<const config::Token> tokens) {
    anonymous_.namespaces.emplace_back("*");
    anonymous_.is_anonymous = true;
    for (const config::Token& token : tokens) {
        hashes_.push_back(token.sha256);
        callers_.push_back({.token = token.name,
                            .workspace = token.workspace,
                            .permissions = token.permissions,
                            .namespaces = prepare(token.namespaces),
                            .namespace_patterns = token.namespaces});
    }
}

const Caller* TokenSet::find(std::string_view secret) const {
    // No configured token is longer, and hashing costs time.
    if (secret.empty() || secret.size() > config::kMaxTokenLength) return nullptr;
    return find(sha256_of(secret));
}

const Caller* TokenSet::find(const Sha256& presented) const {
    std::size_t found = hashes_.size();
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
        if (CRYPTO_memcmp(hashes_[i].data(), presented.data(), presented.size()) == 0) found = i;
    }
    return found == hashes_.size() ? nullptr : &callers_[found];
}

}  // namespace sluice::http
