#include "cli/program.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "config/catalog.h"
#include "config/file.h"

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

TEST(Program, ListsTheCommandsIfNoneIsGiven) {
    const Ran ran = run({});
    EXPECT_EQ(ran.code, ExitCode::kError);
    for (const char* command : {"serve",
                                "check-config",
                                "token",
                                "migrate",
                                "cleanup",
                                "limit",
                                "inspect",
                                "override",
                                "bench",
                                "accuracy",
                                "rules",
                                "config",
                                "doctor",
                                "health",
                                "completion",
                                "manual"}) {
        EXPECT_NE(ran.err.find(command), std::string::npos) << command;
    }
}

TEST(Program, PrintsVersionCommitAndLibraries) {
    const Ran ran = run({"--version"});
    EXPECT_EQ(ran.code, ExitCode::kOk);
    const std::regex expected(
        "sluice [0-9]+\\.[0-9]+\\.[0-9]+(\\+([0-9]+\\.)?g[0-9a-f]{12})?\n"
        "commit ([0-9a-f]{12}|unknown)\ncompiler (gcc|clang) [0-9].*\n(.+ "
        "[0-9]+\\.[0-9]+\\.[0-9]+\n)+");
    EXPECT_TRUE(std::regex_match(ran.out, expected)) << ran.out;
    for (const char* library :
         {"Boost", "hiredis", "MariaDB Connector/C", "OpenSSL", "simdjson", "SQLite"})
        EXPECT_NE(ran.out.find(std::string("\n") + library + " "), std::string::npos) << library;
}

TEST(Program, SuggestsASimilarCommand) {
    EXPECT_EQ(
        run({"serv"}).err,
        "sluice: there is no command \"serv\"; did you mean serve?\n`sluice --help` lists the "
        "commands.\n");
    EXPECT_NE(run({"limti"}).err.find("did you mean limit?"), std::string::npos);
    EXPECT_NE(run({"check"}).err.find("did you mean check-config?"), std::string::npos);
    EXPECT_NE(
        run({"override", "remove"}).err.find("sluice override: there is no command \"remove\"\n"),
        std::string::npos);
    EXPECT_NE(run({"override", "delte", "a", "b"}).err.find("did you mean delete?"),
              std::string::npos);
    EXPECT_EQ(run({"dance"}).err.find("did you mean"), std::string::npos);
    EXPECT_EQ(run({"serv"}).code, ExitCode::kError);
}

TEST(Program, SuggestsASimilarOption) {
    EXPECT_EQ(run({"serve", "--lisen=127.0.0.1:0"}).err,
              "sluice serve: there is no option --lisen; did you mean --listen?\n`sluice serve "
              "--help` lists the options.\n");
    EXPECT_NE(run({"limit", "a", "b", "--limt", "1", "--duration", "1s"})
                  .err.find("did you mean --limit?"),
              std::string::npos);
    EXPECT_EQ(run({"serve", "--lisen", "x"}).code, ExitCode::kError);
}

TEST(Program, WarnsClientsOfUnknownVariables) {
    const Ran ran =
        run({"limit", "a", "b", "--limit", "1", "--duration", "1s"},
            {{"SLUICE_ULR", "http://127.0.0.1:1"}, {"SLUICE_URL", "http://127.0.0.1:1"}});
    EXPECT_TRUE(
        ran.err.starts_with("sluice limit: warning: \"SLUICE_ULR\" in the environment is ignored"))
        << ran.err;
}

TEST(Program, HelpOfEachCommandHasAnExample) {
    EXPECT_NE(run({"--help"}).out.find("Examples:"), std::string::npos);
    for (const char* command : {"serve",
                                "check-config",
                                "token",
                                "migrate",
                                "cleanup",
                                "limit",
                                "inspect",
                                "override",
                                "bench",
                                "accuracy",
                                "rules",
                                "config",
                                "doctor",
                                "health",
                                "completion",
                                "manual"}) {
        const Ran ran = run({command, "--help"});
        EXPECT_EQ(ran.code, ExitCode::kOk);
        EXPECT_NE(ran.out.find("Example"), std::string::npos) << command;
        EXPECT_NE(ran.out.find(std::string("  sluice ") + command), std::string::npos) << command;
    }
}

TEST(Program, WrongUsageExitsWith2) {
    EXPECT_EQ(run({"fly"}).code, ExitCode::kError);
    EXPECT_EQ(run({"serve", "--fly"}).code, ExitCode::kError);
    EXPECT_EQ(run({"limit", "a"}).code, ExitCode::kError);
    EXPECT_EQ(run({"limit", "a", "b", "--limit", "x", "--duration", "1s"}).code, ExitCode::kError);
    EXPECT_EQ(run({"bench", "--batch", "101"}).code, ExitCode::kError);
}

