#include "config/load.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/catalog.h"

namespace sluice::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHash =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

// A file that lives as long as the test, in the test's own folder.
class File {
  public:
    explicit File(const std::string& text) { std::ofstream(path_) << text; }
    ~File() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_ = testing::TempDir() + "sluice_" + std::to_string(getpid()) + ".toml";
};

Loaded loaded_from(const Sources& sources) {
    auto loaded = load_settings(sources);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? *loaded : Loaded{};
}

Settings settings_of(const std::string& toml) {
    const File file(toml);
    return loaded_from({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}})
        .settings;
}

// The message about a file, without the folder that it stands in.
std::string fault_of(const std::string& toml) {
    const File file(toml);
    const auto loaded =
        load_settings({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}});
    if (loaded) return "no fault";
    std::string message = loaded.error().message;
    for (std::size_t at = 0; (at = message.find(file.path())) != std::string::npos;) {
        message.replace(at, file.path().size(), "FILE");
    }
    return message;
}

Result<Loaded> with_flag(const std::string& key, const std::string& value) {
    return load_settings({.file = {}, .environment = {}, .flags = {{key, value}}, .tokens = {}});
}
Result<Loaded> with_variable(const std::string& name, const std::string& value) {
    return load_settings({.file = {}, .environment = {{name, value}}, .flags = {}, .tokens = {}});
}
std::string fault_of(const Result<Loaded>& loaded) {
    return loaded ? "no fault" : loaded.error().message;
}

TEST(Settings, NothingSetIsLoopbackPort8080WithoutTokens) {
    const Settings settings = loaded_from({}).settings;
    EXPECT_EQ(settings, Settings{});
    EXPECT_EQ(to_string(settings.listen), "127.0.0.1:8080");
    EXPECT_EQ(settings.region, "local");
    EXPECT_TRUE(settings.tokens.empty());
    EXPECT_TRUE(settings.data_dir.empty());
    EXPECT_EQ(settings.drain_timeout, 10s);
}

TEST(Settings, EverySettingIsAKeyOfTheFile) {
    const Settings settings = settings_of(R"(
        listen = "127.0.0.2:9000"
        admin_listen = "127.0.0.3:9001"
        region = "eu-west"
        data_dir = "data"
        threads = 3
        max_keys = 5000
        drain_timeout = "2s"
        test_clock = true
        global = "mysql://u:p@host/limits"
        global_replica = "mysql://u:p@copy/limits"
        global_cleanup = true
        test_global_interval = "100ms"
        behind_proxy = true
        insecure_http = true
        allowed_hosts = "sluice.internal"
        [tls]
        cert = "cert.pem"
        key = "key.pem"
        client_ca = "ca.pem"
        [log]
        level = "debug"
        format = "json"
        requests = true
        [http]
        header_timeout = "1s"
        body_timeout = "2s"
        idle_timeout = "3s"
        write_timeout = "4s"
        max_connections = 5
        max_pipelined = 6
        max_buffered_bytes = 7000000
    )");
    const Settings expected{.listen = {"127.0.0.2", 9000},
                            .admin_listen = Address{"127.0.0.3", 9001},
                            .region = "eu-west",
                            .data_dir = "data",
                            .global = "mysql://u:p@host/limits",
                            .global_replica = "mysql://u:p@copy/limits",
                            .global_cleanup = true,
                            .threads = 3,
                            .max_keys = 5000,
                            .drain_timeout = 2s,
                            .test_clock = true,
                            .test_global_interval = 100ms,
                            .behind_proxy = true,
                            .insecure_http = true,
                            .allowed_hosts = {"sluice.internal"},
                            .tls = {"cert.pem", "key.pem", "ca.pem"},
                            .log = {LogLevel::kDebug, LogFormat::kJson, true},
                            .http = {.header_timeout = 1s,
                                     .body_timeout = 2s,
                                     .idle_timeout = 3s,
                                     .write_timeout = 4s,
                                     .max_connections = 5,
                                     .max_pipelined = 6,
                                     .max_buffered_bytes = 7'000'000},
                            .tokens = {}};
    EXPECT_EQ(settings, expected);
}

// The value that a setting shows, without the quotes of a text.
std::string given_again(const Setting& setting, const Settings& settings) {
    std::string text = setting.show(settings);
    return text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
}

