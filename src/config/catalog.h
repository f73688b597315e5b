// The catalog of settings: each with its key, what is allowed, and how it is set and shown. The
// file, the environment, the flags, their help and their messages all follow from it.
#ifndef SLUICE_CONFIG_CATALOG_H_
#define SLUICE_CONFIG_CATALOG_H_

#include <span>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/value.h"

namespace sluice::config {

struct Setting {
    std::string_view key;         // in the file: "log.level" is `level` of the table [log]
    std::string_view value_name;  // what stands behind the flag in its help; empty for a switch
    std::string_view help;
    std::string_view allowed;              // completes "allowed is ..."
    bool (*set)(Settings&, const Value&);  // false, and nothing changed, for what is not allowed
    std::string (*show)(const Settings&);
};

// All settings but the tokens, which have a shape of their own.
std::span<const Setting> catalog();
const Setting* find_setting(std::string_view key);

// Whether a setting exists for tests alone, and is left out of the help.
inline bool is_for_tests(const Setting& setting) {
    return setting.key.starts_with("test_");
}

// SLUICE_LOG_LEVEL and --log-level for "log.level".
std::string variable_of(std::string_view key);
std::string flag_of(std::string_view key);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_CATALOG_H_
