#include "rls/rule_budget.h"

#include <string_view>

namespace sluice::rls {
namespace {

std::string excess(std::string_view what, std::size_t allowed, std::string_view unit) {
    return "there are more " + std::string(what) + "; allowed: " + std::to_string(allowed) +
           std::string(unit) + " in all rules together, each as often as aliases repeat it";
}

}  // namespace

// No sum overflows: nothing is charged beyond the limits, and a cost is at most what was charged.
std::optional<std::string> RuleBudget::charge(const RuleCost& cost) {
    spent_.descriptors += cost.descriptors;
    spent_.values += cost.values;
    spent_.text += cost.text;
    if (spent_.descriptors > kMaxRules) return excess("descriptors", kMaxRules, "");
    if (spent_.values > kMaxRuleValues) return excess("keys and values", kMaxRuleValues, "");
    if (spent_.text > kMaxRuleTextBytes)
        return excess("bytes of keys and values", kMaxRuleTextBytes, " bytes");
    return std::nullopt;
}

}  // namespace sluice::rls