TEST(Settings, EverySettingIsAVariableAndAFlagAsWell) {
    Settings wanted;
    wanted.admin_listen = Address{"127.0.0.1", 9090};
    wanted.data_dir = "data";
    wanted.threads = 2;
    wanted.test_clock = true;
    wanted.tls = {"c", "k"};
    wanted.allowed_hosts = {"a.example", "b.example"};
    wanted.origin = "redis://127.0.0.1:6379";
    for (const Setting& setting : catalog()) {
        // These need each other.
        if (setting.key.starts_with("origin_tls.") || setting.key.starts_with("global")) continue;
        if (setting.key == "tls.client_ca") continue;
        const std::string value = given_again(setting, wanted);
        const bool is_tls = setting.key.starts_with("tls.");
        const std::map<std::string, std::string> other_half{
            {setting.key == "tls.cert" ? "tls.key" : "tls.cert", "x"}};
        const auto by_variable =
            load_settings({.file = {},
                           .environment = {{variable_of(setting.key), value}},
                           .flags = is_tls ? other_half : decltype(other_half){},
                           .tokens = {}});
        const auto by_flag = load_settings(
            {.file = {},
             .environment =
                 is_tls
                     ? std::map<std::string, std::string>{{variable_of(other_half.begin()->first),
                                                           "x"}}
                     : decltype(other_half){},
             .flags = {{std::string(setting.key), value}},
             .tokens = {}});
        ASSERT_TRUE(by_variable) << by_variable.error().message;
        ASSERT_TRUE(by_flag) << by_flag.error().message;
        EXPECT_EQ(setting.show(by_variable->settings), setting.show(wanted));
        EXPECT_EQ(setting.show(by_flag->settings), setting.show(wanted));
    }
}

TEST(Settings, AnOriginIsShownWithoutItsPassword) {
    const Loaded loaded =
        loaded_from({.file = {},
                     .environment = {{"SLUICE_ORIGIN", "redis://user:open-sesame@10.0.0.1:6380/3"}},
                     .flags = {},
                     .tokens = {}});
    EXPECT_EQ(loaded.settings.origin, "redis://user:open-sesame@10.0.0.1:6380/3");
    const std::string shown = describe(loaded);
    EXPECT_EQ(shown.find("open-sesame"), std::string::npos) << shown;
    EXPECT_NE(shown.find("10.0.0.1:6380"), std::string::npos) << shown;
}

TEST(Settings, AnOriginThatIsNotAllowedIsNotShown) {
    for (const std::string url : {"redis://user:open-sesame@host:port/0",
                                  "redis://user:open-sesame@",
                                  "http://user:open-sesame@host",
                                  "memory:open-sesame@://",
                                  "redis://host:99999/0?password=open-sesame@x"}) {
        for (const std::string variable : {"SLUICE_ORIGIN", "SLUICE_THREADS"}) {
            const auto loaded = load_settings(
                {.file = {}, .environment = {{variable, url}}, .flags = {}, .tokens = {}});
            ASSERT_FALSE(loaded) << url;
            EXPECT_EQ(loaded.error().message.find("open-sesame"), std::string::npos)
                << loaded.error().message;
        }
    }
}

TEST(Settings, TlsFilesOfAnOriginNeedATlsOrigin) {
    const auto problem = [](std::map<std::string, std::string> flags) {
        const auto loaded =
            load_settings({.file = {}, .environment = {}, .flags = std::move(flags), .tokens = {}});
        return loaded ? std::string() : loaded.error().message;
    };
    EXPECT_NE(problem({{"origin_tls.ca", "ca.pem"}}).find("rediss://"), std::string::npos);
    EXPECT_NE(problem({{"origin", "redis://h"}, {"origin_tls.ca", "ca.pem"}}).find("rediss://"),
              std::string::npos);
    EXPECT_EQ(problem({{"origin", "rediss://h"}, {"origin_tls.ca", "ca.pem"}}), "");
    EXPECT_EQ(problem({{"origin", "rediss+sentinel://h/main"}, {"origin_tls.ca", "ca.pem"}}), "");
    EXPECT_EQ(problem({{"origin", "redis://h1:7000,h2:7001/0"}}), "");
    EXPECT_NE(
        problem({{"origin", "rediss://h"}, {"origin_tls.cert", "c.pem"}}).find("origin_tls.key"),
        std::string::npos);
    EXPECT_NE(
        problem({{"origin", "rediss://h"}, {"origin_tls.key", "k.pem"}}).find("origin_tls.cert"),
        std::string::npos);
}

TEST(Settings, VariablesAndFlagsAreNamedAfterTheKey) {
    EXPECT_EQ(variable_of("log.level"), "SLUICE_LOG_LEVEL");
    EXPECT_EQ(variable_of("data_dir"), "SLUICE_DATA_DIR");
    EXPECT_EQ(flag_of("log.level"), "--log-level");
    EXPECT_EQ(flag_of("http.max_connections"), "--http-max-connections");
}

