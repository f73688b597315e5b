// The data directory of a server.
#ifndef SLUICE_CLI_DATA_DIR_H_
#define SLUICE_CLI_DATA_DIR_H_

#include <sluice/result.h>

#include <optional>
#include <string>

#include "log/log.h"

namespace sluice::cli {

// Creates a missing directory that only this user may enter, whatever the umask. One that exists
// keeps its mode; the log says where other users may enter it. Does nothing for an empty path.
std::optional<Error> open_data_dir(const std::string& folder, Log& log);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_DATA_DIR_H_
