// Loads settings from flags, environment and file. Flags override the environment, which overrides
// the file.
#ifndef SLUICE_CONFIG_LOAD_H_
#define SLUICE_CONFIG_LOAD_H_

#include <sluice/result.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace sluice::config {

struct Sources {
    std::string file;  // empty: the one that SLUICE_CONFIG names, or none
    // Names that neither begin with SLUICE_ nor are envoyproxy/ratelimit's are ignored.
    std::map<std::string, std::string> environment;
    std::map<std::string, std::string> flags;  // by the setting's key
    std::vector<std::string> tokens;           // secrets, each from a flag --token
    // Addresses of sockets that a supervisor has opened, by the setting's key. They override all.
    std::map<std::string, std::string> sockets = {};
};

struct Loaded {
    Settings settings;
    std::string file;  // empty: none was read
    std::map<std::string, std::string>
        origins;                             // by key: "sluice.toml:3", "SLUICE_LISTEN", "--listen"
    std::vector<std::string> warnings = {};  // about values that are allowed but probably mistakes
};

// Reads, checks and merges the sources. The error lists all problems, one per line: the setting,
// its value, what is allowed, and where it was given.
//
// A list of tokens replaces the list of a lower-priority source as a whole.
Result<Loaded> load_settings(const Sources& sources);

// One warning for each unknown variable that begins with SLUICE_, with the most similar known name.
// Values are not shown.
std::vector<std::string> unknown_variables(const std::map<std::string, std::string>& environment);

// The variables of this process that begin with SLUICE_ or are envoyproxy/ratelimit's.
std::map<std::string, std::string> sluice_environment();

enum class Shown { kGiven, kAll };

// The settings that were given, or all of them, each as a line of TOML with its source in a
// comment. Token hashes are not shown.
std::string describe(const Loaded& loaded, Shown shown = Shown::kAll);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_LOAD_H_
