#include "rls/rule_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::rls {
namespace {

using namespace std::chrono_literals;

constexpr const char* kComplete = R"(# Everything that a file can hold.
domain: web
descriptors:
  - key: plan
    value: 007
    shadow_mode: yes
    quota_mode: true
    detailed_metric: true
    metadata: {team: core, level: 3, "on": true, list: [1, "2", ~]}
    rate_limit:
      name: pro
      unit: Month
      requests_per_unit: 4294967295
      count_denied: false
      replaces:
        - name: basic
        - name: free
  - key: free
    rate_limit:
      unlimited: true
  - key: half
    rate_limit:
      duration: 30s
      requests_per_unit: 1_000
  - key: long
    rate_limit: {unit: hour, unit_multiplier: 12, requests_per_unit: 0x10}
  - key: banned
    rate_limit: {unit: second}
  - key: open
    value:
    rate_limit:
    descriptors:
)";

std::shared_ptr<const RuleSet> build(const std::string& yaml) {
    RuleBudget budget;
    auto config = parse_rules(yaml, "a.yaml", budget);
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    auto rules = RuleSet::build({*config}, SameDomain::kRefuse);
    EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
    return *rules;
}

// The message about a file that is refused.
std::string fault_of(const std::string& yaml) {
    RuleBudget budget;
    auto config = parse_rules(yaml, "a.yaml", budget);
    if (!config) return config.error().message;
    const auto rules = RuleSet::build({*std::move(config)}, SameDomain::kRefuse);
    return rules ? "no fault" : rules.error().message;
}

// The same, of a descriptor `key: k` with these lines, of which the first is line 4.
std::string fault_in_descriptor(const std::string& lines) {
    return fault_of("domain: web\ndescriptors:\n  - key: k\n" + lines);
}

