#include "rls/rules.h"

#include <bit>
#include <unordered_set>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rls/identifier.h"
#include "window/cell.h"

namespace sluice::rls {
namespace {

// Domains have 1 to 512 characters, as namespaces.
constexpr std::size_t kMaxDomainBytes = 512;

std::uint64_t hash_of(std::uint64_t seed, std::string_view text) {
    return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

Error refused(const DomainConfig& config, int line, const std::string& what) {
    return {kInvalidOption, location(config.source, line) + ": " + what};
}

// "key_value", or "key" without a value.
std::string composite(std::string_view key, std::string_view value) {
    std::string text(key);
    if (!value.empty()) text.append("_").append(value);
    return text;
}

void append_level(MetricLabels& labels, std::size_t depth, std::string_view level) {
    if (depth == 0) {
        labels.key1 = level;
    } else {
        if (depth > 1) labels.key2 += '.';
        labels.key2 += level;
    }
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

void RuleSet::Index::reserve(std::size_t count) {
    const std::size_t size = std::bit_ceil(2 * count + 1);
    slots_.assign(size, Slot{});
    mask_ = size - 1;
}

void RuleSet::Index::add(std::uint64_t hash, std::uint32_t item) {
    std::size_t at = hash & mask_;
    while (slots_[at].item != kNone)
        at = (at + 1) & mask_;
    slots_[at] = {.hash = hash, .item = item};
}

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
    std::string_view keep(std::string text) { return set_.texts_.emplace_back(std::move(text)); }

    RuleSet& set_;
    const SameDomain same_domain_;
    std::vector<std::uint32_t> roots_;
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
    for (const std::uint32_t known : roots_)
        if (set_.nodes_[known].key == config.domain) root = known;
    if (root != kNone && same_domain_ == SameDomain::kRefuse) {
        return refused(config,
                       config.line,
                       "duplicate domain '" + config.domain +
                           "' in config file; allowed: one file for each domain, or the setting "
                           "rls.merge_domains");
    }
    if (root == kNone) {
        root = static_cast<std::uint32_t>(set_.nodes_.size());
        Node node;
        node.key = keep(config.domain);
        set_.nodes_.push_back(node);
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
    if (set_.nodes_.size() >= kMaxRules) {
        return refuse("there are more descriptors in all files; allowed: " +
                      std::to_string(kMaxRules));
    }
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
    const bool is_new = composite_keys_
                            .insert(std::to_string(level.parent) + ":" +
                                    std::to_string(key.size()) + ":" + key + descriptor.value)
                            .second;
    if (!is_new) {
        return refuse("duplicate descriptor composite key '" + level.full_key + "." +
                      composite(key, descriptor.value) +
                      "'; allowed: one descriptor for each key and value of a level");
    }
    return std::nullopt;
}

std::optional<Error> RuleSet::Builder::add_descriptor(const DomainConfig& config,
                                                      DescriptorConfig& descriptor,
                                                      const Level& level) {
    if (auto error = wrong_descriptor(config, descriptor, level)) return error;
    const std::string text = composite(descriptor.key, descriptor.value);
    Level below{.parent = static_cast<std::uint32_t>(set_.nodes_.size()),
                .depth = level.depth + 1,
                .labels = level.labels,
                .full_key = level.full_key + "." + text,
                .has_value_metrics = level.has_value_metrics || descriptor.value_to_metric};
    append_level(below.labels, level.depth, text);

    Node node{.parent = level.parent,
              .rule = kNone,
              .key = keep(descriptor.key),
              .value = keep(descriptor.value),
              .is_wildcard = descriptor.value.find('*') != std::string::npos,
              .shares_threshold = descriptor.share_threshold,
              .value_to_metric = descriptor.value_to_metric};
    if (descriptor.rate_limit) {
        if (auto error = add_rule(config, descriptor, below, node)) return error;
    }
    set_.nodes_.push_back(node);
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

// Arranges the nodes, which have their final places now.
void RuleSet::Builder::finish() {
    set_.by_domain_.reserve(roots_.size());
    for (const std::uint32_t root : roots_)
        set_.by_domain_.add(hash_of(0, set_.nodes_[root].key), root);
    set_.by_value_.reserve(set_.nodes_.size());
    set_.by_key_.reserve(set_.nodes_.size());
    for (std::uint32_t at = 0; at < set_.nodes_.size(); ++at) {
        const Node& node = set_.nodes_[at];
        if (node.parent == kNone) continue;
        const std::uint64_t key_hash = hash_of(node.parent, node.key);
        if (!node.value.empty()) set_.by_value_.add(hash_of(key_hash, node.value), at);
        if (!node.value.empty() && !node.is_wildcard) continue;
        const auto is_same = [&](std::uint32_t group) {
            return set_.groups_[group].parent == node.parent && set_.groups_[group].key == node.key;
        };
        std::uint32_t found = set_.by_key_.find(key_hash, is_same);
        if (found == kNone) {
            found = static_cast<std::uint32_t>(set_.groups_.size());
            set_.groups_.push_back({.parent = node.parent, .key = node.key});
            set_.by_key_.add(key_hash, found);
        }
        KeyGroup& group = set_.groups_[found];
        if (node.is_wildcard) {
            group.wildcards.push_back({.glob = overrides::Glob(node.value), .node = at});
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

std::shared_ptr<const RuleSet> RuleSet::none() {
    return std::shared_ptr<const RuleSet>(new RuleSet);
}

std::uint32_t RuleSet::root_of(std::string_view domain) const {
    return by_domain_.find(hash_of(0, domain),
                           [&](std::uint32_t root) { return nodes_[root].key == domain; });
}

bool RuleSet::has_domain(std::string_view domain) const {
    return root_of(domain) != kNone;
}

std::uint32_t RuleSet::exact_child(std::uint32_t parent,
                                   std::uint64_t key_hash,
                                   const DescriptorEntry& entry) const {
    if (entry.value.empty()) return kNone;
    return by_value_.find(hash_of(key_hash, entry.value), [&](std::uint32_t at) {
        const Node& node = nodes_[at];
        return node.parent == parent && node.value == entry.value && node.key == entry.key;
    });
}

const RuleSet::KeyGroup* RuleSet::group(std::uint32_t parent,
                                        std::uint64_t key_hash,
                                        std::string_view key) const {
    const std::uint32_t found = by_key_.find(key_hash, [&](std::uint32_t at) {
        return groups_[at].parent == parent && groups_[at].key == key;
    });
    return found == kNone ? nullptr : &groups_[found];
}

std::uint32_t RuleSet::child(std::uint32_t parent, const DescriptorEntry& entry) const {
    const std::uint64_t key_hash = hash_of(parent, entry.key);
    const std::uint32_t exact = exact_child(parent, key_hash, entry);
    if (exact != kNone) return exact;
    const KeyGroup* const found = group(parent, key_hash, entry.key);
    if (found == nullptr) return kNone;
    for (const Wildcard& wildcard : found->wildcards)
        if (wildcard.glob.matches(entry.value)) return wildcard.node;
    return found->any;
}

const LimitRule* RuleSet::match(std::string_view domain,
                                std::span<const DescriptorEntry> entries,
                                std::string& identifier) const {
    identifier.clear();
    std::uint32_t at = root_of(domain);
    for (const DescriptorEntry& entry : entries) {
        if (at == kNone) return nullptr;
        at = child(at, entry);
        if (at == kNone) return nullptr;
        const Node& node = nodes_[at];
        if (node.shares_threshold) {
            append_shared_entry(identifier, entry.key, node.value);
        } else {
            append_entry(identifier, entry);
        }
    }
    if (at == kNone || nodes_[at].rule == kNone) return nullptr;
    finish_identifier(identifier);
    return &rules_[nodes_[at].rule];
}

MetricLabels RuleSet::labels_of(const LimitRule& rule,
                                std::string_view domain,
                                std::span<const DescriptorEntry> entries) const {
    MetricLabels labels{.domain = std::string(domain), .key1 = {}};
    std::uint32_t at = root_of(domain);
    for (std::size_t depth = 0; depth < entries.size(); ++depth) {
        at = child(at, entries[depth]);
        const Node& node = nodes_[at];
        const bool by_value =
            !node.shares_threshold && (rule.detailed_metric || node.value_to_metric);
        const std::string_view value = by_value ? entries[depth].value : node.value;
        append_level(labels, depth, composite(node.key, value));
    }
    return labels;
}

}  // namespace sluice::rls
