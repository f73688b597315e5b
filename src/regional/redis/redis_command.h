// A command as Redis reads it.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_COMMAND_H_
#define SLUICE_REGIONAL_REDIS_REDIS_COMMAND_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace sluice {

// The bytes of a command. Its words may hold any byte.
std::string redis_command(std::initializer_list<std::string_view> words);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_COMMAND_H_
