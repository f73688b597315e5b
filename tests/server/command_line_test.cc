// The commands of the program: output, exit codes and error messages.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/server.h"

namespace sluice::server_test {
namespace {

using testing::AssertionResult;

AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

TEST(CommandLine, PrintsHelpForEveryCommand) {
    const Ending help = run({"--help"});
    EXPECT_EQ(help.exit_code, 0);
    for (const std::string command :
         {"serve", "limit", "override", "bench", "check-config", "token"}) {
        EXPECT_TRUE(contains(help.out, command));
        const Ending more = run({command, "--help"});
        EXPECT_EQ(more.exit_code, 0) << command;
        EXPECT_FALSE(more.out.empty()) << command;
    }
}

TEST(CommandLine, PrintsItsVersion) {
    const Ending version = run({"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_TRUE(contains(version.out, "0."));
}

TEST(CommandLine, RefusesUnknownCommandsAndFlags) {
    EXPECT_NE(run({}).exit_code, 0);
    EXPECT_NE(run({"dance"}).exit_code, 0);
    EXPECT_NE(run({"serve", "--dance"}).exit_code, 0);
}

class LimitCommand : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        server_ = std::make_unique<Server>(ServerOptions{.flags = {"--token", "the-token"}});
    }
    static void TearDownTestSuite() { server_.reset(); }

    static Ending limit(const std::string& identifier, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {"limit", "cli", identifier, "--url", server_->url()};
        if (more.empty()) more = {"--limit", "1", "--duration", "60s", "--token", "the-token"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    }

    static inline std::unique_ptr<Server> server_;
};

TEST_F(LimitCommand, ExitsWith0OnAPassAnd1OnADenial) {
    EXPECT_EQ(limit("alice").exit_code, 0);
    EXPECT_EQ(limit("alice").exit_code, 1);
    EXPECT_EQ(limit("bob").exit_code, 0);
}

TEST_F(LimitCommand, PrintsJsonOnDemand) {
    const Ending ending = limit(
        "json",
        {"--limit", "5", "--duration", "1h", "--cost", "2", "--token", "the-token", "--json"});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_TRUE(contains(ending.out, R"("remaining":3)"));
    EXPECT_NO_THROW(json(ending.out));
}

TEST_F(LimitCommand, ExitsWith2OnAnError) {
    EXPECT_EQ(limit("x", {"--limit", "1", "--duration", "60s", "--token", "wrong"}).exit_code, 2);
    EXPECT_EQ(limit("x", {"--limit", "1", "--duration", "60s"}).exit_code, 2) << "no token";
    EXPECT_EQ(limit("x", {"--limit", "1", "--duration", "1ms", "--token", "the-token"}).exit_code,
              2);
    EXPECT_EQ(
        limit("x", {"--limit", "many", "--duration", "60s", "--token", "the-token"}).exit_code, 2);
    const Ending unreachable = limit("x",
                                     {"--limit",
                                      "1",
                                      "--duration",
                                      "60s",
                                      "--url",
                                      "http://127.0.0.1:" + std::to_string(free_port())});
    EXPECT_EQ(unreachable.exit_code, 2);
    EXPECT_FALSE(unreachable.err.empty());
}

class OverrideCommand : public testing::Test {
  protected:
    // The arguments after `sluice override`.
    Ending command(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "override");
        arguments.insert(arguments.end(), {"--url", server_.url()});
        return run(arguments, {"SLUICE_TOKEN=the-token"});
    }

    Server server_{{.flags = {"--token", "the-token"}}};
};

TEST_F(OverrideCommand, SetsReadsListsAndDeletes) {
    const Ending set = command({"set", "login", "bot_*", "--limit", "0", "--duration", "1h"});
    EXPECT_EQ(set.exit_code, 0) << set.err;
    EXPECT_TRUE(set.out.starts_with("set: bot_*: 0 per 1h (")) << set.out;
    const Answer denied =
        server_.ask("/v2/ratelimit.limit",
                    R"({"namespace":"login","identifier":"bot_1","limit":5,"duration":1000})",
                    bearing("the-token"));
    EXPECT_TRUE(contains(denied.body, R"("success":false)")) << "the server enforces it";

    const Ending got = command({"get", "login", "bot_*"});
    EXPECT_EQ(got.exit_code, 0) << got.err;
    EXPECT_TRUE(got.out.starts_with("bot_*: 0 per 1h (")) << got.out;
    const Ending as_json = command({"get", "login", "bot_*", "--json"});
    EXPECT_TRUE(contains(as_json.out, R"("identifier":"bot_*","limit":0,"duration":3600000)"));
    EXPECT_NO_THROW(json(as_json.out));
    EXPECT_EQ(command({"list", "login"}).out, got.out);

    const Ending deleted = command({"delete", "login", "bot_*"});
    EXPECT_EQ(deleted.exit_code, 0) << deleted.err;
    EXPECT_EQ(deleted.out, "deleted: bot_*\n");
}

TEST(InspectCommand, PrintsNoControlCharacters) {
    const Server server;
    const std::string key = "{\"namespace\":\"n\",\"identifier\":\"\\u001b[31m*\",";
    EXPECT_EQ(
        server.ask("/v2/ratelimit.setOverride", key + R"("limit":7,"duration":60000})").status,
        200);
    const Ending ending =
        run({"inspect", "n", "\x1b[31mi", "--duration", "60s", "--json", "--url", server.url()});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    const Ending text =
        run({"inspect", "n", "\x1b[31mi", "--duration", "60s", "--url", server.url()});
    EXPECT_TRUE(contains(text.out, "The override"));
    EXPECT_EQ(text.out.find('\x1b'), std::string::npos) << text.out;
}

TEST_F(OverrideCommand, ExitsWith1WhereThereIsNone) {
    for (const std::string action : {"get", "delete"}) {
        const Ending ending = command({action, "login", "nobody"});
        EXPECT_EQ(ending.exit_code, 1);
        EXPECT_EQ(ending.out, "");
        EXPECT_TRUE(ending.err.starts_with("sluice override " + action + ": ")) << ending.err;
    }
}

TEST_F(OverrideCommand, ExitsWith2OnAnError) {
    EXPECT_EQ(command({"set", "login", "a", "--limit", "-1", "--duration", "1h"}).exit_code, 2);
    EXPECT_EQ(command({"set", "login", "a", "--limit", "1", "--duration", "500ms"}).exit_code, 2);
    EXPECT_EQ(command({"set", "login", "a"}).exit_code, 2);
    EXPECT_EQ(command({"get", "login", "a", "--token", "wrong"}).exit_code, 2);
    EXPECT_EQ(command({}).exit_code, 2);
    EXPECT_EQ(run({"override", "list", "a", "--url", "http://127.0.0.1:1"}).exit_code, 2);
}

TEST_F(OverrideCommand, ListsMoreThanOnePage) {
    constexpr int kMany = 230;
    Connection connection = server_.connect();
    for (int i = 0; i < kMany; ++i) {
        const std::string body = R"({"namespace":"many","identifier":"id)" + std::to_string(i) +
                                 R"(","limit":)" + std::to_string(i) + R"(,"duration":60000})";
        ASSERT_EQ(
            connection.ask(post("/v2/ratelimit.setOverride", body, bearing("the-token"))).status,
            200);
    }
    const Ending text = command({"list", "many"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), kMany);
    EXPECT_TRUE(contains(text.out, "id229: 229 per 1m ("));
    const Ending as_json = command({"list", "many", "--json"});
    EXPECT_EQ(json(as_json.out).at("data").as_array().size(), static_cast<std::size_t>(kMany));
}

