// Values of settings as they were given, and the messages about those that are not allowed.
#ifndef SLUICE_CONFIG_VALUE_H_
#define SLUICE_CONFIG_VALUE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::config {

// A value from a flag or the environment, where everything is text.
struct UntypedText {
    std::string text;
};

// A value of a type that no setting has, as the file shows it.
struct UnsupportedValue {
    std::string text;
};

// A file distinguishes strings, numbers and booleans.
using Value = std::variant<UntypedText, std::string, std::int64_t, bool, UnsupportedValue>;

// As a message quotes it. Long values are cut.
std::string as_written(const Value& value);
std::string quoted(std::string_view text);

// Each a whole line: "sluice.toml:3: threads is -1; allowed is a whole number from 0 to 1024".
using SettingProblems = std::vector<std::string>;

// A setting and the place where it was given.
struct GivenSetting {
    std::string where;    // "sluice.toml:3", "SLUICE_THREADS", "--threads"
    std::string setting;  // "threads", "tokens[0].name"
    std::string value;    // quoted, or kHidden
};

// The message about a value that is not allowed.
std::string not_allowed(const GivenSetting& given, std::string_view allowed);

// The message about a setting that doesn't exist: lists those that do, and the most similar one.
std::string unknown_setting(const GivenSetting& given, std::span<const std::string> known);

// The word of `known` that `word` is most likely a misspelling of; empty if none is close.
std::string nearest(std::string_view word, std::span<const std::string> known);

// Whether the name suggests that the value is a secret, which messages replace by kHidden.
bool sounds_secret(std::string_view setting);
inline constexpr std::string_view kHidden = "a value that is not shown";

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_VALUE_H_
