// The version of this build, and the commit that it was made from.
#ifndef SLUICE_SERVER_VERSION_H_
#define SLUICE_SERVER_VERSION_H_

namespace sluice::server {

// The values are in version.cc alone, so that a new commit compiles one file.
extern const char* const kVersion;     // "0.2.0", or between releases "0.2.0+5.g0123456789ab"
extern const char* const kCommit;      // twelve digits, or "unknown"
extern const char* const kCommitDate;  // "2026-11-18"; "1970-01-01" if unknown

}  // namespace sluice::server

#endif  // SLUICE_SERVER_VERSION_H_
