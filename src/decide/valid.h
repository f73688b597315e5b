// Validation of requests, batches and times.
#ifndef SLUICE_DECIDE_VALID_H_
#define SLUICE_DECIDE_VALID_H_

#include <sluice/result.h>
#include <sluice/types.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "window/cell.h"

namespace sluice {

inline constexpr std::size_t kMaxPartCharacters = 512;
static_assert(std::has_single_bit(kMaxPartCharacters));
inline constexpr std::size_t kMaxBatch = 100;

// 1 to 512 characters. Any bytes are allowed: each byte that doesn't continue a character of UTF-8
// begins one.
bool is_valid_part(std::string_view part);
inline bool is_valid_count(std::int64_t count) {
    return static_cast<std::uint64_t>(count) <= kMaxCount;
}
inline bool is_valid_duration(Duration duration) {
    return duration >= kMinDuration && duration <= kMaxDuration;
}
inline bool is_valid_time(UnixTime now) {
    return is_valid_count(now.time_since_epoch().count());
}

inline bool has_valid_parts(const Request& request) {
    // Parts that are not long are checked together: joining the bits finds the largest number below
    // a power of two.
    const std::size_t largest = (request.workspace.size() - 1) | (request.name_space.size() - 1) |
                                (request.identifier.size() - 1);
    if (largest < kMaxPartCharacters) [[likely]]
        return true;
    return is_valid_part(request.workspace) && is_valid_part(request.name_space) &&
           is_valid_part(request.identifier);
}

inline bool has_valid_numbers(const Request& request) {
    return is_valid_count(request.limit | request.cost) && is_valid_duration(request.duration);
}
static_assert(std::has_single_bit(kMaxCount + 1), "joined bits are a count if both are");

inline bool is_valid(const Request& request) {
    return has_valid_parts(request) && has_valid_numbers(request);
}

inline bool is_valid_batch(std::span<const Request> requests) {
    return !requests.empty() && requests.size() <= kMaxBatch &&
           std::ranges::all_of(requests, is_valid);
}

// Errors for a request, a batch or a time that is not valid. They name the field, its value, and
// what is allowed.
Error invalid_request(const Request& request);
Error invalid_batch(std::span<const Request> requests);
Error invalid_time(UnixTime now);

inline Error out_of_memory() {
    return {kOutOfMemory, "out of memory"};  // short enough not to allocate
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_VALID_H_
