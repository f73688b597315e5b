#include "service/valid_options.h"

#include <chrono>
#include <cstddef>
#include <string>

#include "service/open_bus.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxRegionBytes = 48;
constexpr std::size_t kMaxMaxKeys = 1'000'000'000;
constexpr std::size_t kMinCells = 64;
constexpr std::size_t kMaxMinRegions = 1'024;
constexpr std::chrono::milliseconds kShortestTimeout{10};
constexpr std::chrono::milliseconds kLongestTimeout{10'000};
constexpr std::chrono::milliseconds kLongestInterval{3'600'000};

}  // namespace

std::optional<Error> invalid_option(const Options& options, const TestOptions& test) {
    if (options.region.empty() && !options.global.empty()) {
        return Error{kRegionRequired,
                     "region is empty; allowed with a global store: a name of 1 to 48 bytes"};
    }
    if (auto error = bus_without_global(options)) return error;
    if (options.region.size() > kMaxRegionBytes) {
        return Error{kInvalidOption,
                     "region is " + std::to_string(options.region.size()) +
                         " bytes long; allowed: up to " + std::to_string(kMaxRegionBytes)};
    }
    if (options.max_keys == 0 || options.max_keys > kMaxMaxKeys) {
        return Error{kInvalidOption,
                     "max_keys is " + std::to_string(options.max_keys) + "; allowed: 1 to " +
                         std::to_string(kMaxMaxKeys)};
    }
    if (options.origin_timeout < kShortestTimeout || options.origin_timeout > kLongestTimeout) {
        return Error{kInvalidOption,
                     "origin_timeout is " + std::to_string(options.origin_timeout.count()) +
                         " ms; allowed: 10 to 10000"};
    }
    if (options.global_max_cells < kMinCells || options.global_max_cells > kMaxMaxKeys) {
        return Error{kInvalidOption,
                     "global_max_cells is " + std::to_string(options.global_max_cells) +
                         "; allowed: " + std::to_string(kMinCells) + " to " +
                         std::to_string(kMaxMaxKeys)};
    }
    if (options.global_min_regions == 0 || options.global_min_regions > kMaxMinRegions) {
        return Error{kInvalidOption,
                     "global_min_regions is " + std::to_string(options.global_min_regions) +
                         "; allowed: 1 to " + std::to_string(kMaxMinRegions)};
    }
    const std::chrono::milliseconds interval = test.global_interval;
    if (interval.count() != 0 && (interval < kShortestTimeout || interval > kLongestInterval)) {
        return Error{kInvalidOption,
                     "the test's global_interval is " + std::to_string(interval.count()) +
                         " ms; allowed: 0, or 10 to 3600000"};
    }
    return std::nullopt;
}

}  // namespace sluice
