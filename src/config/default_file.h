// The file of settings that the package installs: every setting, commented out, with its help.
#ifndef SLUICE_CONFIG_DEFAULT_FILE_H_
#define SLUICE_CONFIG_DEFAULT_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

// TOML that sets nothing. A line that begins with # and a letter is a setting with its default, or
// with an example where the default is none; with the # removed, it is valid. Prose begins with #
// and a space.
std::string default_file();

// The lines of `text`, broken at spaces, of at most `width` characters unless a word is longer.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_DEFAULT_FILE_H_