TEST(Settings, FlagsWinOverTheEnvironmentAndTheEnvironmentOverTheFile) {
    const File file("region = \"file\"\nthreads = 1\nmax_keys = 1\n");
    const Loaded loaded =
        loaded_from({.file = file.path(),
                     .environment = {{"SLUICE_REGION", "environment"}, {"SLUICE_THREADS", "2"}},
                     .flags = {{"region", "flag"}},
                     .tokens = {}});
    EXPECT_EQ(loaded.settings.region, "flag");
    EXPECT_EQ(loaded.settings.threads, 2U);
    EXPECT_EQ(loaded.settings.max_keys, 1U);
    EXPECT_EQ(loaded.origins.at("region"), "--region");
    EXPECT_EQ(loaded.origins.at("threads"), "SLUICE_THREADS");
    EXPECT_EQ(loaded.origins.at("max_keys"), file.path() + ":3");
}

TEST(Settings, EnvironmentNamesTheFileWhereNoFlagDoes) {
    const File file("region = \"file\"\n");
    EXPECT_EQ(loaded_from({.file = {},
                           .environment = {{"SLUICE_CONFIG", file.path()}},
                           .flags = {},
                           .tokens = {}})
                  .settings.region,
              "file");
    EXPECT_EQ(loaded_from({.file = file.path(),
                           .environment = {{"SLUICE_CONFIG", "/nowhere"}},
                           .flags = {},
                           .tokens = {}})
                  .settings.region,
              "file");
}

TEST(Settings, MissingFileIsNamed) {
    EXPECT_EQ(fault_of(load_settings(
                  {.file = "/nowhere/sluice.toml", .environment = {}, .flags = {}, .tokens = {}})),
              "/nowhere/sluice.toml: the file can't be read: No such file or directory");
    EXPECT_EQ(fault_of(load_settings({.file = "/", .environment = {}, .flags = {}, .tokens = {}})),
              "/: the file can't be read: Is a directory");
}

TEST(Settings, WhatIsNotTomlIsNamedByItsLine) {
    EXPECT_TRUE(
        fault_of("region = \"a\"\nthreads = = 3\n").starts_with("FILE:2: this is not TOML: "));
    EXPECT_TRUE(fault_of("threads = 1\nthreads = 2\n").starts_with("FILE:2: this is not TOML: "));
}

TEST(Settings, UnknownKeyIsNamedWithItsLineAndTheOneThatWasMeant) {
    const std::string fault = fault_of("\nlissten = \"127.0.0.1:1\"\n");
    EXPECT_TRUE(
        fault.starts_with("FILE:2: lissten is \"127.0.0.1:1\", but there is no such setting; did "
                          "you mean listen? Allowed are listen, admin_listen, region, "))
        << fault;
    EXPECT_TRUE(
        fault_of("[log]\nlevle = 3\n")
            .starts_with(
                "FILE:2: log.levle is 3, but there is no such setting; did you mean log.level? "));
    EXPECT_TRUE(
        fault_of("[unheard]\n")
            .starts_with("FILE:1: unheard is a table, but there is no such setting; allowed are "))
        << fault_of("[unheard]\n");
    EXPECT_TRUE(fault_of("log = \"info\"\n")
                    .starts_with("FILE:1: log is \"info\", but there is no such setting; "));
}

TEST(Settings, EmptyTableIsNoMistake) {
    EXPECT_EQ(fault_of("[log]\n[http]\n[tls]\n"), "no fault");
}

TEST(Settings, WrongTypeIsNamedWithWhatIsAllowed) {
    EXPECT_EQ(fault_of("threads = \"3\"\n"),
              "FILE:1: threads is \"3\"; allowed is a whole number from 0 to 1024");
    EXPECT_EQ(fault_of("threads = 1.5\n"),
              "FILE:1: threads is 1.5; allowed is a whole number from 0 to 1024");
    EXPECT_EQ(fault_of("region = 7\n"), "FILE:1: region is 7; allowed is a name of 1 to 48 bytes");
    EXPECT_EQ(fault_of("test_clock = \"yes\"\n"),
              "FILE:1: test_clock is \"yes\"; allowed is true or false");
    EXPECT_EQ(fault_of("listen = 8080\n"),
              "FILE:1: listen is 8080; allowed is HOST:PORT with an IPv4 address, an IPv6 address "
              "in brackets or localhost, and a port "
              "from 0 to 65535");
    EXPECT_EQ(fault_of("drain_timeout = 10\n"),
              "FILE:1: drain_timeout is 10; allowed is a time from 0s to 1h, such as 10s or 500ms");
    EXPECT_EQ(fault_of("region = [\"a\", \"b\"]\n"),
              "FILE:1: region is [ 'a', 'b' ]; allowed is a name of 1 to 48 bytes");
}

