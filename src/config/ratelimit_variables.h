// Environment variables of envoyproxy/ratelimit, which keep their meaning here.
#ifndef SLUICE_CONFIG_RATELIMIT_VARIABLES_H_
#define SLUICE_CONFIG_RATELIMIT_VARIABLES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

// A variable that has a meaning here, and the setting that it sets.
struct RatelimitValue {
    std::string key;
    std::string variable;
    std::string value;  // as the setting takes it
};

// The values that the environment gives to settings.
std::vector<RatelimitValue> ratelimit_values(const std::map<std::string, std::string>& environment);

// What is wrong with those that are part of a setting, as messages.
std::vector<std::string> ratelimit_problems(const std::map<std::string, std::string>& environment);

// The names of variables of envoyproxy/ratelimit in the environment that have no meaning here.
std::vector<std::string> ignored_ratelimit_variables(
    const std::map<std::string, std::string>& environment);

// Whether the name is one of either.
bool is_ratelimit_variable(std::string_view name);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_RATELIMIT_VARIABLES_H_
