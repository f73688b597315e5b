// Rule files: the YAML of envoyproxy/ratelimit, with additions.
//
//     domain: web
//     descriptors:
//       - key: remote_address
//         rate_limit:
//           unit: minute            # or `duration: 30s`
//           requests_per_unit: 100
#ifndef SLUICE_RLS_RULE_FILE_H_
#define SLUICE_RLS_RULE_FILE_H_

#include <sluice/result.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rls/rule_budget.h"
#include "rls/rule_config.h"
#include "rls/rules.h"

namespace sluice::rls {

inline constexpr std::size_t kMaxRuleFileBytes = 16'777'216;
inline constexpr std::size_t kMaxRuleFiles = 10'000;

// Parses the text of one file, which is called `source` in messages. The error names the line, what
// is wrong there and what is allowed. A key that is known but stands in the wrong place has no
// effect, as in envoyproxy/ratelimit, and is a warning; an unknown one is an error. What the file
// holds is charged to the budget of the load.
Result<DomainConfig> parse_rules(const std::string& text,
                                 const std::string& source,
                                 RuleBudget& budget);

// The files at `path`, a file or a folder, sorted. Of a folder and those below it, all files count
// but those whose name, or whose folder's, begins with a dot.
Result<std::vector<std::string>> list_rule_files(const std::string& path);

// Reads and checks all rules at `path`. One bad file makes all of them invalid.
Result<std::shared_ptr<const RuleSet>> load_rules(const std::string& path, SameDomain same_domain);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_FILE_H_
