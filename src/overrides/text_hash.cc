#include "overrides/text_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice::overrides {

std::size_t TextHash::operator()(std::string_view text) const {
    return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::size_t hash_of(const NamespaceKey& key, std::uint64_t seed) {
    return TextHash{seed}(key.workspace) ^ TextHash { seed + 1 }(key.name_space);
}

}  // namespace sluice::overrides