TEST(RuleFile, HoldsEveryKey) {
    const auto set = build(kComplete);
    const auto& rules = set->rules();
    ASSERT_EQ(rules.size(), 5U);
    const LimitRule& plan = rules[0];
    EXPECT_EQ(plan.full_key, "web.plan_007");
    EXPECT_EQ(plan.location, "a.yaml:4");
    EXPECT_EQ(plan.requests_per_unit, 4'294'967'295U);
    EXPECT_EQ(plan.duration, 30 * 24h);
    EXPECT_EQ(plan.unit, Unit::kMonth);
    EXPECT_EQ(plan.name, "pro");
    EXPECT_EQ(plan.replaces, (std::vector<std::string>{"basic", "free"}));
    EXPECT_TRUE(plan.shadow_mode);
    EXPECT_TRUE(plan.quota_mode);
    EXPECT_TRUE(plan.detailed_metric);
    EXPECT_EQ(plan.count_denied, false);
    std::string json;
    append_json(json, plan.metadata.value_or(MetadataFields{}));
    EXPECT_EQ(json, R"({"team":"core","level":3,"on":true,"list":[1,"2",null]})");

    EXPECT_TRUE(rules[1].unlimited);
    EXPECT_EQ(rules[2].duration, 30s);
    EXPECT_EQ(rules[2].unit, Unit::kUnknown);
    EXPECT_EQ(rules[2].requests_per_unit, 1'000U);
    EXPECT_EQ(rules[2].count_denied, std::nullopt);
    EXPECT_EQ(rules[3].duration, 12h);
    EXPECT_EQ(rules[3].requests_per_unit, 16U);
    EXPECT_EQ(rules[4].requests_per_unit, 0U) << "a missing number is 0";
    EXPECT_TRUE(set->warnings().empty());
}

TEST(RuleFile, ScalarsKeepTheirTextAsValues) {
    const auto rules = build(
        "domain: 404\ndescriptors:\n"
        "  - {key: k, value: yes}\n  - {key: k, value: 0x1F}\n  - {key: k, value: 1.50}\n"
        "  - {key: k, value: 2026-01-01}\n  - {key: k, value: 'null'}\n  - {key: on}\n"
        "  - {key: k, value: null, rate_limit: {unit: DAY}}\n");
    EXPECT_TRUE(rules->has_domain("404"));
    ASSERT_EQ(rules->rules().size(), 1U);
    EXPECT_EQ(rules->rules()[0].full_key, "404.k") << "a null is no value";
    const auto has_limit = [&](std::string_view value) {
        std::string identifier;
        const std::vector<DescriptorEntry> entries{{"k", value}};
        return rules->match("404", entries, identifier) != nullptr;
    };
    for (const char* exempt : {"yes", "0x1F", "1.50", "2026-01-01", "null"})
        EXPECT_FALSE(has_limit(exempt)) << exempt;
    for (const char* other : {"true", "31", "1.5", ""})
        EXPECT_TRUE(has_limit(other)) << other;
}

TEST(RuleFile, RefusesUnknownKeysByLine) {
    EXPECT_EQ(fault_of("domain: web\nlimits: 3\n"),
              "a.yaml:2: config error, unknown key 'limits'; allowed in a rule file: domain, "
              "descriptors");
    EXPECT_EQ(fault_in_descriptor("    rate_limits:\n"),
              "a.yaml:4: config error, unknown key 'rate_limits'; allowed in a descriptor: key, "
              "value, rate_limit, descriptors, shadow_mode, quota_mode, detailed_metric, "
              "value_to_metric, share_threshold, metadata");
    EXPECT_EQ(fault_in_descriptor("    rate_limit:\n      unit: day\n      burst: 3\n"),
              "a.yaml:6: config error, unknown key 'burst'; allowed in rate_limit: unit, "
              "requests_per_unit, unlimited, name, replaces, duration, unit_multiplier, "
              "count_denied, metadata");
    EXPECT_EQ(fault_in_descriptor("    [1]: 2\n").substr(0, 50),
              "a.yaml:4: config error, key is not of type string;");
    EXPECT_EQ(fault_in_descriptor("    value: a\n    value: b\n"),
              "a.yaml:5: the key 'value' occurs twice; allowed: once");
}

TEST(RuleFile, WarnsOfKeysInTheWrongPlace) {
    const auto rules = build(
        "domain: web\ndescriptors:\n  - key: k\n"
        "    rate_limit: {unit: day, shadow_mode: true}\n");
    ASSERT_EQ(rules->warnings().size(), 1U);
    EXPECT_EQ(rules->warnings().front(), "a.yaml:4: 'shadow_mode' has no effect in rate_limit");
    EXPECT_FALSE(rules->rules().front().shadow_mode);
}

TEST(RuleFile, RefusesWrongUnitsAndWindows) {
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {unit: fortnight}\n"),
              "a.yaml:4: invalid rate limit unit 'fortnight'; allowed: second, minute, hour, day, "
              "week, month, year, or a duration such as 30s instead");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {requests_per_unit: 1}\n").substr(0, 36),
              "a.yaml:4: invalid rate limit unit ''");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {unlimited: true, unit: day}\n"),
              "a.yaml:4: should not specify rate limit unit when unlimited; allowed: neither unit "
              "nor duration");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {unit: day, duration: 1h}\n"),
              "a.yaml:4: rate_limit has a unit and a duration; allowed: one of them");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {duration: 10}\n"),
              "a.yaml:4: duration is '10'; allowed: a time such as 30s, 5m, 1h or 30d");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {duration: 999ms}\n"),
              "a.yaml:4: the window is 999 ms long; allowed: 1 second to 366 days");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {unit: year, unit_multiplier: 2}\n"),
              "a.yaml:4: the window is 63072000000 ms long; allowed: 1 second to 366 days");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {unit: day, unit_multiplier: 0}\n"),
              "a.yaml:4: the window is 0 ms long; allowed: 1 second to 366 days");
}

