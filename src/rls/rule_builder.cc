// Checks rules as they are written and arranges them in a RuleSet.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rls/rules.h"
#include "window/cell.h"

namespace sluice::rls {
namespace {

// Domains have 1 to 512 characters, as namespaces.
constexpr std::size_t kMaxDomainBytes = 512;

Error refused(const DomainConfig& config, int line, const std::string& what) {
    return {kInvalidOption, location(config.source, line) + ": " + what};
}

// The window of a limit, or why it has none.
Result<std::chrono::milliseconds> window_of(const LimitConfig& limit, const DomainConfig& config) {
    const auto refuse = [&](const std::string& what) { return refused(config, limit.line, what); };
    std::chrono::milliseconds window{};
    if (limit.duration) {
        if (!limit.unit.empty())
            return refuse("rate_limit has a unit and a duration; allowed: one of them");
        if (limit.unit_multiplier != 1)
            return refuse("unit_multiplier stands beside a duration; allowed: beside a unit");
        window = *limit.duration;
    } else {
        const auto unit = duration_of(unit_named(limit.unit));
        if (!unit) {
            return refuse("invalid rate limit unit '" + limit.unit +
                          "'; allowed: second, minute, hour, day, week, month, year, or a "
                          "duration such as 30s instead");
        }
        window = *unit * std::int64_t{limit.unit_multiplier};
    }
    if (window < kMinDuration || window > kMaxDuration)
        return refuse("the window is " + std::to_string(window.count()) +
                      " ms long; allowed: 1 second to 366 days");
    return window;
}

std::optional<Error> wrong_replaces(const LimitConfig& limit, const DomainConfig& config) {
    for (const std::string& name : limit.replaces) {
        if (name.empty()) {
            return refused(config,
                           limit.line,
                           "should not have an empty replaces entry; allowed: the name of "
                           "another rate_limit");
        }
        if (name == limit.name) {
            return refused(config,
                           limit.line,
                           "replaces should not contain name of same descriptor ('" + name +
                               "'); allowed: the name of another rate_limit");
        }
    }
    return std::nullopt;
}

}  // namespace

// Fills a RuleSet from configurations.
class RuleSet::Builder {
  public:
    Builder(RuleSet& set, SameDomain same_domain) : set_(set), same_domain_(same_domain) {}

    std::optional<Error> add(DomainConfig& config);
    void finish();

  private:
    // The place of the descriptors that are being added.
    struct Level {
        std::uint32_t parent;
        std::size_t depth;
        MetricLabels labels;
        std::string full_key;
        bool has_value_metrics;
    };

    std::optional<Error> add_level(const DomainConfig& config,
                                   std::vector<DescriptorConfig>& descriptors,
                                   const Level& level);
    std::optional<Error> add_descriptor(const DomainConfig& config,
                                        DescriptorConfig& descriptor,
                                        const Level& level);
    std::optional<Error> wrong_descriptor(const DomainConfig& config,
                                          const DescriptorConfig& descriptor,
                                          const Level& level);
    std::optional<Error> add_rule(const DomainConfig& config,
                                  DescriptorConfig& descriptor,
                                  const Level& level,
                                  Node& node);
    void add_node(const Node& node, std::uint32_t parent) {
        set_.nodes_.push_back(node);
        parents_.push_back(parent);
    }

