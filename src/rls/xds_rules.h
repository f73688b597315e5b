// Rules from a management server: resources of the type
// ratelimit.config.ratelimit.v3.RateLimitConfig, one for each domain.
#ifndef SLUICE_RLS_XDS_RULES_H_
#define SLUICE_RLS_XDS_RULES_H_

#include <sluice/result.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "rls/rule_budget.h"
#include "rls/rule_config.h"
#include "rls/rules.h"

namespace sluice::rls {

inline constexpr std::string_view kRuleConfigType =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
inline constexpr std::size_t kMaxRuleConfigBytes = 16'777'216;

// Decodes one resource. Unknown fields are skipped. What it holds is charged to the budget of the
// load. The error names the resource and what is allowed.
Result<DomainConfig> decode_rule_config(std::string_view bytes, RuleBudget& budget);

// Checks and arranges all resources of an answer, which replace all rules before. The error
// goes to the server, as the reason of the rejection.
Result<std::shared_ptr<const RuleSet>> decode_rules(std::span<const std::string_view> resources,
                                                    SameDomain same_domain);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_XDS_RULES_H_
