// Reads the [[tokens]] of a file that toml++ has parsed.
#ifndef SLUICE_CONFIG_TOKEN_TABLE_H_
#define SLUICE_CONFIG_TOKEN_TABLE_H_

#include <string>

#include <toml++/toml.h>

#include "config/file.h"
#include "config/problem.h"
#include "config/value.h"

namespace sluice::config {

// "sluice.toml:12"
std::string line_of(const std::string& name, const toml::node& node);
std::string line_of(const std::string& name, const toml::key& key);

Value value_of(const toml::node& node);

// `node` is what the file calls `tokens`.
void read_tokens(const toml::node& node,
                 const std::string& name,
                 FileContents& contents,
                 Problems& problems);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_TOKEN_TABLE_H_
