// The rules in force: which limit applies to a descriptor.
#ifndef SLUICE_RLS_RULES_H_
#define SLUICE_RLS_RULES_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overrides/patterns.h"
#include "rls/messages.h"
#include "rls/rule_config.h"

namespace sluice::rls {

inline constexpr std::size_t kMaxRules = 100'000;  // descriptors of all domains, nested ones too
inline constexpr std::size_t kMaxRuleDepth = kMaxEntriesPerDescriptor;

// The labels of a rule's metrics. `key1` is the first level ("database_users"), `key2` all deeper
// ones, joined by dots.
struct MetricLabels {
    std::string domain;
    std::string key1;
    std::string key2 = {};

    auto operator<=>(const MetricLabels&) const = default;
};

// One limit. Immutable.
struct LimitRule {
    std::string full_key;  // "domain.key_value.key", as envoyproxy/ratelimit names it
    std::string location;  // file and line
    MetricLabels labels;
    std::uint32_t requests_per_unit = 0;
    std::chrono::milliseconds duration{};
    Unit unit = Unit::kUnknown;  // of the duration; kUnknown: Envoy has no name for it
    bool unlimited = false;
    bool shadow_mode = false;
    bool quota_mode = false;
    bool count_denied = true;
    bool detailed_metric = false;
    bool has_metrics_by_value = false;  // its labels depend on the values of a request
    std::string name = {};
    std::vector<std::string> replaces = {};
    std::optional<MetadataFields> metadata = {};
    std::size_t index = 0;  // among all rules of the set
};

// Whether files may add rules to a domain that another file has.
enum class SameDomain { kRefuse, kMerge };

// RuleSet finds the rule of a descriptor, level by level: at each level the descriptor whose value
// is equal, else the first in the order of the file whose wildcard matches, else the one without a
// value. There is no way back: a descriptor that matches nothing below the chosen one has no rule.
// A rule applies only to descriptors that end at its level.
//
// A level takes one or two lookups in a hash table, however many rules there are, and a comparison
// for each wildcard of the same key at that level.
//
// Immutable, hence thread-safe.
class RuleSet {
  public:
    // Checks and arranges the rules. The error names file, line and what is allowed.
    static Result<std::shared_ptr<const RuleSet>> build(std::vector<DomainConfig> configs,
                                                        SameDomain same_domain);
    // No rules were loaded yet.
    static std::shared_ptr<const RuleSet> none();

    RuleSet(const RuleSet&) = delete;
    RuleSet& operator=(const RuleSet&) = delete;

    bool is_loaded() const { return is_loaded_; }
    bool has_domain(std::string_view domain) const;

    // The rule of a descriptor; null if none applies. `identifier` becomes the identifier of its
    // counts, and is meaningless without a rule.
    const LimitRule* match(std::string_view domain,
                           std::span<const DescriptorEntry> entries,
                           std::string& identifier) const;

    // The labels of a rule whose metrics are by value. Requires that match() returns `rule`.
    MetricLabels labels_of(const LimitRule& rule,
                           std::string_view domain,
                           std::span<const DescriptorEntry> entries) const;

    // In the order of the files.
    const std::deque<LimitRule>& rules() const { return rules_; }
    std::span<const std::string> warnings() const { return warnings_; }

  private:
    class Builder;
    RuleSet() = default;

    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    // A descriptor of a file, or the root of a domain.
    struct Node {
        std::uint32_t parent = kNone;
        std::uint32_t rule = kNone;
        std::string_view key;
        std::string_view value;  // empty: any; with a `*`: a wildcard
        bool is_wildcard = false;
        bool shares_threshold = false;
        bool value_to_metric = false;
    };
    struct Wildcard {
        overrides::Glob glob;
        std::uint32_t node;
    };
    // The descriptors of one key at one level that are not found by their value.
    struct KeyGroup {
        std::uint32_t parent;
        std::string_view key;
        std::uint32_t any = kNone;
        std::vector<Wildcard> wildcards = {};
    };

    // An open-addressing index of nodes or groups by hash. At most half full.
    class Index {
      public:
        void reserve(std::size_t count);
        void add(std::uint64_t hash, std::uint32_t item);
        template <class IsWanted>
        std::uint32_t find(std::uint64_t hash, IsWanted is_wanted) const {
            for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
                const Slot& slot = slots_[at];
                if (slot.item == kNone || (slot.hash == hash && is_wanted(slot.item)))
                    return slot.item;
            }
        }

      private:
        struct Slot {
            std::uint64_t hash = 0;
            std::uint32_t item = kNone;
        };
        std::vector<Slot> slots_ = std::vector<Slot>(1);
        std::size_t mask_ = 0;
    };

    std::uint32_t root_of(std::string_view domain) const;
    std::uint32_t child(std::uint32_t parent, const DescriptorEntry& entry) const;
    std::uint32_t exact_child(std::uint32_t parent,
                              std::uint64_t key_hash,
                              const DescriptorEntry& entry) const;
    const KeyGroup* group(std::uint32_t parent, std::uint64_t key_hash, std::string_view key) const;

    bool is_loaded_ = false;
    std::deque<std::string> texts_;  // of the nodes
    std::vector<Node> nodes_;
    std::vector<KeyGroup> groups_;
    Index by_domain_;
    Index by_value_;
    Index by_key_;
    std::deque<LimitRule> rules_;
    std::vector<std::string> warnings_;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULES_H_