TEST(BenchCommand, PrintsThroughputLatencyAndErrors) {
    const Server server;
    const Ending ending = run({"bench",
                               "--url",
                               server.url(),
                               "--seconds",
                               "1",
                               "--connections",
                               "4",
                               "--keys",
                               "100",
                               "--batch",
                               "10"});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    for (const std::string word : {"p50", "p99", "p99.9", "errors"})
        EXPECT_TRUE(contains(ending.out, word));
}

class Config : public testing::Test {
  protected:
    Ending check(const std::string& text) {
        return run({"check-config", folder_.write("sluice.toml", text)});
    }

    // The expected message of a failure before the server listens.
    void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
        SCOPED_TRACE(text);
        const Ending checked = check(text);
        EXPECT_NE(checked.exit_code, 0);
        const Ending served = run({"serve",
                                   "--config",
                                   folder_.path("sluice.toml"),
                                   "--listen",
                                   "127.0.0.1:" + std::to_string(free_port())});
        EXPECT_NE(served.exit_code, 0);
        for (const std::string& part : parts) {
            EXPECT_TRUE(contains(checked.err + checked.out, part));
            EXPECT_TRUE(contains(served.err, part));
        }
    }

    ScratchFolder folder_;
};

TEST_F(Config, ThatIsGoodIsPrinted) {
    const Ending checked =
        check("region = \"eu\"\nlisten = \"127.0.0.1:9999\"\n[http]\nidle_timeout = \"90s\"\n" +
              to_toml({.token = "the-token"}));
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    EXPECT_TRUE(contains(checked.out, "sluice.toml: the settings are valid"));
    const Ending ending = run({"config", "show", "--config", folder_.path("sluice.toml")});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_TRUE(contains(ending.out, "127.0.0.1:9999"));
    EXPECT_TRUE(contains(ending.out, "eu"));
    EXPECT_TRUE(contains(ending.out, "90s"));
    EXPECT_EQ(check("").exit_code, 0) << "nothing has to be set";
}