TEST(Serve, HelpShowsDefaultsAndAllowedValuesAndNoTestFlags) {
    const std::string help = run({"serve", "--help"}).out;
    for (const config::Setting& setting : config::catalog()) {
        // A flag may have a shorter name, behind a comma.
        const std::string flag = "  " + config::flag_of(setting.key);
        const bool is_shown = help.find(flag + " ") != std::string::npos ||
                              help.find(flag + ",") != std::string::npos;
        EXPECT_EQ(!is_shown, config::is_for_tests(setting)) << flag;
        if (config::is_for_tests(setting) || setting.value_name.empty()) continue;
        EXPECT_NE(help.find("allowed: " + std::string(setting.allowed) + "\n"), std::string::npos)
            << flag;
    }
    EXPECT_EQ(help.find("--test"), std::string::npos);
    for (const char* initial : {"default: \"127.0.0.1:8080\"\n",
                                "default: \"300ms\"\n",
                                "default: 1000000\n",
                                "default: none\n",
                                "default: false\n"})
        EXPECT_NE(help.find(initial), std::string::npos) << initial;
    // Test flags work although the help omits them.
    EXPECT_TRUE(
        run({"serve", "--listen", "0.0.0.0:0", "--insecure-http", "--token", "t", "--test-clock"})
            .err.starts_with("sluice serve: --test-clock: "));
}

TEST(Serve, RefusesAnInvalidSettingBeforeItListens) {
    const Ran flag = run({"serve", "--threads", "many"});
    EXPECT_EQ(flag.code, ExitCode::kError);
    EXPECT_EQ(
        flag.err,
        "sluice serve: --threads: threads is \"many\"; allowed is a whole number from 0 to 1024\n");
    EXPECT_EQ(flag.out, "");
    EXPECT_TRUE(run({"serve", "--listen", "0.0.0.0:0"})
                    .err.starts_with("sluice serve: --listen: listen is \"0.0.0.0:0\"; allowed is "
                                     "an address on loopback"));
    EXPECT_TRUE(
        run({"serve", "--listen", "0.0.0.0:0", "--insecure-http", "--token", "t", "--test-clock"})
            .err.starts_with("sluice serve: --test-clock: "));
    EXPECT_TRUE(run({"serve"}, {{"SLUICE_REGION", ""}})
                    .err.starts_with("sluice serve: SLUICE_REGION: region is \"\"; "));
}

TEST(Serve, RefusesASettingThatNamesSomethingUnusable) {
    EXPECT_TRUE(run({"serve", "--listen", "127.0.0.1:0", "--data-dir", "/dev/null/x"})
                    .err.starts_with("sluice serve: data_dir is \"/dev/null/x\": "));
    EXPECT_TRUE(
        run({"serve", "--listen", "127.0.0.1:0", "--tls-cert", "/nowhere", "--tls-key", "/nowhere"})
            .err.starts_with("sluice serve: tls.cert is \"/nowhere\": "));
}

TEST(TokenCommand, PrintsLinesThatTheServerAccepts) {
    const Ran ran = run({"token",
                         "--name",
                         "web \"1\"",
                         "--workspace",
                         "acme",
                         "--namespace",
                         "email.*",
                         "sms",
                         "--permission",
                         "limit",
                         "set_override"});
    ASSERT_EQ(ran.code, ExitCode::kOk) << ran.err;
    config::SettingProblems problems;
    const config::FileContents contents = config::parse_file(ran.out, "printed", problems);
    EXPECT_TRUE(problems.empty());
    ASSERT_EQ(contents.tokens.size(), 1U);
    const std::size_t at = ran.err.find("sluice_");
    ASSERT_NE(at, std::string::npos) << "the secret goes to standard error";
    EXPECT_EQ(ran.out.find("sluice_"), std::string::npos)
        << "standard output may be the server's file";
    const config::Token expected{.name = "web \"1\"",
                                 .sha256 = sha256_of(ran.err.substr(at, 50)),
                                 .workspace = "acme",
                                 .namespaces = {"email.*", "sms"},
                                 .permissions = {.limit = true, .set_override = true}};
    EXPECT_EQ(contents.tokens[0], expected);
}

TEST(TokenCommand, RefusesArgumentsThatTheServerWouldRefuse) {
    EXPECT_EQ(run({"token", "--permission", "fly"}).code, ExitCode::kError);
    EXPECT_EQ(run({"token", "--name", ""}).code, ExitCode::kError);
    EXPECT_EQ(run({"token", "--permission", "fly"}).out, "");
}

