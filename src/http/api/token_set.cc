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
    for (const config::Token& token : tokens) {
        hashes_.push_back(token.sha256);
        callers_.push_back({.workspace = token.workspace,
                            .permissions = token.permissions,
                            .namespaces = prepare(token.namespaces)});
    }
}

const Caller* TokenSet::find(std::string_view secret) const {
    // No configured token is longer, and hashing costs time.
    if (secret.empty() || secret.size() > config::kMaxTokenLength) return nullptr;
    const Sha256 presented = sha256_of(secret);
    std::size_t found = hashes_.size();
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
        if (CRYPTO_memcmp(hashes_[i].data(), presented.data(), presented.size()) == 0) found = i;
    }
    return found == hashes_.size() ? nullptr : &callers_[found];
}

CurrentTokens::CurrentTokens(std::span<const config::Token> tokens)
    : current_(std::make_shared<const TokenSet>(tokens)) {}

void CurrentTokens::replace(std::span<const config::Token> tokens) {
    auto next = std::make_shared<const TokenSet>(tokens);
    const MutexLock lock(mutex_);
    current_.swap(next);
    version_.fetch_add(1, std::memory_order_release);
}

void TokenReader::fetch() {
    const MutexLock lock(tokens_->mutex_);
    set_ = tokens_->current_;
    // Relaxed: the mutex orders it. A newer number seen here would come with a newer set.
    version_ = tokens_->version_.load(std::memory_order_relaxed);
}

}  // namespace sluice::http
