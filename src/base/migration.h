// The result of a schema migration.
#ifndef SLUICE_BASE_MIGRATION_H_
#define SLUICE_BASE_MIGRATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class DryRun {
    kNo,
    kYes,  // reports the statements without running them
};

struct Migration {
    std::int64_t from;                    // the schema's version before; 0: there was none
    std::int64_t to;                      // and after
    std::vector<std::string> statements;  // that were run, or would be; none if it is up to date
};

}  // namespace sluice

#endif  // SLUICE_BASE_MIGRATION_H_
