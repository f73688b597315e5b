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

// What a person gave. In a file a number is a number and a string a string; elsewhere everything is text.
using Value = std::variant<Text, std::string, std::int64_t, bool, Unfit>;

// As a message quotes it. Long values are cut.
std::string quoted(const Value& value);
std::string quoted(std::string_view text);


// "where: setting is value; allowed is ..."
struct Problem {
    std::string where;    // "sluice.toml:3", "SLUICE_LISTEN", "--listen"
    std::string setting;  // "listen", "tokens[0].name"
    std::string value;    // as quoted, or a description of a secret one
    std::string allowed;
};
std::string to_string(const Problem& problem);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_VALUE_H_
