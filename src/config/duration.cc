#include "config/duration.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace sluice::config {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t milliseconds;
};

// From the largest to the smallest.
constexpr std::array kUnits = {
    Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1000}, Unit{"ms", 1}};

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    std::uint64_t count = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, count);
    if (failed != std::errc{}) return std::nullopt;
    const std::string_view name(end, static_cast<std::size_t>(last - end));
    for (const Unit& unit : kUnits) {
        if (unit.name != name) continue;
        const std::int64_t most = std::numeric_limits<std::int64_t>::max() / unit.milliseconds;
        if (count > static_cast<std::uint64_t>(most)) return std::nullopt;
        return std::chrono::milliseconds{static_cast<std::int64_t>(count) * unit.milliseconds};
    }
    return std::nullopt;
}

std::string to_string(std::chrono::milliseconds duration) {
    const std::int64_t count = duration.count();
    if (count == 0) return "0s";
    for (const Unit& unit : kUnits) {
        if (count % unit.milliseconds != 0) continue;
        return std::to_string(count / unit.milliseconds) + std::string(unit.name);
    }
    return {};
}

}  // namespace sluice::config
