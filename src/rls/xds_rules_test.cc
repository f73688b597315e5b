#include "rls/xds_rules.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

namespace sluice::rls {
namespace {

using namespace std::chrono_literals;

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    return bytes;
}

// Encoded by protoc.
constexpr std::string_view kConfig =
    "0a076761746577617912037765621a340a04757365721205616c6963651a110802100a22016e2a030a01612a030a01"
    "6222100a04706174681a04080710033001380128011a0a0a04667265651a021801";

// A resource with one descriptor, whose limit has this unit.
std::string resource(const std::string& domain, std::uint32_t unit) {
    std::string bytes;
    protozero::pbf_writer out(bytes);
    out.add_string(1, "r");
    out.add_string(2, domain);
    protozero::pbf_writer descriptor(out, 3);
    descriptor.add_string(1, "key");
    protozero::pbf_writer limit(descriptor, 3);
    limit.add_uint32(1, unit);
    limit.add_uint32(2, 5);
    limit.commit();
    descriptor.commit();
    return bytes;
}

TEST(XdsRules, AreTheSameAsThoseOfAFile) {
    const std::string config = from_hex(kConfig);
    const std::vector<std::string_view> resources = {config};
    const auto rules = decode_rules(resources, SameDomain::kRefuse);
    ASSERT_TRUE(rules) << rules.error().message;
    ASSERT_EQ((*rules)->rules().size(), 3U);
    const LimitRule& user = (*rules)->rules()[0];
    EXPECT_EQ(user.full_key, "web.user_alice");
    EXPECT_EQ(user.location, "xds resource 'gateway'");
    EXPECT_EQ(user.requests_per_unit, 10U);
    EXPECT_EQ(user.duration, 60s);
    EXPECT_EQ(user.name, "n");
    EXPECT_EQ(user.replaces, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(user.shadow_mode);
    const LimitRule& path = (*rules)->rules()[1];
    EXPECT_EQ(path.full_key, "web.user_alice.path");
    EXPECT_EQ(path.duration, 7 * 24h);
    EXPECT_TRUE(path.detailed_metric);
    EXPECT_TRUE(path.quota_mode);
    EXPECT_FALSE(path.shadow_mode);
    EXPECT_TRUE((*rules)->rules()[2].unlimited);
}

TEST(XdsRules, NoResourceIsNoRule) {
    const auto rules = decode_rules({}, SameDomain::kRefuse);
    ASSERT_TRUE(rules);
    EXPECT_TRUE((*rules)->is_loaded());
    EXPECT_FALSE((*rules)->has_domain("web"));
}

TEST(XdsRules, AreRefusedWithTheNameOfTheResource) {
    const auto fault = [](const std::vector<std::string>& resources) {
        const std::vector<std::string_view> views(resources.begin(), resources.end());
        const auto rules = decode_rules(views, SameDomain::kRefuse);
        return rules ? "no fault" : rules.error().message;
    };
    EXPECT_EQ(fault({resource("web", 2)}), "no fault");
    EXPECT_EQ(fault({resource("web", 9)}).substr(0, 46),
              "xds resource 'r': invalid rate limit unit '9';");
    EXPECT_EQ(fault({resource("web", 0)}).substr(0, 45),
              "xds resource 'r': invalid rate limit unit '';");
    EXPECT_EQ(fault({resource("", 2)}).substr(0, 55),
              "xds resource 'r': config file cannot have empty domain;");
    EXPECT_EQ(fault({resource("web", 2), resource("web", 2)}).substr(0, 39),
              "xds resource 'r': duplicate domain 'web");
    EXPECT_EQ(fault({"\xff"}).substr(0, 70),
              "xds resource: is not a ratelimit.config.ratelimit.v3.RateLimitConfig: ");
    EXPECT_EQ(fault({std::string(kMaxRuleConfigBytes + 1, '\0')}),
              "xds resource: is 16777217 bytes long; allowed: up to 16777216");
}

// Long keys above many descriptors: each rule would hold all of them.
TEST(XdsRules, AreBoundedInMemory) {
    std::string below;
    for (int i = 0; i < 2'000; ++i) {
        std::string descriptor;
        protozero::pbf_writer writer(descriptor);
        writer.add_string(1, std::to_string(i));
        protozero::pbf_writer(below).add_message(4, descriptor);
    }
    for (int depth = 0; depth < 10; ++depth) {
        std::string outer;
        protozero::pbf_writer writer(outer);
        writer.add_string(1, std::string(4'096, 'k'));
        outer += below;
        below.clear();
        protozero::pbf_writer(below).add_message(4, outer);
    }
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(2, "web");
    bytes += "\x1a" + below.substr(1);  // the outermost is a descriptor of the domain
    const std::vector<std::string_view> resources = {bytes};
    const auto rules = decode_rules(resources, SameDomain::kRefuse);
    ASSERT_FALSE(rules);
    EXPECT_NE(rules.error().message.find("names of all descriptors"), std::string::npos)
        << rules.error().message;
}

// The end of the bytes is that of their memory, so that a sanitizer sees what is read beyond it.
TEST(XdsRules, AreNotReadBeyondTheirEnd) {
    const std::string descriptor = "\x1a\x01\x28";  // shadow_mode, without its value
    const std::vector<char> bytes(descriptor.begin(), descriptor.end());
    RuleBudget budget;
    EXPECT_FALSE(decode_rule_config({bytes.data(), bytes.size()}, budget));
}

TEST(XdsRules, AreBoundedInDepth) {
    std::string nested;
    for (std::size_t depth = 0; depth < 1'000; ++depth) {
        std::string outer;
        protozero::pbf_writer writer(outer);
        writer.add_string(1, "k");
        writer.add_message(4, nested);
        nested = std::move(outer);
    }
    std::string deep;
    protozero::pbf_writer(deep).add_message(3, nested);
    RuleBudget budget;
    const auto refused = decode_rule_config(deep, budget);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "xds resource: descriptors are nested deeper; allowed: 64");
}

// Why resources of which each holds `part` so many times are refused.
std::string fault_of_many(std::string_view part, std::size_t times, std::size_t resources) {
    std::string one;
    for (std::size_t i = 0; i < times; ++i)
        one += part;
    const std::vector<std::string_view> all(resources, one);
    const auto rules = decode_rules(all, SameDomain::kMerge);
    return rules ? "no fault" : rules.error().message;
}

// 16 MiB of two bytes each would need gigabytes.
TEST(XdsRules, ShareABudget) {
    constexpr std::string_view kEmptyDescriptor{"\x1a\x00", 2};
    EXPECT_EQ(fault_of_many(kEmptyDescriptor, kMaxRules / 10, 11),
              "xds resource: there are more descriptors; allowed: 100000 in all rules together, "
              "each as often as aliases repeat it");
    std::string replaces;
    for (std::size_t i = 0; i < 60; ++i)
        replaces += std::string("\x2a\x00", 2);
    const std::string limit = "\x1a\x78" + replaces;
    const std::string descriptor = "\x1a\x7a" + limit;
    EXPECT_NE(fault_of_many(descriptor, 10'000, 4).find("keys and values; allowed: 2000000"),
              std::string::npos);
    std::string text;
    protozero::pbf_writer(text).add_string(1, std::string(1'000'000, 'k'));
    std::string large;
    protozero::pbf_writer(large).add_message(3, text);
    EXPECT_NE(fault_of_many(large, 10, 7).find("bytes of keys and values; allowed: 67108864"),
              std::string::npos);
}

}  // namespace
}  // namespace sluice::rls
