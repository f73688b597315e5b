#include "rls/xds_rules.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "rls/messages.h"

namespace sluice::rls {
namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kBytes = pbf_wire_type::length_delimited;
constexpr auto kNumber = pbf_wire_type::varint;

// reader.get_bool() reads a byte beyond the end of a message that ends there.
bool read_bool(protozero::pbf_reader& reader) {
    return reader.get_uint64() != 0;
}

// Reads one resource. What exceeds a bound is not read on, and reported by the first error.
class RuleConfigReader {
  public:
    explicit RuleConfigReader(RuleBudget& budget) : budget_(budget) {}

    DomainConfig read(protozero::pbf_reader reader) {
        DomainConfig config{.source = "xds resource"};
        charge({.values = 1});
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case tag_and_type(1, kBytes):
                    config.source = source_of(reader.get_view());
                    source_bytes_ = config.source.size();
                    break;
                case tag_and_type(2, kBytes):
                    config.domain = read_text(reader);
                    break;
                case tag_and_type(3, kBytes):
                    add_descriptor(reader.get_message(), config.descriptors, 1);
                    break;
                default:
                    reader.skip();
            }
        }
        return config;
    }
    const std::string& fault() const { return fault_; }

  private:
    // Every rule keeps it, so a long name is cut.
    static std::string source_of(protozero::data_view name) {
        constexpr std::size_t kLongestName = 256;
        return "xds resource '" + std::string(name.data(), std::min(name.size(), kLongestName)) +
               "'";
    }

    void add_descriptor(protozero::pbf_reader reader,
                        std::vector<DescriptorConfig>& descriptors,
                        std::size_t depth) {
        // A rule keeps the name of its resource.
        charge({.descriptors = 1, .values = 1, .text = source_bytes_});
        if (depth > kMaxRuleDepth)
            refuse("descriptors are nested deeper; allowed: " + std::to_string(kMaxRuleDepth));
        if (!fault_.empty()) return;
        DescriptorConfig descriptor;
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case tag_and_type(1, kBytes):
                    descriptor.key = read_text(reader);
                    break;
                case tag_and_type(2, kBytes):
                    descriptor.value = read_text(reader);
                    break;
                case tag_and_type(3, kBytes):
                    if (!descriptor.rate_limit) descriptor.rate_limit.emplace();
                    read_limit(reader.get_message(), *descriptor.rate_limit);
                    break;
                case tag_and_type(4, kBytes):
                    add_descriptor(reader.get_message(), descriptor.descriptors, depth + 1);
                    break;
                case tag_and_type(5, kNumber):
                    descriptor.shadow_mode = read_bool(reader);
                    break;
                case tag_and_type(6, kNumber):
                    descriptor.detailed_metric = read_bool(reader);
                    break;
                case tag_and_type(7, kNumber):
                    descriptor.quota_mode = read_bool(reader);
                    break;
                default:
                    reader.skip();
            }
        }
        descriptors.push_back(std::move(descriptor));
    }

    void read_limit(protozero::pbf_reader reader, LimitConfig& limit) {
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case tag_and_type(1, kNumber):
                    limit.unit = unit_text(reader.get_uint32());
                    break;
                case tag_and_type(2, kNumber):
                    limit.requests_per_unit = reader.get_uint32();
                    break;
                case tag_and_type(3, kNumber):
                    limit.unlimited = read_bool(reader);
                    break;
                case tag_and_type(4, kBytes):
                    limit.name = read_text(reader);
                    break;
                case tag_and_type(5, kBytes):
                    charge({.values = 1});
                    if (!fault_.empty()) return;
                    limit.replaces.push_back(read_name(reader.get_message()));
                    break;
                default:
                    reader.skip();
            }
        }
    }

    // The name of a unit, or its number, which is refused later with a message that shows it.
    static std::string unit_text(std::uint32_t number) {
        const auto unit = static_cast<Unit>(number);
        if (number == 0) return {};
        return duration_of(unit) ? std::string(name_of(unit)) : std::to_string(number);
    }

    std::string read_name(protozero::pbf_reader reader) {
        std::string name;
        while (reader.next()) {
            if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
                name = read_text(reader);
            } else {
                reader.skip();
            }
        }
        return name;
    }

    std::string read_text(protozero::pbf_reader& reader) {
        const protozero::data_view text = reader.get_view();
        charge({.values = 1, .text = text.size()});
        return fault_.empty() ? std::string(text.data(), text.size()) : std::string();
    }

    void charge(const RuleCost& cost) {
        if (!fault_.empty()) return;
        if (auto why = budget_.charge(cost)) refuse(*std::move(why));
    }

    void refuse(std::string why) {
        if (fault_.empty()) fault_ = std::move(why);
    }

    RuleBudget& budget_;
    std::size_t source_bytes_ = 0;
    std::string fault_;
};

}  // namespace

Result<DomainConfig> decode_rule_config(std::string_view bytes, RuleBudget& budget) try {
    if (bytes.size() > kMaxRuleConfigBytes) {
        return Error{kInvalidOption,
                     "xds resource: is " + std::to_string(bytes.size()) +
                         " bytes long; allowed: up to " + std::to_string(kMaxRuleConfigBytes)};
    }
    RuleConfigReader reader(budget);
    DomainConfig config = reader.read(protozero::pbf_reader(bytes.data(), bytes.size()));
    if (!reader.fault().empty())
        return Error{kInvalidOption, config.source + ": " + reader.fault()};
    return config;
} catch (const protozero::exception& malformed) {
    return Error{kInvalidOption,
                 std::string("xds resource: is not a "
                             "ratelimit.config.ratelimit.v3.RateLimitConfig: ") +
                     malformed.what()};
}

Result<std::shared_ptr<const RuleSet>> decode_rules(std::span<const std::string_view> resources,
                                                    SameDomain same_domain) {
    RuleBudget budget;
    std::vector<DomainConfig> configs;
    for (const std::string_view resource : resources) {
        auto config = decode_rule_config(resource, budget);
        if (!config) return std::move(config).error();
        configs.push_back(*std::move(config));
    }
    return RuleSet::build(std::move(configs), same_domain);
}

}  // namespace sluice::rls