TEST(TokenCommand, ReportsThatItsLinesCouldNotBeWritten) {
    std::ofstream full("/dev/full");
    std::ostringstream err;
    EXPECT_EQ(run_program({"token"}, {{}, full, err}), ExitCode::kError);
    EXPECT_NE(err.str().find("could not be written"), std::string::npos) << err.str();
}

// Runs `sluice accuracy` for 10 regions, a limit of 1,000 per minute and 5 per second.
Ran run_accuracy(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "accuracy", "--regions", "10", "--limit", "1000", "--duration", "1m", "--rate", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(std::move(arguments));
}

// D = flush 1 s + gathering 20 ms + bus 80 ms + 30 ms; 9 x (5 x 1.13 + 1) is 60, and a third more.
TEST(AccuracyCommand, ComputesTheBoundWithABus) {
    const Ran ran = run_accuracy({"--bus", "--delay", "80ms"});
    EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
    EXPECT_EQ(ran.out,
              "Counts reach other regions within 1130ms.\n"
              "At most 80 pass beyond the limit of 1000: 8.00 %.\n");
    EXPECT_EQ(run_accuracy({"--bus", "--delay", "80ms", "--json"}).out,
              R"({"delayMs":1130,"excess":80,"percent":8.00})"
              "\n");
    // One node in each region does not wait for a flush: 9 x (5 x 0.13 + 1) is 15.
    EXPECT_EQ(run_accuracy({"--bus", "--delay", "80ms", "--nodes", "1", "--json"}).out,
              R"({"delayMs":130,"excess":20,"percent":2.00})"
              "\n");
}

// D = urged 200 ms + import 12 s + three round trips + 30 ms. The regions spend more than a quarter
// of the limit within D, so that half of an even split is added: 9 x (5 x 12.53 + 1 + 50).
TEST(AccuracyCommand, ComputesTheBoundWithoutABus) {
    EXPECT_EQ(run_accuracy({"--nodes", "1", "--json"}).out,
              R"({"delayMs":12530,"excess":1023,"percent":102.30})"
              "\n");
    EXPECT_EQ(run({"accuracy",
                   "--regions",
                   "1",
                   "--limit",
                   "10",
                   "--duration",
                   "1m",
                   "--rate",
                   "1000",
                   "--json"})
                  .out,
              R"({"delayMs":13530,"excess":0,"percent":0.00})"
              "\n");
}

TEST(AccuracyCommand, RefusesWhatItCannotCompute) {
    const auto message_of = [](const char* option, const char* value) {
        std::map<std::string, std::string> options{
            {"--regions", "10"}, {"--limit", "1000"}, {"--duration", "1m"}, {"--rate", "5"}};
        options[option] = value;
        std::vector<std::string> arguments{"accuracy"};
        for (const auto& [name, text] : options)
            arguments.insert(arguments.end(), {name, text});
        const Ran ran = run(std::move(arguments));
        EXPECT_EQ(ran.code, ExitCode::kError) << option << " " << value;
        EXPECT_EQ(ran.out, "") << option << " " << value;
        return ran.err;
    };
    for (const auto& [option, value] : {std::pair{"--regions", "0"},
                                        {"--regions", "1025"},
                                        {"--limit", "0"},
                                        {"--limit", "9007199254740992"},
                                        {"--rate", "-1"},
                                        {"--rate", "inf"},
                                        {"--rate", "nan"},
                                        {"--cost", "-1"},
                                        {"--nodes", "0"},
                                        {"--duration", "500ms"},
                                        {"--duration", "367d"},
                                        {"--delay", "soon"},
                                        {"--delay", "2h"},
                                        {"--delay", "9000000000000000000ms"}}) {
        const std::string message = message_of(option, value);
        EXPECT_NE(message.find(option), std::string::npos) << message;
    }
    EXPECT_EQ(message_of("--duration", "367d"),
              "sluice accuracy: --duration is \"367d\"; allowed: 1s to 366d\n");
    const Ran missing = run({"accuracy", "--regions", "3"});
    EXPECT_EQ(missing.code, ExitCode::kError);
    EXPECT_NE(missing.err.find("--limit"), std::string::npos) << missing.err;
}

// Has a database file of its own.
class GlobalCommands : public testing::Test {
  protected:
    ~GlobalCommands() override {
        for (const char* suffix : {"", "-wal", "-shm"})
            std::remove((path_ + suffix).c_str());
    }

    const std::string path_ =
        testing::TempDir() + "sluice_global_" + std::to_string(getpid()) + ".db";
    const std::string url_ = "sqlite:" + path_;
};