TEST(Settings, ValueOutOfRangeIsNamedWithWhatIsAllowed) {
    struct Case {
        std::string toml, key, value;
    };
    const Case cases[] = {
        {"threads = -1", "threads", "-1"},
        {"threads = 1025", "threads", "1025"},
        {"max_keys = 0", "max_keys", "0"},
        {"max_keys = 1000000001", "max_keys", "1000000001"},
        {"drain_timeout = \"2h\"", "drain_timeout", "\"2h\""},
        {"region = \"\"", "region", "\"\""},
        {"region = \"" + std::string(49, 'r') + "\"", "region", "\"" + std::string(49, 'r') + "\""},
        {"data_dir = \"\"", "data_dir", "\"\""},
        {"listen = \"127.0.0.1:65536\"", "listen", "\"127.0.0.1:65536\""},
        {"tls.cert = \"\"", "tls.cert", "\"\""},
        {"tls.key = \"\"", "tls.key", "\"\""},
        {"log.level = \"loud\"", "log.level", "\"loud\""},
        {"log.format = \"xml\"", "log.format", "\"xml\""},
        {"log.requests = 1", "log.requests", "1"},
        {"http.header_timeout = \"1ms\"", "http.header_timeout", "\"1ms\""},
        {"http.body_timeout = \"61m\"", "http.body_timeout", "\"61m\""},
        {"http.idle_timeout = \"2d\"", "http.idle_timeout", "\"2d\""},
        {"http.write_timeout = \"0s\"", "http.write_timeout", "\"0s\""},
        {"http.max_connections = 0", "http.max_connections", "0"},
        {"http.max_pipelined = 10001", "http.max_pipelined", "10001"},
        {"http.max_buffered_bytes = 1048575", "http.max_buffered_bytes", "1048575"},
        {"admin_listen = 65536", "admin_listen", "65536"},
        {"admin_listen = \"example.com:1\"", "admin_listen", "\"example.com:1\""},
    };
    for (const Case& bad : cases) {
        const std::string allowed(find_setting(bad.key)->allowed);
        EXPECT_EQ(fault_of("\n\n" + bad.toml + "\n"),
                  "FILE:3: " + bad.key + " is " + bad.value + "; allowed is " + allowed);
    }
}

TEST(Settings, BadVariableAndBadFlagAreNamedAsTheyWereGiven) {
    EXPECT_EQ(fault_of(with_variable("SLUICE_THREADS", "many")),
              "SLUICE_THREADS: threads is \"many\"; allowed is a whole number from 0 to 1024");
    EXPECT_EQ(fault_of(with_flag("threads", "1e3")),
              "--threads: threads is \"1e3\"; allowed is a whole number from 0 to 1024");
    EXPECT_EQ(fault_of(with_flag("test_clock", "maybe")),
              "--test-clock: test_clock is \"maybe\"; allowed is true or false");
    EXPECT_EQ(fault_of(with_variable("SLUICE_LOG_LEVEL", "a\nb")),
              "SLUICE_LOG_LEVEL: log.level is \"a\\x0ab\"; allowed is trace, debug, info, warn, "
              "error or off");
}

TEST(Settings, UnknownVariableIsAWarningThatNamesTheNearestOne) {
    const auto warnings_of = [](const std::string& name) {
        const auto loaded = with_variable(name, "redis://:hush@host");
        return loaded ? loaded->warnings : std::vector<std::string>{loaded.error().message};
    };
    EXPECT_EQ(
        warnings_of("SLUICE_LISTN"),
        std::vector<std::string>{"\"SLUICE_LISTN\" in the environment is ignored: there is no "
                                 "such variable; did you mean SLUICE_LISTEN?"});
    EXPECT_EQ(warnings_of("SLUICE_BANANA"),
              std::vector<std::string>{
                  "\"SLUICE_BANANA\" in the environment is ignored: there is no such variable"});
    EXPECT_EQ(
        warnings_of("SLUICE_SERVER_TOKEN"),
        std::vector<std::string>{"\"SLUICE_SERVER_TOKEN\" in the environment is ignored: there "
                                 "is no such variable; did you mean SLUICE_SERVER_TOKENS?"});
}

TEST(Settings, VariablesOfOthersAreLeftAlone) {
    for (const auto& [name, value] : {std::pair{"PATH", "/bin"},
                                      std::pair{"SLUICE_URL", "http://127.0.0.1:8080"},
                                      std::pair{"SLUICE_SERVICE_HOST", "10.0.0.1"},
                                      std::pair{"SLUICE_PORT", "tcp://10.0.0.1:80"},
                                      std::pair{"SLUICE_REDIS_PORT_6379_TCP_ADDR", "10.0.0.1"}}) {
        const auto loaded = with_variable(name, value);
        ASSERT_TRUE(loaded) << name;
        EXPECT_TRUE(loaded->warnings.empty()) << name;
    }
}

