// Reads a TOML file of settings. Tokens are checked here, all other values by the catalog.
#ifndef SLUICE_CONFIG_FILE_H_
#define SLUICE_CONFIG_FILE_H_

#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/token.h"
#include "config/value.h"

namespace sluice::config {

struct FileValue {
    std::string key;    // "log.level"
    std::string where;  // "sluice.toml:12"
    Value value;
};

struct FileContents {
    std::vector<FileValue> values;
    std::vector<Token> tokens;
    std::string tokens_where;  // where the first token stands; empty if there is none
};

// A field of a [[tokens]] table.
struct TokenFieldHelp {
    std::string_view name;
    std::string_view allowed;
};
std::vector<TokenFieldHelp> token_fields();

// The contents of a file of at most 4 MiB.
Result<std::string> read_text(const std::string& path);

// Parses TOML. `name` is the name of the file in messages. Invalid parts are reported in `problems`
// and left out of the contents.
FileContents parse_file(std::string_view text, const std::string& name, SettingProblems& problems);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_FILE_H_
