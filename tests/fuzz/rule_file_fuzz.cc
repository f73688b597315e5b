// Any bytes are a rule file. It is refused with a line, or becomes rules that can be matched.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "rls/rule_file.h"
#include "rls/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace sluice::rls;

[[noreturn]] void fail(const char* what, const std::string& detail) {
    std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
    std::abort();
}

// Matches each descriptor by its own keys and values; those without wildcards find a rule below the
// same domain.
void match_all(const RuleSet& rules,
               const std::string& domain,
               const std::vector<DescriptorConfig>& descriptors,
               std::vector<DescriptorEntry>& path) {
    for (const DescriptorConfig& descriptor : descriptors) {
        path.push_back({descriptor.key, descriptor.value});
        std::string identifier;
        const LimitRule* const rule = rules.match(domain, path, identifier);
        if (rule != nullptr && rule->labels.domain != domain) fail("a foreign rule", identifier);
        if (rule != nullptr && (identifier.empty() || identifier.size() > 512))
            fail("an identifier of a wrong length", identifier);
        MetricLabels labels;
        if (rule != nullptr) rules.write_labels(*rule, domain, path, labels);
        match_all(rules, domain, descriptor.descriptors, path);
        path.pop_back();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    RuleBudget budget;
    const auto config = parse_rules(std::string(data, data + size), "fuzz", budget);
    if (!config) {
        if (!config.error().message.starts_with("fuzz")) fail("no place", config.error().message);
        return 0;
    }
    const auto rules = RuleSet::build({*config}, SameDomain::kRefuse);
    if (!rules) {
        if (!rules.error().message.starts_with("fuzz")) fail("no place", rules.error().message);
        return 0;
    }
    std::vector<DescriptorEntry> path;
    match_all(**rules, config->domain, config->descriptors, path);
    return 0;
}
