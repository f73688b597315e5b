#include "overrides/text_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice::overrides {

std::size_t TextHash::operator()(std::string_view text) const {
    return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace sluice::overrides
