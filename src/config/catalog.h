// The catalog of settings: each with its key, its help, the allowed values, and how it is set and
// shown. File, environment, flags, help and messages are derived from it.
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
    std::string_view value_name;  // placeholder behind the flag in the help; empty for a switch
    std::string_view help;
    std::string_view allowed;              // completes "allowed is ..."
    bool (*set)(Settings&, const Value&);  // false, without a change, if not allowed
    std::string (*show)(const Settings&);
    // A value to start from, where the default is none. Empty: that of all with this value_name.
    std::string_view example = {};
};

// All settings except the tokens.
std::span<const Setting> catalog();
const Setting* find_setting(std::string_view key);
// Parts of catalog(): the settings of gRPC and of the rate-limit service, and those of traces.
std::span<const Setting> rules_catalog();
std::span<const Setting> trace_catalog();

// Whether a setting is for tests only, and not in the help.
inline bool is_for_tests(const Setting& setting) {
    return setting.key.starts_with("test_");
}

// SLUICE_LOG_LEVEL and --log-level for "log.level".
std::string variable_of(std::string_view key);
std::string flag_of(std::string_view key);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_CATALOG_H_