TEST(Settings, AllProblemsAreNamedAtOnce) {
    EXPECT_EQ(fault_of("threads = -1\nmax_keys = 0\n"),
              "FILE:2: max_keys is 0; allowed is a whole number from 1 to 1000000000\n"
              "FILE:1: threads is -1; allowed is a whole number from 0 to 1024");
}

TEST(Settings, OpenListenerNeedsAToken) {
    const std::string fault = fault_of("\nlisten = \"0.0.0.0:8080\"\n");
    EXPECT_TRUE(
        fault.starts_with("FILE:2: listen is \"0.0.0.0:8080\"; allowed is an address on loopback, "
                          "such as 127.0.0.1:8080, as long as there is no token"))
        << fault;
    EXPECT_FALSE(with_flag("listen", "[::]:8080"));
    EXPECT_TRUE(load_settings({.file = {},
                               .environment = {},
                               .flags = {{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}},
                               .tokens = {"secret"}}));
    EXPECT_FALSE(load_settings(
        {.file = {}, .environment = {}, .flags = {{"listen", "0.0.0.0:1"}}, .tokens = {""}}));
}

TEST(Settings, AdminListenerIsOnLoopbackUnlessAnAddressIsGiven) {
    EXPECT_EQ(settings_of("").admin_listen, std::nullopt);
    EXPECT_EQ(settings_of("admin_listen = 9090").admin_listen, (Address{"127.0.0.1", 9090}));
    EXPECT_EQ(settings_of("admin_listen = \"9090\"").admin_listen, (Address{"127.0.0.1", 9090}));
    EXPECT_EQ(settings_of("admin_listen = \"[::1]:0\"").admin_listen, (Address{"::1", 0}));
}

TEST(Settings, OpenAdminListenerNeedsAToken) {
    const std::string fault = fault_of("\nadmin_listen = \"0.0.0.0:9090\"\n");
    EXPECT_TRUE(
        fault.starts_with("FILE:2: admin_listen is \"0.0.0.0:9090\"; allowed is an address "
                          "on loopback, such as 127.0.0.1:9090, as long as there is no "
                          "token"))
        << fault;
    EXPECT_TRUE(load_settings({.file = {},
                               .environment = {},
                               .flags = {{"admin_listen", "0.0.0.0:1"}, {"behind_proxy", "true"}},
                               .tokens = {"secret"}}));
}

TEST(Settings, TokensOverPlainHttpBeyondLoopbackMustBeAccepted) {
    const auto with = [](std::map<std::string, std::string> flags) {
        return load_settings(
            {.file = {}, .environment = {}, .flags = std::move(flags), .tokens = {"secret"}});
    };
    const std::string reason =
        "an address on loopback as long as tokens are sent over plain HTTP, which anyone on the "
        "way can read. Set tls.cert and tls.key, or --behind-proxy if a proxy in front terminates "
        "TLS, or --insecure-http to accept that";
    EXPECT_EQ(fault_of(with({{"listen", "0.0.0.0:1"}})),
              "--listen: listen is \"0.0.0.0:1\"; allowed is " + reason);
    EXPECT_EQ(fault_of(with({{"admin_listen", "10.0.0.1:1"}})),
              "--admin-listen: admin_listen is \"10.0.0.1:1\"; allowed is " + reason);
    EXPECT_TRUE(with({{"listen", "127.0.0.1:1"}}));
    EXPECT_TRUE(with({{"listen", "0.0.0.0:1"}, {"behind_proxy", "true"}}));
    EXPECT_TRUE(with({{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}}));
    EXPECT_TRUE(with({{"listen", "0.0.0.0:1"}, {"tls.cert", "c"}, {"tls.key", "k"}}));
    EXPECT_FALSE(with_flag("insecure_http", "maybe"));
    EXPECT_FALSE(load_settings({.file = {},
                                .environment = {},
                                .flags = {{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}},
                                .tokens = {}}))
        << "a listener beyond loopback needs a token";
}

TEST(Settings, AllowedHostsAreNamesWithCommasBetweenThem) {
    EXPECT_EQ(settings_of("allowed_hosts = \"a.example, b_c-d\"").allowed_hosts,
              (std::vector<std::string>{"a.example", "b_c-d"}));
    for (const char* bad : {"", ",", "a,,b", "a b", "a:80", "[::1]", "*.example"})
        EXPECT_FALSE(with_flag("allowed_hosts", bad)) << bad;
}