TEST(RuleFile, RefusesWrongValues) {
    EXPECT_EQ(fault_in_descriptor("    shadow_mode: 3\n"),
              "a.yaml:4: shadow_mode is '3'; allowed: true or false");
    for (const char* number : {"-1", "4294967296", "1.5", "many", "''", "1e30"})
        EXPECT_NE(fault_in_descriptor("    rate_limit: {unit: day, requests_per_unit: " +
                                      std::string(number) + "}\n")
                      .find("allowed: a whole number from 0 to 4294967295"),
                  std::string::npos)
            << number;
    EXPECT_EQ(fault_in_descriptor("    value: [a]\n"),
              "a.yaml:4: value is not a single value; allowed: a text");
    EXPECT_EQ(fault_in_descriptor("    descriptors: {key: a}\n"),
              "a.yaml:4: descriptors is no list; allowed: a list of mappings");
    EXPECT_EQ(fault_in_descriptor("    descriptors: [a]\n").substr(0, 71),
              "a.yaml:4: config error, yaml file contains list of type other than map:");
    EXPECT_EQ(fault_in_descriptor("    rate_limit: 5\n").substr(0, 34),
              "a.yaml:4: rate_limit is no mapping");
    EXPECT_EQ(fault_in_descriptor("    share_threshold: true\n    value: a\n").substr(0, 60),
              "a.yaml:3: share_threshold can only be used with wildcard val");
    EXPECT_EQ(fault_of("domain: web\ndescriptors:\n  - value: a\n"),
              "a.yaml:3: descriptor has empty key; allowed: any text");
}

TEST(RuleFile, RefusesWrongNames) {
    EXPECT_EQ(fault_in_descriptor("    rate_limit: {unit: day, name: a, replaces: [{name: a}]}\n")
                  .substr(0, 65),
              "a.yaml:4: replaces should not contain name of same descriptor ('a");
    EXPECT_EQ(
        fault_in_descriptor("    rate_limit: {unit: day, replaces: [{name: ''}]}\n").substr(0, 49),
        "a.yaml:4: should not have an empty replaces entry");
    EXPECT_EQ(fault_in_descriptor("  - key: k\n"),
              "a.yaml:4: duplicate descriptor composite key 'web.k'; allowed: one descriptor for "
              "each key and value of a level");
}

TEST(RuleFile, RefusesWhatIsNoRuleFile) {
    EXPECT_EQ(fault_of(""),
              "a.yaml: config file cannot have empty domain; allowed: 1 to 512 bytes");
    EXPECT_EQ(fault_of("domain: " + std::string(513, 'd')),
              "a.yaml:1: the domain is 513 bytes long; allowed: 1 to 512");
    EXPECT_EQ(fault_of("domain: web\n\tdescriptors: x\n").substr(0, 37),
              "a.yaml:2: error loading config file: ");
    EXPECT_EQ(fault_of("domain: web\n---\ndomain: mail\n").substr(0, 41),
              "a.yaml:2: a second YAML document begins; ");
    // The parser would find documents without end.
    for (const char* const text : {",", "domain: web\n, x", "]"})
        EXPECT_NE(fault_of(text), "no fault") << text;
    EXPECT_EQ(fault_of("- a\n").substr(0, 35), "a.yaml:1: a rule file is no mapping");
}

TEST(RuleFile, RefusesControlCharacters) {
    EXPECT_EQ(fault_of("domain: web\nx: \"a\x04"),
              "a.yaml:2: has a control character; allowed: text with tabs and line ends");
}

TEST(RuleFile, BoundsTheNestingOfBrackets) {
    EXPECT_EQ(fault_of("domain: web\nx: " + std::string(101, '[')),
              "a.yaml:2: brackets are nested deeper; allowed: 100");
    const std::string quoted = std::string(200, '[');
    EXPECT_EQ(fault_of("domain: \"" + quoted + "\"  # " + quoted + "\n# " + quoted +
                       "\ndescriptors:\n  - key: 'it''s " + quoted + "'\n"),
              "no fault");
}

