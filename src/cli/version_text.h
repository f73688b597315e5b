// What `sluice --version` prints.
#ifndef SLUICE_CLI_VERSION_TEXT_H_
#define SLUICE_CLI_VERSION_TEXT_H_

#include <string>

namespace sluice::cli {

// The version, the commit that it was built from, the compiler, and the versions of the libraries
// that it runs with.
std::string version_text();

}  // namespace sluice::cli

#endif  // SLUICE_CLI_VERSION_TEXT_H_