TEST(Settings, TestClockIsForLoopbackOnly) {
    EXPECT_TRUE(with_flag("test_clock", "true"));
    EXPECT_EQ(
        fault_of(load_settings(
            {.file = {},
             .environment = {},
             .flags = {{"listen", "0.0.0.0:1"}, {"insecure_http", "true"}, {"test_clock", "true"}},
             .tokens = {"secret"}})),
        "--test-clock: test_clock is true; allowed is false unless the server listens on "
        "loopback: its clients choose the time");
}

TEST(Settings, CertificateAndKeyComeTogether) {
    EXPECT_EQ(fault_of(with_flag("tls.cert", "c.pem")),
              "default: tls.key is \"\"; allowed is the path of a file, since tls.cert is set");
    EXPECT_EQ(fault_of(with_flag("tls.key", "k.pem")),
              "default: tls.cert is \"\"; allowed is the path of a file, since tls.key is set");
    EXPECT_EQ(
        fault_of(with_flag("tls.client_ca", "ca.pem")),
        "default: tls.cert is \"\"; allowed is the path of a file, since tls.client_ca is set");
}

std::string token_lines(const std::string& more) {
    return "[[tokens]]\nname = \"a\"\nsha256 = \"" + std::string(kHash) + "\"\n" + more;
}

TEST(TokenLines, AreReadFromTheFile) {
    const Settings settings =
        settings_of(token_lines("workspace = \"acme\"\nnamespaces = [\"email.*\", "
                                "\"sms\"]\npermissions = [\"limit\", \"set_override\"]\n"));
    const Token expected{.name = "a",
                         .sha256 = sha256_of("abc"),
                         .workspace = "acme",
                         .namespaces = {"email.*", "sms"},
                         .permissions = {.limit = true, .set_override = true}};
    EXPECT_EQ(settings.tokens, std::vector<Token>{expected});
}

TEST(TokenLines, GrantNoMoreThanLimitsInTheDefaultWorkspaceUnlessTheySaySo) {
    const Token token = settings_of(token_lines("")).tokens.at(0);
    EXPECT_EQ(token.workspace, "default");
    EXPECT_EQ(token.namespaces, std::vector<std::string>{"*"});
    EXPECT_EQ(token.permissions, Permissions{.limit = true});
}

TEST(TokenLines, AreRefusedWithTheLineOfTheFault) {
    EXPECT_EQ(fault_of(token_lines("workspace = 3\n")),
              "FILE:4: tokens[0].workspace is 3; allowed is a text of 1 to 512 bytes");
    EXPECT_EQ(fault_of(token_lines("namespaces = []\n")),
              "FILE:4: tokens[0].namespaces is []; allowed is a list of 1 to 1000 patterns of 1 to "
              "512 bytes, such as [\"email.*\"]");
    EXPECT_EQ(fault_of(token_lines("permissions = [\"limit\", \"fly\"]\n")),
              "FILE:4: tokens[0].permissions is [ 'limit', 'fly' ]; allowed is a list of one or "
              "more of limit, read_override, "
              "set_override, delete_override, read_metrics");
    EXPECT_EQ(fault_of("\n[[tokens]]\nname = \"a\"\n"),
              "FILE:2: tokens[0].sha256 is missing; allowed is the token's SHA-256 in 64 "
              "hexadecimal digits, as `sluice token` prints it");
    EXPECT_EQ(fault_of("tokens = [1]\n"),
              "FILE:1: tokens is a value that is not shown; allowed is a list of up to 1000 "
              "[[tokens]] tables");
}

TEST(TokenLines, AreUnique) {
    const std::string hash = "sha256 = \"" + std::string(kHash) + "\"\n";
    const std::string other = "sha256 = \"" + std::string(64, '0') + "\"\n";
    EXPECT_EQ(fault_of(token_lines("[[tokens]]\nname = \"a\"\n" + other)),
              "FILE:4: tokens[1].name is \"a\"; allowed is a text of 1 to 64 bytes that no other "
              "token has");
    EXPECT_EQ(fault_of(token_lines("[[tokens]]\nname = \"b\"\n" + hash)),
              "FILE:4: tokens[1].sha256 is that of \"a\"; allowed is one that no other token has");
}

TEST(TokenLines, NeverShowASecretThatWasPastedByMistake) {
    for (const char* line : {"sha256 = \"sluice_hush\"\n",
                             "sha265 = \"sluice_hush\"\n",
                             "secret = \"sluice_hush\"\n"}) {
        EXPECT_EQ(fault_of(std::string("[[tokens]]\nname = \"a\"\n") + line).find("hush"),
                  std::string::npos);
    }
    EXPECT_EQ(fault_of("token = \"sluice_hush\"\n").find("hush"), std::string::npos);
    EXPECT_EQ(fault_of("tokens = \"sluice_hush\"\n").find("hush"), std::string::npos);
    EXPECT_EQ(
        fault_of(with_variable("SLUICE_SERVER_TOKENS", "sluice_h\xc3\xbcsh")).find("sluice_h"),
        std::string::npos);
}

