#include "server/version.h"

#include "server/build_version.h"

namespace sluice::server {

const char* const kVersion = kBuildVersion;
const char* const kCommit = kBuildCommit;
const char* const kCommitDate = kBuildDate;

}  // namespace sluice::server
