// `sluice check-config`, `config` and `health`.
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/program.h"
#include "config/catalog.h"
#include "config/default_file.h"

namespace sluice::cli {
namespace {

struct Ran {
    ExitCode code;
    std::string out, err;
};
Ran run(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    std::ostringstream out;
    std::ostringstream err;
    const ExitCode code = run_program(std::move(arguments), {std::move(environment), out, err});
    return {code, out.str(), err.str()};
}

class ConfigCommand : public testing::Test {
  protected:
    ~ConfigCommand() override { std::remove(file_.c_str()); }

    const std::string file_ =
        testing::TempDir() + "sluice_config_" + std::to_string(getpid()) + ".toml";
};

TEST_F(ConfigCommand, ChecksAFile) {
    std::ofstream(file_) << "region = \"eu\"\n";
    const Ran good = run({"check-config", file_});
    EXPECT_EQ(good.code, ExitCode::kOk);
    EXPECT_EQ(good.out, file_ + ": the settings are valid\n");
    std::ofstream(file_) << "regoin = \"eu\"\n";
    const Ran bad = run({"check-config", file_});
    EXPECT_EQ(bad.code, ExitCode::kError);
    EXPECT_TRUE(bad.err.starts_with(
        "sluice check-config: " + file_ +
        ":1: regoin is \"eu\", but there is no such setting; did you mean region? "))
        << bad.err;
    EXPECT_EQ(bad.out, "");
}

TEST_F(ConfigCommand, ShowsWhereEachSettingComesFrom) {
    std::ofstream(file_) << "region = \"eu\"\nthreads = 3\n[log]\nlevel = \"warn\"\n";
    const std::map<std::string, std::string> environment{{"SLUICE_LOG_LEVEL", "debug"},
                                                         {"SLUICE_THREADS", "4"}};
    const std::vector<std::string> given{"config", "show", "--config", file_, "--threads", "5"};
    const Ran ran = run(given, environment);
    EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
    EXPECT_EQ(ran.out,
              "region = \"eu\"  # " + file_ +
                  ":1\nthreads = 5  # --threads\nlog.level = \"debug\"  # SLUICE_LOG_LEVEL\n");

    std::vector<std::string> all = given;
    all.emplace_back("--effective");
    const std::string effective = run(all, environment).out;
    for (const config::Setting& setting : config::catalog())
        EXPECT_NE(("\n" + effective).find("\n" + std::string(setting.key) + " = "),
                  std::string::npos)
            << setting.key;
    EXPECT_NE(effective.find("\nmax_keys = 1000000  # default\n"), std::string::npos) << effective;
    EXPECT_NE(effective.find("\nthreads = 5  # --threads\n"), std::string::npos) << effective;
}

TEST_F(ConfigCommand, ShowRefusesWhatTheServerRefuses) {
    const Ran ran = run({"config", "show", "--effective", "--threads", "5000"});
    EXPECT_EQ(ran.code, ExitCode::kError);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(
        ran.err,
        "sluice config show: --threads: threads is \"5000\"; allowed is a whole number from 0 "
        "to 1024\n");
}

TEST_F(ConfigCommand, PrintsAFileThatIsValid) {
    const Ran ran = run({"config", "default"});
    EXPECT_EQ(ran.code, ExitCode::kOk);
    EXPECT_EQ(ran.out, config::default_file());
    std::ofstream(file_) << ran.out;
    EXPECT_EQ(run({"check-config", file_}).code, ExitCode::kOk);
    EXPECT_EQ(run({"config", "show", "--config", file_}).out, "") << "it sets nothing";
}

TEST(HealthCommand, FailsWhereNothingListens) {
    const Ran ran = run({"health", "--url", "http://127.0.0.1:1", "--timeout", "1s"});
    EXPECT_EQ(ran.code, ExitCode::kDenied);
    EXPECT_TRUE(ran.err.starts_with("sluice health: 127.0.0.1:1: can't connect: ")) << ran.err;
    EXPECT_EQ(run({"health", "--url", "nonsense"}).code, ExitCode::kError);
    EXPECT_EQ(run({"health", "--timeout", "soon"}).code, ExitCode::kError);
}

}  // namespace
}  // namespace sluice::cli