TEST(BareTokens, ComeFromFlagsAndTheEnvironment) {
    const Loaded by_flag =
        loaded_from({.file = {}, .environment = {}, .flags = {}, .tokens = {"abc", "def", "abc"}});
    ASSERT_EQ(by_flag.settings.tokens.size(), 2U);
    EXPECT_EQ(by_flag.settings.tokens[0].sha256, sha256_of("abc"));
    EXPECT_EQ(by_flag.settings.tokens[0].permissions, kAllPermissions);
    const auto by_variable = with_variable("SLUICE_SERVER_TOKENS", "abc def");
    ASSERT_TRUE(by_variable);
    ASSERT_EQ(by_variable->settings.tokens.size(), 2U);
    EXPECT_EQ(by_variable->settings.tokens[1].sha256, sha256_of("def"));
}

TEST(BareTokens, ReplaceThoseOfAWeakerSource) {
    const File file(token_lines(""));
    const Settings settings = loaded_from({.file = file.path(),
                                           .environment = {{"SLUICE_SERVER_TOKENS", "two"}},
                                           .flags = {},
                                           .tokens = {"three"}})
                                  .settings;
    ASSERT_EQ(settings.tokens.size(), 1U);
    EXPECT_EQ(settings.tokens[0].sha256, sha256_of("three"));
}

TEST(BareTokens, AreRefusedWhereNoHeaderCouldCarryThem) {
    EXPECT_EQ(
        fault_of(load_settings({.file = {}, .environment = {}, .flags = {}, .tokens = {"a b"}})),
        "--token: token is a value that is not shown; allowed is 1 to 512 visible ASCII "
        "characters");
    EXPECT_EQ(fault_of(with_variable("SLUICE_SERVER_TOKENS", "")),
              "SLUICE_SERVER_TOKENS: token is 0 tokens; allowed is 1 to 1000 of them");
}

TEST(BareTokens, ThoseOfClientsAreNoneOfTheServers) {
    const auto without = with_variable("SLUICE_TOKEN", "abc");
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->settings.tokens.empty());
    ASSERT_EQ(without->warnings.size(), 1U);
    EXPECT_TRUE(without->warnings[0].starts_with("SLUICE_TOKEN is ignored: "))
        << without->warnings[0];
    EXPECT_EQ(without->warnings[0].find("abc"), std::string::npos);

    const Loaded with = loaded_from(
        {.file = {}, .environment = {{"SLUICE_TOKEN", "abc"}}, .flags = {}, .tokens = {"def"}});
    ASSERT_EQ(with.settings.tokens.size(), 1U);
    EXPECT_EQ(with.settings.tokens[0].sha256, sha256_of("def"));
    EXPECT_TRUE(with.warnings.empty());

    const std::string fault = fault_of(load_settings({.file = {},
                                                      .environment = {{"SLUICE_TOKEN", "abc"}},
                                                      .flags = {{"listen", "0.0.0.0:1"}},
                                                      .tokens = {}}));
    EXPECT_TRUE(fault.ends_with(
        "; SLUICE_TOKEN is for clients, a server's tokens are in SLUICE_SERVER_TOKENS"))
        << fault;
}

TEST(File, WithSecretsThatEveryUserCanReadIsAWarning) {
    const auto warnings_of = [](const std::string& toml, mode_t mode) {
        const File file(toml);
        ::chmod(file.path().c_str(), mode);
        return loaded_from({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}})
            .warnings;
    };
    for (const std::string& toml :
         {token_lines(""), std::string("origin = \"redis://:hush@host\"\n")}) {
        const std::vector<std::string> warnings = warnings_of(toml, 0644);
        ASSERT_EQ(warnings.size(), 1U) << toml;
        EXPECT_NE(warnings[0].find("every user of this machine can read or change it"),
                  std::string::npos)
            << warnings[0];
        EXPECT_EQ(warnings[0].find("hush"), std::string::npos);
        EXPECT_TRUE(warnings_of(toml, 0640).empty());
        EXPECT_TRUE(warnings_of(toml, 0600).empty());
    }
    EXPECT_TRUE(warnings_of("region = \"eu\"\n", 0644).empty());
}

TEST(Origin, IsNeverShownWhereItIsRefused) {
    for (const std::string given : {"redis://:hush",
                                    "redis::hush@host",
                                    "redis:/:hush@host",
                                    "rediss//:hush@host",
                                    ":hush@host",
                                    "redis://:hush@host:port"}) {
        const std::string fault = fault_of(with_variable("SLUICE_ORIGIN", given));
        EXPECT_TRUE(fault.starts_with("SLUICE_ORIGIN: origin is a value that is not shown;"))
            << fault;
    }
}

