// Rules as they are written, in files or by a management server, before they are checked.
#ifndef SLUICE_RLS_RULE_CONFIG_H_
#define SLUICE_RLS_RULE_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rls/metadata.h"

namespace sluice::rls {

struct LimitConfig {
    std::uint32_t requests_per_unit = 0;
    std::string unit = {};  // as it is written; empty: none
    std::uint32_t unit_multiplier = 1;
    std::optional<std::chrono::milliseconds> duration = {};  // instead of a unit
    bool unlimited = false;
    std::string name = {};
    std::vector<std::string> replaces = {};
    std::optional<bool> count_denied = {};
    int line = 0;
};

struct DescriptorConfig {
    std::string key = {};
    std::string value = {};
    std::optional<LimitConfig> rate_limit = {};
    std::vector<DescriptorConfig> descriptors = {};
    bool shadow_mode = false;
    bool quota_mode = false;
    bool detailed_metric = false;
    bool value_to_metric = false;
    bool share_threshold = false;
    std::optional<MetadataFields> metadata = {};
    int line = 0;
};

// The rules of one domain, of one file or resource.
struct DomainConfig {
    std::string source = {};  // the path of the file, or the name of the resource
    std::string domain = {};
    std::vector<DescriptorConfig> descriptors = {};
    int line = 0;
    std::vector<std::string> warnings = {};  // about keys that have no effect where they are
};

// "a.yaml:12", or the name alone without a line.
inline std::string location(const std::string& source, int line) {
    return line == 0 ? source : source + ":" + std::to_string(line);
}

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_CONFIG_H_