TEST_F(GlobalCommands, MigrateCreatesTheTablesOnce) {
    const Ran dry = run({"migrate", "--global", url_, "--dry-run"});
    EXPECT_EQ(dry.code, ExitCode::kOk) << dry.err;
    EXPECT_TRUE(dry.out.starts_with("-- " + url_ + ": would go from no tables to version "))
        << dry.out;
    EXPECT_NE(dry.out.find(" ratelimit_window_counts ("), std::string::npos) << dry.out;
    EXPECT_NE(access(path_.c_str(), F_OK), 0) << "a dry run changes nothing";

    const Ran first = run({"migrate"}, {{"SLUICE_GLOBAL", url_}});
    EXPECT_EQ(first.code, ExitCode::kOk) << first.err;
    EXPECT_TRUE(first.out.starts_with(url_ + ": from no tables to version ")) << first.out;
    for (const char* flag : {"--dry-run", "--global=sqlite:"}) {
        std::vector<std::string> arguments{"migrate", flag};
        if (arguments[1] != "--dry-run") arguments[1] += path_;
        const Ran again = run(arguments, {{"SLUICE_GLOBAL", url_}});
        EXPECT_EQ(again.code, ExitCode::kOk) << again.err;
        EXPECT_TRUE(again.out.starts_with(url_ + ": up to date, version ")) << again.out;
    }
}

TEST_F(GlobalCommands, CleanupOfAnEmptyDatabaseDeletesNothing) {
    const Ran ran = run({"cleanup", "--global", url_});
    EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
    EXPECT_EQ(ran.out, url_ + ": deleted 0 expired rows\n");
}

TEST_F(GlobalCommands, ExitWith2OnErrorsAndShowNoSecret) {
    for (const std::string command : {"migrate", "cleanup"}) {
        const Ran without = run({command});
        EXPECT_EQ(without.code, ExitCode::kError);
        EXPECT_TRUE(without.err.starts_with("sluice " + command + ": --global is missing; "))
            << without.err;
        for (const std::string url : {"mysql://root:hush@127.0.0.1:1/limits",
                                      "mysql://root:hush@host",
                                      "redis://:hush@host",
                                      "sqlite:/nowhere/hush/x.db"}) {
            const Ran ran = run({command, "--global", url});
            EXPECT_EQ(ran.code, ExitCode::kError) << url;
            EXPECT_EQ(ran.out, "") << url;
            EXPECT_TRUE(ran.err.starts_with("sluice " + command + ": ")) << ran.err;
            const bool is_path = url.starts_with("sqlite:");
            EXPECT_EQ(ran.err.find("hush") != std::string::npos, is_path) << ran.err;
        }
    }
    EXPECT_EQ(run({"cleanup", "--global", url_, "--batch", "0"}).code, ExitCode::kError);
    EXPECT_EQ(run({"cleanup", "--global", url_, "--pause", "soon"}).code, ExitCode::kError);
}

TEST(LimitCommand, ExitsWith2IfThereIsNoResponse) {
    const std::vector<std::string> request{
        "limit", "a", "b", "--limit", "1", "--duration", "1s", "--url"};
    const auto run_with_url = [&](const char* url) {
        std::vector<std::string> arguments = request;
        arguments.emplace_back(url);
        return run(std::move(arguments));
    };
    EXPECT_EQ(run_with_url("http://127.0.0.1:1").code, ExitCode::kError);
    EXPECT_EQ(run_with_url("nonsense").code, ExitCode::kError);
    for (const std::string duration : {"60", "500ms"}) {
        EXPECT_EQ(run({"limit", "a", "b", "--limit", "1", "--duration", duration}).err,
                  "sluice limit: --duration is \"" + duration +
                      "\"; allowed is a time of at least 1s, such as 60s, 5m, 1h or 30d\n");
    }
    for (const std::string command : {"limit", "inspect", "override"})
        EXPECT_EQ(run({command, "--help"}).out.find("500ms"), std::string::npos) << command;
    EXPECT_EQ(run({"limit", "a", "b", "--limit", "1", "--duration", "1s", "--timeout", "x"}).err,
              "sluice limit: --timeout is \"x\"; allowed is a time such as 500ms, 60s, 5m, 1h or "
              "30d\n");
    EXPECT_TRUE(run({"limit", "a", "b", "--limit", "1", "--duration", "1s"},
                    {{"SLUICE_URL", "http://127.0.0.1:1"}})
                    .err.starts_with("sluice limit: 127.0.0.1:1: can't connect: "));
}

}  // namespace
}  // namespace sluice::cli