TEST(Global, IsNeverShownWhereItIsRefused) {
    for (const std::string variable : {"SLUICE_GLOBAL", "SLUICE_GLOBAL_REPLICA"}) {
        for (const std::string given : {"mysql://root:hush",
                                        "mysql:root:hush@host",
                                        "hush",
                                        "memory:hush",
                                        "mysql://root:hush@host:port/db",
                                        "mysql://root:hush@host/"}) {
            const std::string fault = fault_of(with_variable(variable, given));
            EXPECT_TRUE(fault.starts_with(variable + ": ")) << fault;
            EXPECT_NE(fault.find(" is a value that is not shown; allowed is mysql://"),
                      std::string::npos)
                << fault;
            EXPECT_EQ(fault.find("hush"), std::string::npos) << fault;
        }
    }
}

TEST(Global, IsDescribedWithoutItsPassword) {
    const std::string text = describe(
        loaded_from({.file = {},
                     .environment = {{"SLUICE_GLOBAL", "mysql://sluice:hush@db:3307/limits"}},
                     .flags = {{"region", "eu"}, {"global_replica", "mysql://r:hush@copy/limits"}},
                     .tokens = {}}));
    EXPECT_EQ(text.find("hush"), std::string::npos) << text;
    EXPECT_NE(text.find("global = \"mysql://sluice@db:3307/limits\"  # SLUICE_GLOBAL\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("global_replica = \"mysql://r@copy"), std::string::npos) << text;
    EXPECT_NE(text.find("global_cleanup = false  # default\n"), std::string::npos) << text;
}

TEST(Global, NeedsARegionThatWasNamed) {
    const std::string fault =
        "default: region is \"local\"; allowed is a name that no other region has, by --region, "
        "SLUICE_REGION or the file, since global is set: regions of one name would take each "
        "other's counts for their own";
    EXPECT_EQ(fault_of("global = \"sqlite:g.db\"\n"), fault);
    EXPECT_EQ(fault_of(with_variable("SLUICE_GLOBAL", "mysql://host/db")), fault);
    EXPECT_EQ(fault_of("global = \"sqlite:g.db\"\nregion = \"local\"\n"), "no fault");
    EXPECT_TRUE(loaded_from({.file = {},
                             .environment = {{"SLUICE_REGION", "eu"}},
                             .flags = {{"global", "mysql://host/db"}},
                             .tokens = {}})
                    .settings.region == "eu");
    EXPECT_EQ(fault_of(""), "no fault");
}

TEST(Global, SettingsAroundItNeedIt) {
    EXPECT_EQ(fault_of("region = \"eu\"\nglobal = \"sqlite:g.db\"\nglobal_replica = "
                       "\"mysql://host/db\"\n"),
              "FILE:2: global is \"sqlite:g.db\"; allowed is a mysql:// URL, since global_replica "
              "is set");
    EXPECT_EQ(fault_of("global_cleanup = true\n"),
              "FILE:1: global_cleanup is true; allowed is false as long as global is not set");
    EXPECT_EQ(fault_of("test_global_interval = \"100ms\"\n"),
              "FILE:1: test_global_interval is \"100ms\"; allowed is 0s unless test_clock is true: "
              "it is for tests alone");
    EXPECT_EQ(fault_of("test_clock = true\ntest_global_interval = \"100ms\"\n"), "no fault");
    EXPECT_NE(fault_of("test_clock = true\ntest_global_interval = \"1ms\"\n"), "no fault");
}

TEST(Description, TellsEachSettingAndItsOrigin) {
    const std::string text = describe(loaded_from({.file = {},
                                                   .environment = {{"SLUICE_REGION", "eu"}},
                                                   .flags = {{"threads", "2"}},
                                                   .tokens = {"abc"}}));
    EXPECT_NE(text.find("listen = \"127.0.0.1:8080\"  # default\n"), std::string::npos) << text;
    EXPECT_NE(text.find("region = \"eu\"  # SLUICE_REGION\n"), std::string::npos);
    EXPECT_NE(text.find("threads = 2  # --threads\n"), std::string::npos);
    EXPECT_NE(text.find("permissions = [\"limit\", \"read_override\", \"set_override\", "
                        "\"delete_override\", \"read_metrics\"]\n"),
              std::string::npos);
    EXPECT_EQ(text.find("abc"), std::string::npos);
    EXPECT_EQ(text.find(kHash), std::string::npos);
}

}  // namespace
}  // namespace sluice::config