    RuleSet& set_;
    const SameDomain same_domain_;
    std::vector<std::uint32_t> roots_;
    std::vector<std::uint32_t> parents_;  // of the nodes; kNone of a root
    std::size_t name_bytes_ = 0;
    std::unordered_set<std::string> group_keys_;      // with the number of the parent
    std::unordered_set<std::string> composite_keys_;  // with the number of the parent
};

std::optional<Error> RuleSet::Builder::add(DomainConfig& config) {
    for (std::string& warning : config.warnings)
        set_.warnings_.push_back(std::move(warning));
    if (config.domain.empty()) {
        return refused(
            config, config.line, "config file cannot have empty domain; allowed: 1 to 512 bytes");
    }
    if (config.domain.size() > kMaxDomainBytes) {
        return refused(config,
                       config.line,
                       "the domain is " + std::to_string(config.domain.size()) +
                           " bytes long; allowed: 1 to 512");
    }
    std::uint32_t root = kNone;
    const std::uint32_t domain = set_.texts_.add(config.domain);
    for (const std::uint32_t known : roots_)
        if (set_.nodes_[known].key == domain) root = known;
    if (root != kNone && same_domain_ == SameDomain::kRefuse) {
        return refused(config,
                       config.line,
                       "duplicate domain '" + config.domain +
                           "' in config file; allowed: one file for each domain, or the setting "
                           "rls.merge_domains");
    }
    if (root == kNone) {
        root = static_cast<std::uint32_t>(set_.nodes_.size());
        add_node({.key = domain}, kNone);
        roots_.push_back(root);
    }
    return add_level(config,
                     config.descriptors,
                     {.parent = root,
                      .depth = 0,
                      .labels = {.domain = config.domain, .key1 = {}},
                      .full_key = config.domain,
                      .has_value_metrics = false});
}

std::optional<Error> RuleSet::Builder::add_level(const DomainConfig& config,
                                                 std::vector<DescriptorConfig>& descriptors,
                                                 const Level& level) {
    for (DescriptorConfig& descriptor : descriptors)
        if (auto error = add_descriptor(config, descriptor, level)) return error;
    return std::nullopt;
}

std::optional<Error> RuleSet::Builder::wrong_descriptor(const DomainConfig& config,
                                                        const DescriptorConfig& descriptor,
                                                        const Level& level) {
    const auto refuse = [&](const std::string& what) {
        return refused(config, descriptor.line, what);
    };
    if (descriptor.key.empty()) return refuse("descriptor has empty key; allowed: any text");
    if (level.depth >= kMaxRuleDepth)
        return refuse("descriptors are nested deeper; allowed: " + std::to_string(kMaxRuleDepth));
    if (descriptor.value.size() > overrides::Glob::kMaxBytes ||
        descriptor.key.size() > overrides::Glob::kMaxBytes)
        return refuse("the key or the value is longer; allowed: 4096 bytes");
    const bool is_wildcard = descriptor.value.find('*') != std::string::npos;
    if (descriptor.share_threshold && !is_wildcard) {
        return refuse("share_threshold can only be used with wildcard values, but the value is '" +
                      descriptor.value + "'; allowed: a value with a '*'");
    }
    const std::string& key = descriptor.key;
    const std::string group =
        std::to_string(level.parent) + ":" + std::to_string(key.size()) + ":" + key;
    if (descriptor.value.empty() || is_wildcard) group_keys_.insert(group);
    const bool is_new = composite_keys_.insert(group + descriptor.value).second;
    if (!is_new) {
        return refuse("duplicate descriptor composite key '" + level.full_key + "." +
                      composite_key(key, descriptor.value) +
                      "'; allowed: one descriptor for each key and value of a level");
    }
    return std::nullopt;
}

std::optional<Error> RuleSet::Builder::add_descriptor(const DomainConfig& config,
                                                      DescriptorConfig& descriptor,
                                                      const Level& level) {
    if (auto error = wrong_descriptor(config, descriptor, level)) return error;
    const std::string text = composite_key(descriptor.key, descriptor.value);
    name_bytes_ += level.full_key.size() + 1 + text.size();
    if (name_bytes_ > kMaxRuleNameBytes) {
        return refused(config,
                       descriptor.line,
                       "the names of all descriptors, each with those above it, are longer; "
                       "allowed: " +
                           std::to_string(kMaxRuleNameBytes) + " bytes");
    }
    Level below{.parent = static_cast<std::uint32_t>(set_.nodes_.size()),
                .depth = level.depth + 1,
                .labels = level.labels,
                .full_key = level.full_key + "." + text,
                .has_value_metrics = level.has_value_metrics || descriptor.value_to_metric};
    append_level(below.labels, level.depth, descriptor.key, descriptor.value);

    const std::string& value = descriptor.value;
    Node node{.rule = kNone,
              .key = set_.texts_.add(descriptor.key),
              .value = value.empty() ? kNone : set_.texts_.add(value),
              .shares_threshold = descriptor.share_threshold,
              .value_to_metric = descriptor.value_to_metric};
    if (descriptor.rate_limit) {
        if (auto error = add_rule(config, descriptor, below, node)) return error;
    }
    add_node(node, level.parent);
    return add_level(config, descriptor.descriptors, below);
}

std::optional<Error> RuleSet::Builder::add_rule(const DomainConfig& config,
                                                DescriptorConfig& descriptor,
                                                const Level& level,
                                                Node& node) {
    LimitConfig& limit = *descriptor.rate_limit;
    if (auto error = wrong_replaces(limit, config)) return error;
    std::chrono::milliseconds window{};
    if (!limit.unlimited) {
        auto known = window_of(limit, config);
        if (!known) return std::move(known).error();
        window = *known;
    } else if (limit.duration || unit_named(limit.unit) != Unit::kUnknown) {
        return refused(config,
                       limit.line,
                       "should not specify rate limit unit when unlimited; allowed: neither unit "
                       "nor duration");
    }
    node.rule = static_cast<std::uint32_t>(set_.rules_.size());
    set_.rules_.push_back(
        {.full_key = level.full_key,
         .location = location(config.source, descriptor.line),
         .labels = level.labels,
         .requests_per_unit = limit.requests_per_unit,
         .duration = window,
         .unit = unit_of(window),
         .unlimited = limit.unlimited,
         .shadow_mode = descriptor.shadow_mode,
         .quota_mode = descriptor.quota_mode,
         .count_denied = limit.count_denied,
         .detailed_metric = descriptor.detailed_metric,
         .has_metrics_by_value = descriptor.detailed_metric || level.has_value_metrics,
         .name = std::move(limit.name),
         .replaces = std::move(limit.replaces),
         .metadata = std::move(descriptor.metadata),
         .index = node.rule});
    return std::nullopt;
}

// Arranges the nodes. Those with a value are found by it, also wildcards, which come before other
// wildcards for their own text.
void RuleSet::Builder::finish() {
    set_.children_.reserve(set_.nodes_.size() + group_keys_.size());
    for (std::uint32_t at = 0; at < set_.nodes_.size(); ++at) {
        const Node& node = set_.nodes_[at];
        const std::uint32_t parent = parents_[at];
        const bool has_value = node.value != kNone;
        const std::string_view value = has_value ? set_.texts_[node.value] : std::string_view();
        const bool is_wildcard = value.find('*') != std::string_view::npos;
        if (has_value) set_.children_.add({parent, node.key, node.value}, at);
        if (parent == kNone) set_.children_.add({parent, node.key, kNone}, at);
        if (parent == kNone || (has_value && !is_wildcard)) continue;
        std::uint32_t found = set_.children_.find({parent, node.key, kNone});
        if (found == kNone) {
            found = static_cast<std::uint32_t>(set_.groups_.size());
            set_.groups_.emplace_back();
            set_.children_.add({parent, node.key, kNone}, found);
        }
        KeyGroup& group = set_.groups_[found];
        if (is_wildcard) {
            group.wildcards.push_back({.glob = overrides::Glob(value), .node = at});
        } else {
            group.any = at;
        }
    }
    set_.is_loaded_ = true;
}

Result<std::shared_ptr<const RuleSet>> RuleSet::build(std::vector<DomainConfig> configs,
                                                      SameDomain same_domain) {
    std::shared_ptr<RuleSet> set(new RuleSet);
    Builder builder(*set, same_domain);
    for (DomainConfig& config : configs)
        if (auto error = builder.add(config)) return *std::move(error);
    builder.finish();
    return std::shared_ptr<const RuleSet>(std::move(set));
}

}  // namespace sluice::rls
