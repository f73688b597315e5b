#include "page/assets.h"

#include <algorithm>

namespace sluice::page {

const Asset* find_asset(std::string_view path) {
    const auto found = std::ranges::find(assets(), path, &Asset::path);
    return found == assets().end() ? nullptr : &*found;
}

}  // namespace sluice::page
