// The script by which a component is raised.
#ifndef SLUICE_REGIONAL_REDIS_RAISE_SCRIPT_H_
#define SLUICE_REGIONAL_REDIS_RAISE_SCRIPT_H_

#include <string>
#include <string_view>

namespace sluice {

// What one run of the script is given.
struct Raise {
    std::string_view key;
    std::string_view owner;
    std::string_view own;       // a count
    std::string_view lifetime;  // in milliseconds
    bool has_lifetime = false;  // an owner that is there already need not look at it
};

// The field that holds the sum of all others.
inline constexpr std::string_view kTotalField = "total";

// Runs the script, which Redis has been told before. It answers {total, own} as texts.
std::string raise_command(const Raise& raise);
// The same, for a Redis that does not know the script any more. It does afterwards.
std::string raise_in_full_command(const Raise& raise);
std::string load_raise_command();

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_RAISE_SCRIPT_H_
