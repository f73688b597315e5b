// What is wrong with a value that was given, in words that help to mend it.
#ifndef SLUICE_CONFIG_PROBLEM_H_
#define SLUICE_CONFIG_PROBLEM_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

// Each a whole line: "sluice.toml:3: threads is -1; allowed is a whole number from 0 to 1024".
using Problems = std::vector<std::string>;

// A setting as somebody gave it.
struct Given {
    std::string where;    // "sluice.toml:3", "SLUICE_THREADS", "--threads"
    std::string setting;  // "threads", "tokens[0].name"
    std::string value;    // quoted, or described where it is a secret
};

std::string not_allowed(const Given& given, std::string_view allowed);

// For a setting that doesn't exist: names the one that was probably meant, and all that do.
std::string unknown_setting(const Given& given, std::span<const std::string> known);

// The word of `known` that `word` is most likely a misspelling of; empty if none is close.
std::string nearest(std::string_view word, std::span<const std::string> known);

// A value in place of which a message should say only that there is one: whoever gives a setting
// such a name may have given a secret with it.
bool sounds_secret(std::string_view setting);
inline constexpr std::string_view kHidden = "a value that is not shown";

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_PROBLEM_H_