TEST(RuleFile, BoundsWhatAliasesRepeat) {
    std::string yaml = "domain: web\nx0: &x0 [{key: a}]\n";
    EXPECT_NE(fault_of(yaml).find("unknown key 'x0'"), std::string::npos);
    // Each level has the one below twice: 2^20 descriptors.
    yaml = "domain: web\ndescriptors:\n";
    std::string indent = "  ";
    std::string lines =
        indent + "- key: a\n" + indent + "  descriptors: &l0 [{key: a}, {key: b}]\n";
    for (int level = 1; level < 20; ++level) {
        const std::string below = "*l" + std::to_string(level - 1);
        lines += indent + "- key: a" + std::to_string(level) + "\n" + indent + "  descriptors: &l" +
                 std::to_string(level) + " [{key: a, descriptors: " + below +
                 "}, {key: b, descriptors: " + below + "}]\n";
    }
    EXPECT_NE(fault_of(yaml + lines).find("there are more keys and values; allowed: 2000000"),
              std::string::npos);
}

std::string repeated(std::size_t times, const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

TEST(RuleFile, ChargesTheTextOfAnAnchorForEachAlias) {
    const std::string name(1'000'000, 'n');
    const std::string first = "domain: web\ndescriptors:\n  - key: a\n    rate_limit: {name: &n ";
    EXPECT_EQ(
        fault_of(first + name + "}\n" + repeated(60'000, "  - {key: a, rate_limit: {name: *n}}\n")),
        "a.yaml:71: there are more bytes of keys and values; allowed: 67108864 bytes in all "
        "rules together, each as often as aliases repeat it");
    EXPECT_NE(fault_of("domain: web\ndescriptors:\n  - key: a\n    metadata: {a: [&n " + name +
                       repeated(9'000, ", *n") + "]}\n")
                  .find("a.yaml:4: there are more bytes of keys and values"),
              std::string::npos);
}

TEST(RuleFile, ChargesTheItemsOfAnAnchorForEachAlias) {
    const std::string list =
        "domain: web\ndescriptors:\n  - key: a\n    rate_limit:\n      replaces: &r [" +
        repeated(20'000, "{name: b}, ") + "]\n";
    EXPECT_EQ(fault_of(list + repeated(20'000, "  - {key: a, rate_limit: {replaces: *r}}\n"))
                  .substr(0, 59),
              "a.yaml:38: there are more keys and values; allowed: 2000000");
}

// Keys that have no effect are warnings, which take memory as well.
TEST(RuleFile, ChargesWarnings) {
    const std::string fields = "domain: web\ndescriptors:\n  - &d {" +
                               repeated(10'000, "unit: day, ") + "key: a}\n" +
                               repeated(200, "  - *d\n");
    EXPECT_NE(fault_of(fields).find("there are more keys and values"), std::string::npos);
}

TEST(RuleFile, RefusesAnAliasWithinItsAnchor) {
    EXPECT_EQ(fault_of("domain: web\ndescriptors: &d\n  - {key: a, descriptors: *d}\n"),
              "a.yaml:3: an alias is in the value that it names; allowed: others");
}

TEST(RuleFile, ReadsAliasesWithinTheBudget) {
    EXPECT_EQ(fault_of("domain: web\ndescriptors:\n  - key: a\n    rate_limit: &l {unit: day, "
                       "requests_per_unit: 5}\n" +
                       [] {
                           std::string lines;
                           for (int i = 0; i < 1'000; ++i)
                               lines += "  - {key: k" + std::to_string(i) + ", rate_limit: *l}\n";
                           return lines;
                       }()),
              "no fault");
}

// As many rules as are allowed, of the usual size, are within the other limits as well.
TEST(RuleFile, TheBudgetHoldsAsManyRulesAsAreAllowed) {
    constexpr std::size_t kPart = 20;
    std::string yaml = "domain: web\ndescriptors:\n";
    for (std::size_t i = 0; i < kMaxRules / kPart; ++i)
        yaml += "- key: tenant\n  value: customer-" + std::to_string(i) +
                "\n  rate_limit: {unit: minute, requests_per_unit: 100, name: limit-" +
                std::to_string(i) + "}\n";
    RuleBudget budget;
    const auto config = parse_rules(yaml, "rules/tenants/web.yaml", budget);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(budget.spent().descriptors, kMaxRules / kPart);
    EXPECT_LT(kPart * budget.spent().values, kMaxRuleValues);
    EXPECT_LT(kPart * budget.spent().text, kMaxRuleTextBytes);
}

// A folder that is removed with the object.
class TemporaryFolder {
  public:
    TemporaryFolder() : path_(testing::TempDir() + "sluice_rules_" + std::to_string(getpid())) {
        std::filesystem::create_directories(path_);
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(
            std::filesystem::path(path_ + "/" + name).parent_path());
        std::ofstream(path_ + "/" + name) << text;
    }
    const std::string& path() const { return path_; }

  private:
    const std::string path_;
};

// A file of /proc reports no size, and this one has hundreds of gigabytes.
TEST(RuleFile, IsReadUpToItsLimitWhateverSizeItReports) {
    const std::string endless = "/proc/self/pagemap";
    std::error_code failed;
    if (::access(endless.c_str(), R_OK) != 0) GTEST_SKIP() << "the system has no such file";
    ASSERT_EQ(std::filesystem::file_size(endless, failed), 0U);
    const auto rules = load_rules(endless, SameDomain::kRefuse);
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().message, endless + ": is longer than allowed: up to 16777216 bytes");
}

TEST(RuleFile, IsNoPipeAndNoDevice) {
    const std::string pipe = testing::TempDir() + "rules-pipe-" + std::to_string(::getpid());
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const std::string& path : {pipe, std::string("/dev/zero")}) {
        const auto rules = load_rules(path, SameDomain::kRefuse);
        ASSERT_FALSE(rules);
        EXPECT_EQ(rules.error().message, path + ": can't be read: it is no regular file");
    }
    std::filesystem::remove(pipe);
}

TEST(RuleFolder, IsReadWithItsSubfoldersButNotHiddenFiles) {
    const TemporaryFolder folder;
    folder.write("b.yaml", "domain: mail");
    folder.write("sub/a", "domain: web");
    folder.write(".hidden", "domain: [");
    folder.write("..data/c.yaml", "domain: [");
    const auto files = list_rule_files(folder.path());
    ASSERT_TRUE(files);
    EXPECT_EQ(*files,
              (std::vector<std::string>{folder.path() + "/b.yaml", folder.path() + "/sub/a"}));
    const auto rules = load_rules(folder.path(), SameDomain::kRefuse);
    ASSERT_TRUE(rules) << rules.error().message;
    EXPECT_TRUE((*rules)->has_domain("web"));
    EXPECT_TRUE((*rules)->has_domain("mail"));
}

// Each file alone is within the budget.
TEST(RuleFolder, SharesABudget) {
    const TemporaryFolder folder;
    const auto write = [&](const std::string& domain, const std::string& lines, std::size_t times) {
        folder.write(domain + ".yaml",
                     "domain: " + domain + "\ndescriptors:\n" + repeated(times, lines));
    };
    for (const char* const domain : {"a", "b", "c"})
        write(domain, "- key: k\n", 40'000);
    auto rules = load_rules(folder.path(), SameDomain::kRefuse);
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().message,
              folder.path() +
                  "/c.yaml:20003: there are more descriptors; allowed: 100000 in all "
                  "rules together, each as often as aliases repeat it");
    const std::string text = "- {key: k, metadata: {a: [&n " + std::string(1'000'000, 'k') +
                             repeated(13, ", *n") + "]}}\n";
    for (const char* const domain : {"a", "b", "c", "d", "e"})
        write(domain, text, 1);
    rules = load_rules(folder.path(), SameDomain::kRefuse);
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().message.find(folder.path() + "/e.yaml:3: there are more bytes"), 0U)
        << rules.error().message;
}

TEST(RuleFolder, OneBadFileSpoilsAll) {
    const TemporaryFolder folder;
    folder.write("a.yaml", "domain: web");
    folder.write("b.yaml", "domain: mail\nx: 1");
    const auto rules = load_rules(folder.path(), SameDomain::kRefuse);
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().message.find(folder.path() + "/b.yaml:2: config error, unknown key"),
              0U);

    const auto missing = load_rules(folder.path() + "/c.yaml", SameDomain::kRefuse);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message,
              folder.path() + "/c.yaml: can't be read: there is no such file or folder");
}

}  // namespace
}  // namespace sluice::rls
