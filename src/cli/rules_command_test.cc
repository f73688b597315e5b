// `sluice rules`, and the rules that `sluice check-config` checks.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/program.h"

namespace sluice::cli {
namespace {

class RulesCommand : public testing::Test {
  protected:
    ~RulesCommand() override {
        std::remove(rules_.c_str());
        std::remove(settings_.c_str());
    }

    struct Ran {
        ExitCode code;
        std::string out, err;
    };
    static Ran run(std::vector<std::string> arguments,
                   std::map<std::string, std::string> environment = {}) {
        std::ostringstream out;
        std::ostringstream err;
        const ExitCode code = run_program(std::move(arguments), {std::move(environment), out, err});
        return {code, out.str(), err.str()};
    }
    void write_rules(const std::string& text) const { std::ofstream(rules_) << text; }

    const std::string start_ = testing::TempDir() + "sluice_" + std::to_string(getpid());
    const std::string rules_ = start_ + "_rules.yaml";
    const std::string settings_ = start_ + "_settings.toml";
};

constexpr const char* kRules =
    "domain: web\n"
    "descriptors:\n"
    "  - key: user\n"
    "    rate_limit: {unit: minute, requests_per_unit: 100, name: users}\n"
    "    descriptors:\n"
    "      - key: path\n"
    "        value: /files/*\n"
    "        shadow_mode: true\n"
    "        rate_limit: {duration: 90s, requests_per_unit: 5}\n"
    "  - key: plan\n"
    "    rate_limit: {unlimited: true, replaces: [{name: users}]}\n";

TEST_F(RulesCommand, ListsRulesWithFileAndLine) {
    write_rules(kRules);
    const Ran ran = run({"rules", "list", "--rules", rules_});
    EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
    EXPECT_EQ(ran.out,
              "web.user                100 per minute, name users  # " + rules_ + ":3\n" +
                  "web.user.path_/files/*  5 per 90s, shadow mode  # " + rules_ + ":6\n" +
                  "web.plan                unlimited, replaces users  # " + rules_ + ":10\n");
}

TEST_F(RulesCommand, ShowsTheRuleThatApplies) {
    write_rules(kRules);
    const Ran ran = run({"rules", "match", "web", "user=a=b"}, {{"SLUICE_RULES", rules_}});
    EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
    EXPECT_EQ(ran.out,
              "rule        web.user (" + rules_ +
                  ":3)\n"
                  "limit       100 per minute, name users\n"
                  "identifier  user=a%3db\n"
                  "answer      OK for 100 hits in any 1m, then OVER_LIMIT\n");
    const Ran nested = run({"rules", "match", "web", "user=a", "path=/files/x", "--rules", rules_});
    EXPECT_NE(nested.out.find("identifier  user=a,path=/files/x\n"), std::string::npos);
    EXPECT_NE(nested.out.find("answer      OK, always: the rule is in shadow mode\n"),
              std::string::npos);
    const Ran none = run({"rules", "match", "web", "x=1", "--rules", rules_});
    EXPECT_EQ(none.code, ExitCode::kDenied);
    EXPECT_EQ(none.out, "no rule applies\nanswer      OK, without a limit\n");
    EXPECT_NE(run({"rules", "match", "mail", "x=1", "--rules", rules_}).out.find("unknown"),
              std::string::npos);
}

TEST_F(RulesCommand, ExplainsWhatIsWrong) {
    EXPECT_EQ(
        run({"rules", "list"}).err,
        "sluice rules list: --rules is missing; allowed is the path of a file or folder or the URL "
        "of an xDS server, also in SLUICE_RULES\n");
    write_rules("domain: web\ndescriptors:\n  - kye: user\n");
    const Ran ran = run({"rules", "list", "--rules", rules_});
    EXPECT_EQ(ran.code, ExitCode::kError);
    EXPECT_TRUE(
        ran.err.starts_with("sluice rules list: " + rules_ +
                            ":3: config error, unknown key 'kye'; allowed in a descriptor: "))
        << ran.err;
}

TEST_F(RulesCommand, OfAServerThatIsNotThereSaysSo) {
    const Ran ran = run({"rules", "list", "--rules", "xds://127.0.0.1:1?node=n"});
    EXPECT_EQ(ran.code, ExitCode::kError);
    EXPECT_EQ(ran.err,
              "sluice rules list: xds://127.0.0.1:1?node=n: can't connect to 127.0.0.1:1: "
              "Connection refused\n");
    const Ran malformed = run({"rules", "list", "--rules", "xds://127.0.0.1"});
    EXPECT_EQ(malformed.code, ExitCode::kError);
    EXPECT_NE(malformed.err.find("the xDS URL has no port; allowed is xds://HOST:PORT?node=ID"),
              std::string::npos)
        << malformed.err;
}

TEST_F(RulesCommand, CheckConfigChecksTheUrlOfAServerAndItsFilesOfTls) {
    std::ofstream(settings_) << "rules = \"xds://127.0.0.1:1?node=n\"\n";
    const Ran plain = run({"check-config", settings_});
    EXPECT_EQ(plain.code, ExitCode::kOk);
    EXPECT_NE(plain.err.find("the rules come from xds://127.0.0.1:1?node=n and are not checked"),
              std::string::npos)
        << plain.err;
    std::ofstream(settings_) << "rules = \"xdss://127.0.0.1:1?node=n\"\nrules_tls.ca = \"/no\"\n";
    const Ran tls = run({"check-config", settings_});
    EXPECT_EQ(tls.code, ExitCode::kError);
    EXPECT_NE(tls.err.find("the CA certificate /no can't be used: it can't be read: No such file"),
              std::string::npos)
        << tls.err;
}

TEST_F(RulesCommand, CheckConfigChecksTheRules) {
    std::ofstream(settings_) << "rules = \"" << rules_ << "\"\n";
    write_rules(kRules);
    const Ran valid = run({"check-config", settings_});
    EXPECT_EQ(valid.code, ExitCode::kOk) << valid.err;
    write_rules("domain: web\ndescriptors:\n  - key: k\n    rate_limit: {unit: eon}\n");
    const Ran invalid = run({"check-config", settings_});
    EXPECT_EQ(invalid.code, ExitCode::kError);
    EXPECT_EQ(invalid.err,
              "sluice check-config: " + rules_ +
                  ":4: invalid rate limit unit 'eon'; allowed: second, minute, hour, day, week, "
                  "month, year, or a duration such as 30s instead\n");
    write_rules("domain: web\ndescriptors:\n  - {key: k, unit: day}\n");
    EXPECT_EQ(
        run({"check-config", settings_}).err,
        "sluice check-config: warning: " + rules_ + ":3: 'unit' has no effect in a descriptor\n");
}

}  // namespace
}  // namespace sluice::cli