TEST_F(Config, ThatIsInvalidIsRefusedWithSettingValueAllowedAndLine) {
    expect_refused("region = \"eu\"\nthreads = 100000\n", {"threads", "100000", "1024", "2"});
    expect_refused("\n\nthreads = \"two\"\n", {"threads", "two", "3"});
    expect_refused("colour = \"red\"\n", {"colour", "1"});
    expect_refused("[http]\nidle_timeout = \"soon\"\n", {"idle_timeout", "soon", "2"});
    expect_refused("[http]\nidle_timeot = \"1s\"\n", {"idle_timeot", "2"});
    expect_refused("[log]\nlevel = \"loud\"\n", {"level", "loud", "warn", "2"});
    expect_refused("region = \n", {"1"});
    expect_refused("[[tokens]]\nname = \"a\"\nsha256 = \"12\"\n", {"sha256", "3"});
    expect_refused("[[tokens]]\nname = \"a\"\nsha256 = \"" + std::string(64, 'a') +
                       "\"\npermissions = [\"fly\"]\n",
                   {"permissions", "fly", "4"});
}

TEST_F(Config, ThatIsMissingIsAnError) {
    const Ending ending = run({"check-config", folder_.path("missing.toml")});
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_TRUE(contains(ending.err + ending.out, "missing.toml"));
}

TEST_F(Config, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
    const std::string region = "region = \"from-file\"\n";
    const auto shown = [](const Server& server) { return server.get("/metrics").body; };
    {
        const Server server({.flags = {"--region", "from-flag"},
                             .config = region,
                             .environment = {"SLUICE_REGION=from-environment"}});
        EXPECT_TRUE(contains(shown(server), "from-flag"));
    }
    {
        const Server server({.config = region, .environment = {"SLUICE_REGION=from-environment"}});
        EXPECT_TRUE(contains(shown(server), "from-environment"));
    }
    const Server server({.config = region});
    EXPECT_TRUE(contains(shown(server), "from-file"));
}

TEST(Listening, BeyondLoopbackNeedsAToken) {
    const std::string everywhere = "0.0.0.0:" + std::to_string(free_port());
    const Ending ending = run({"serve", "--listen", everywhere});
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_TRUE(contains(ending.err, "token"));

    const Ending plain = run({"serve", "--listen", everywhere, "--token", "the-token"});
    EXPECT_NE(plain.exit_code, 0);
    EXPECT_TRUE(contains(plain.err, "--insecure-http")) << plain.err;
    EXPECT_TRUE(contains(plain.err, "--behind-proxy")) << plain.err;

    Program guarded({"serve", "--listen", everywhere, "--token", "the-token", "--insecure-http"});
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!contains(guarded.output(), everywhere)) {
        ASSERT_TRUE(guarded.running()) << guarded.output();
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << guarded.output();
    }
}

TEST(Listening, BeyondLoopbackForbidsTheTestClock) {
    const Ending ending = run({"serve",
                               "--listen",
                               "0.0.0.0:" + std::to_string(free_port()),
                               "--token",
                               "t",
                               "--insecure-http",
                               "--test-clock"});
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_TRUE(contains(ending.err, "test"));
}

TEST(Listening, OnAPortThatIsTakenIsAnError) {
    const Server server;
    const Ending ending = run({"serve", "--listen", "127.0.0.1:" + std::to_string(server.port())});
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_TRUE(contains(ending.err, std::to_string(server.port())));
}

