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

// Of the names of all descriptors, each with those above it.
inline constexpr std::size_t kMaxRuleNameBytes = 67'108'864;
inline constexpr std::size_t kMaxRuleDepth = kMaxEntriesPerDescriptor;

// The labels of a rule's metrics. `key1` is the first level ("database_users"), `key2` all deeper
// ones, joined by dots.
struct MetricLabels {
    std::string domain;
    std::string key1;
    std::string key2 = {};

    // Starts over with the labels of a domain.
    void begin(std::string_view of_domain) {
        domain = of_domain;
        key1.clear();
        key2.clear();
    }

    auto operator<=>(const MetricLabels&) const = default;
};

// "key_value", or "key" without a value.
std::string composite_key(std::string_view key, std::string_view value);
// Adds the level at `depth`, from 0 on, to the labels of the levels above: its composite key. What
// is not UTF-8 is replaced, so that labels that are written alike are equal.
void append_level(MetricLabels& labels,
                  std::size_t depth,
                  std::string_view key,
                  std::string_view value);

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
    // Whether the hits of denied requests are debited; none: as the way of counting has it.
    std::optional<bool> count_denied = {};
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
// A level takes at most four lookups in hash tables, however many rules there are, and a comparison
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
    bool is_empty() const { return nodes_.empty(); }  // without any domain
    bool has_domain(std::string_view domain) const;

    // The rule of a descriptor; null if none applies. `identifier` becomes the identifier of its
    // counts, and is meaningless without a rule. It keeps no more memory than an identifier needs.
    const LimitRule* match(std::string_view domain,
                           std::span<const DescriptorEntry> entries,
                           std::string& identifier) const;

    // `labels` become those of a rule whose metrics are by value; their memory is reused. Requires
    // that match() returns `rule`.
    void write_labels(const LimitRule& rule,
                      std::string_view domain,
                      std::span<const DescriptorEntry> entries,
                      MetricLabels& labels) const;

    // In the order of the files.
    const std::deque<LimitRule>& rules() const { return rules_; }
    std::span<const std::string> warnings() const { return warnings_; }

  private:
    class Builder;
    RuleSet() = default;

    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    // The different keys, values and domains, by number: comparing descriptors compares numbers.
    class Texts {
      public:
        std::uint32_t add(std::string_view text);
        std::uint32_t find(std::string_view text) const;  // kNone: not among them
        std::string_view operator[](std::uint32_t number) const { return texts_[number]; }

      private:
        struct Slot {
            std::uint32_t tag = 0;  // of the hash
            std::uint32_t number = kNone;
        };
        std::size_t place_of(std::uint64_t hash, std::string_view text) const;
        void grow();

        std::deque<std::string> held_;
        std::vector<std::string_view> texts_;              // the same, by number
        std::vector<Slot> slots_ = std::vector<Slot>(16);  // at most half full
    };

    // The descriptors by their parents, keys and values. The value kNone leads to the KeyGroup.
    struct ChildKey {
        std::uint32_t parent;
        std::uint32_t key;
        std::uint32_t value;

        bool operator==(const ChildKey&) const = default;
    };
    class Children {
      public:
        void reserve(std::size_t count);
        void add(const ChildKey& key, std::uint32_t item);
        std::uint32_t find(const ChildKey& key) const;  // kNone: there is none

      private:
        struct Slot {
            ChildKey key;
            std::uint32_t item = kNone;
        };
        std::vector<Slot> slots_ = std::vector<Slot>(1);
    };

    // A descriptor of a file, or the root of a domain.
    struct Node {
        std::uint32_t rule = kNone;
        std::uint32_t key = kNone;
        std::uint32_t value = kNone;  // kNone: any
        bool shares_threshold = false;
        bool value_to_metric = false;
    };
    struct Wildcard {
        overrides::Glob glob;
        std::uint32_t node;
    };
    // The descriptors of one key at one level that are not found by their value.
    struct KeyGroup {
        std::uint32_t any = kNone;
        std::vector<Wildcard> wildcards = {};
    };

    std::uint32_t root_of(std::string_view domain) const;
    std::uint32_t child(std::uint32_t parent, const DescriptorEntry& entry) const;

    bool is_loaded_ = false;
    Texts texts_;
    Children children_;
    std::vector<Node> nodes_;
    std::vector<KeyGroup> groups_;
    std::deque<LimitRule> rules_;
    std::vector<std::string> warnings_;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULES_H_
