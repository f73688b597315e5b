// Reads a TOML file of settings. Whether a setting exists and allows its value is for others to
// say, except for the tokens, which are read to the end here.
#ifndef SLUICE_CONFIG_FILE_H_
#define SLUICE_CONFIG_FILE_H_

#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"
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

// At most 4 MiB.
Result<std::string> read_text(const std::string& path);

// `name` stands for the file in messages. What is wrong is added to `problems`, and left out of the
// contents.
FileContents parse_file(std::string_view text, const std::string& name, Problems& problems);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_FILE_H_
