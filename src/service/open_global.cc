#include "service/open_global.h"

#include <string_view>

#include "global/memory_store.h"

namespace sluice {
namespace {

constexpr std::string_view kMemory = "memory:";

}  // namespace

std::optional<Error> invalid_global(const std::string& url) {
    if (url.starts_with(kMemory)) {
        if (url.size() > kMemory.size()) return std::nullopt;
        return Error{kInvalidOption,
                     "global is \"" + url + "\", which lacks a name after the colon"};
    }
    // What it is instead is not shown: it may hold a password.
    return Error{kInvalidOption, "global is of no known kind; allowed: memory:NAME"};
}

std::string shown_global(const std::string& url) {
    return invalid_global(url) ? std::string() : url;
}

Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place) {
    if (auto error = invalid_global(place.url)) return *std::move(error);
    return MemoryWorld::named(place.url.substr(kMemory.size()))->join(place.region);
}

}  // namespace sluice
