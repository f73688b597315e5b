// Durations as people write them: 500ms, 60s, 5m, 1h, 30d.
#ifndef SLUICE_CONFIG_DURATION_H_
#define SLUICE_CONFIG_DURATION_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::config {

// Parses a whole number followed by ms, s, m, h or d. None for anything else, or on overflow.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// In the largest unit that leaves no fraction, as parse_duration() reads it.
std::string to_string(std::chrono::milliseconds duration);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_DURATION_H_
