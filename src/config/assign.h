// How the values of settings are converted and shown.
#ifndef SLUICE_CONFIG_ASSIGN_H_
#define SLUICE_CONFIG_ASSIGN_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/value.h"

namespace sluice::config {

// Text from any source.
std::optional<std::string> as_string(const Value& value);
std::optional<std::int64_t> as_integer(const Value& value);
std::optional<bool> as_bool(const Value& value);

// Each returns false, without a change, if the value is not allowed.
template <class T>
bool assign(T& place, std::optional<T> value) {
    if (!value) return false;
    place = *std::move(value);
    return true;
}
bool assign_count(std::size_t& place, const Value& value, std::int64_t least, std::int64_t most);
bool assign_duration(std::chrono::milliseconds& place,
                     const Value& value,
                     std::chrono::milliseconds least,
                     std::chrono::milliseconds most);
// A path or other text of 1 to `most` bytes.
bool assign_text(std::string& place, const Value& value, std::size_t most);

template <class Enum, std::size_t n>
bool assign_word(Enum& place, const Value& value, const std::array<std::string_view, n>& words) {
    const auto text = as_string(value);
    const auto* const word = text ? std::find(words.begin(), words.end(), *text) : words.end();
    if (word == words.end()) return false;
    place = static_cast<Enum>(word - words.begin());
    return true;
}

template <class Enum, std::size_t n>
std::string word_of(Enum value, const std::array<std::string_view, n>& words) {
    return quoted(words[static_cast<std::size_t>(value)]);
}

std::string show_bool(bool value);
std::string show_duration(std::chrono::milliseconds duration);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_ASSIGN_H_