TEST(TokenCommand, MakesATokenAndTheLinesToPaste) {
    const Ending ending = run({"token", "--help"});
    EXPECT_EQ(ending.exit_code, 0);
    const Ending made = run({"token"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const std::size_t lines = made.out.find("[[tokens]]");
    ASSERT_NE(lines, std::string::npos) << made.out;
    EXPECT_TRUE(contains(made.out, "sha256 = "));
    EXPECT_NE(run({"token"}).out, made.out);
}

TEST(TokenCommand, KeepsTheSecretOutOfTheFileThatItsOutputIsAppendedTo) {
    const Ending made = run({"token", "--permission", "limit"});
    EXPECT_EQ(made.out.find("sluice_"), std::string::npos) << made.out;
    const std::size_t at = made.err.find("sluice_");
    ASSERT_NE(at, std::string::npos) << made.err;
    const Server server({.config = made.out});
    const auto status = [&](const std::string& token) {
        return server
            .ask("/v2/ratelimit.limit",
                 R"({"namespace":"n","identifier":"i","limit":5,"duration":1000})",
                 bearing(token))
            .status;
    };
    EXPECT_EQ(status(made.err.substr(at, 50)), 200);
    EXPECT_EQ(status("other"), 401);
}

TEST(ClientTokens, AreIgnoredByAServer) {
    Server server({.environment = {"SLUICE_TOKEN=hush"}});
    const std::string body = R"({"namespace":"n","identifier":"i","limit":5,"duration":1000})";
    EXPECT_EQ(server.ask("/v2/ratelimit.limit", body).status, 200) << "it has no tokens";
    server.program().signal(SIGTERM);
    const Ending ending = server.program().wait();
    EXPECT_TRUE(contains(ending.err, "SLUICE_TOKEN is ignored"));
    EXPECT_EQ(ending.err.find("hush"), std::string::npos);

    const Server guarded({.environment = {"SLUICE_SERVER_TOKENS=one two", "SLUICE_TOKEN=hush"}});
    EXPECT_EQ(guarded.ask("/v2/ratelimit.limit", body, bearing("two")).status, 200);
    EXPECT_EQ(guarded.ask("/v2/ratelimit.limit", body, bearing("hush")).status, 401);
}

TEST(DataDirectory, AndItsFilesAreAccessibleToTheServersUserOnly) {
    const ScratchFolder scratch;
    const std::string folder = scratch.path("some/where");
    const auto mode_of = [](const std::filesystem::path& path) {
        return std::filesystem::status(path).permissions();
    };
    // A process inherits its umask: neither a generous nor a stingy one matters.
    for (const mode_t mask : {0U, 0277U}) {
        const mode_t before = ::umask(mask);
        Server server({.flags = {"--data-dir", mask == 0 ? folder : folder + "/"}});
        ::umask(before);
        const std::string body = R"({"namespace":"n","identifier":"i","limit":5,"duration":60000})";
        EXPECT_EQ(server.ask("/v2/ratelimit.setOverride", body).status, 200);
        EXPECT_EQ(server.ask("/v2/ratelimit.limit", body).status, 200);
        EXPECT_EQ(mode_of(folder), std::filesystem::perms::owner_all);
        std::set<std::string> found;
        for (const auto& file : std::filesystem::directory_iterator(folder)) {
            found.insert(file.path().filename().string());
            EXPECT_EQ(mode_of(file.path()),
                      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
                << file.path();
        }
        EXPECT_TRUE(found.contains("counts.db"));
        EXPECT_TRUE(found.contains("overrides.db"));
        EXPECT_TRUE(found.contains("overrides.db-wal"));
        server.program().signal(SIGTERM);
        EXPECT_EQ(server.program().wait().err.find("data_dir_open"), std::string::npos);
        std::filesystem::remove_all(folder);
    }
}

TEST(DataDirectory, ThatOthersMayEnterIsAWarning) {
    const ScratchFolder scratch;
    const std::string folder = scratch.path("data");
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
    Server server({.flags = {"--data-dir", folder}});
    server.program().signal(SIGTERM);
    EXPECT_TRUE(contains(server.program().wait().err, " warn data_dir_open "));
}

}  // namespace
}  // namespace sluice::server_test
