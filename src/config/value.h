// One value as it was given, and where: in a file, in the environment, on the command line.
#ifndef SLUICE_CONFIG_VALUE_H_
#define SLUICE_CONFIG_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace sluice::config {

// A value without a type of its own, from a flag or the environment.
struct Text {
    std::string text;
};

// A value of a type that no setting has, as the file shows it.
struct Unfit {
    std::string text;
};

// What a person gave. In a file a number is a number and a string a string; elsewhere everything is
// text.
using Value = std::variant<Text, std::string, std::int64_t, bool, Unfit>;

// As a message quotes it. Long values are cut.
std::string as_written(const Value& value);
std::string quoted(std::string_view text);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_VALUE_H_
