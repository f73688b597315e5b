#include "http/api/token_set.h"

#include <algorithm>
#include <cstring>

#include <openssl/crypto.h>

#include "base/random.h"

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

TokenSet::TokenSet(std::span<const config::Token> tokens)
    : callers_(tokens.size(), BucketHash{system_random()}) {
    anonymous_.namespaces.emplace_back("*");
    anonymous_.is_anonymous = true;
    for (const config::Token& token : tokens) {
        callers_.insert_or_assign(token.sha256,
                                  Caller{.token = token.name,
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
    const auto found = callers_.find(presented);
    return found == callers_.end() ? nullptr : &found->second;
}

// A digest is random already; the seed hides which bucket a digest falls into.
std::size_t TokenSet::BucketHash::operator()(const Sha256& hash) const {
    std::uint64_t words[2];
    std::memcpy(words, hash.data(), sizeof words);
    const std::uint64_t mixed = (words[0] ^ seed) * (words[1] | 1U);
    return mixed ^ mixed >> 32U;
}

bool TokenSet::ConstantTimeEqual::operator()(const Sha256& a, const Sha256& b) const {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace sluice::http
