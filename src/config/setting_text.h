// Texts about a setting, for files, manual pages and completions.
#ifndef SLUICE_CONFIG_SETTING_TEXT_H_
#define SLUICE_CONFIG_SETTING_TEXT_H_

#include <string>
#include <vector>

#include "config/catalog.h"

namespace sluice::config {

// The default; that is "" where there is none.
std::string default_of(const Setting& setting);

// A value that the setting allows, as the file has it: the default, or an example where that is
// none.
std::string example_of(const Setting& setting);

// The words that are allowed, where only a few are: "text" and "json" for log.format.
std::vector<std::string> words_allowed(const Setting& setting);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_SETTING_TEXT_H_
