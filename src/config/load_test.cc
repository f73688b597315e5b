#include "config/load.h"

#include <string>

#include <gtest/gtest.h>

#include "config/catalog.h"
#include "config/temporary_settings.h"

namespace sluice::config {
namespace {

using namespace std::chrono_literals;

TEST(Settings, DefaultIsLoopbackPort8080WithoutTokens) {
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
        global_max_cells = 1000
        global_min_regions = 10
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
        [grpc]
        listen = "127.0.0.4:8081"
        insecure = true
        max_streams = 8
        max_message_bytes = 9000
        idle_timeout = "10s"
        max_connection_age = "11s"
        max_connection_age_grace = "12s"
        [trace]
        endpoint = "http://collector"
        one_in = 13
        identifiers = true
    )");
    const Settings expected{
        .listen = {"127.0.0.2", 9000},
        .admin_listen = Address{"127.0.0.3", 9001},
        .region = "eu-west",
        .data_dir = "data",
        .global = "mysql://u:p@host/limits",
        .global_replica = "mysql://u:p@copy/limits",
        .global_cleanup = true,
        .global_max_cells = 1000,
        .global_min_regions = 10,
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
        .grpc = {.listen = Address{"127.0.0.4", 8081},
                 .insecure = true,
                 .max_streams = 8,
                 .max_message_bytes = 9'000,
                 .idle_timeout = 10s,
                 .max_connection_age = 11s,
                 .max_connection_age_grace = 12s},
        .trace = {.endpoint = "http://collector", .one_in = 13, .identifiers = true},
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
    wanted.grpc.listen = Address{"127.0.0.1", 8081};
    wanted.data_dir = "data";
    wanted.threads = 2;
    wanted.test_clock = true;
    wanted.rules = "rules.yaml";
    wanted.tls = {"c", "k"};
    wanted.allowed_hosts = {"a.example", "b.example"};
    wanted.origin = "redis://127.0.0.1:6379";
    wanted.trace.endpoint = "http://127.0.0.1:4318";
    for (const Setting& setting : catalog()) {
        // These need each other.
        if (setting.key.starts_with("origin_tls.") || setting.key.starts_with("global")) continue;
        if (setting.key == "tls.client_ca" || setting.key.starts_with("bus")) continue;
        if (setting.key.starts_with("rules_tls.")) continue;
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

TEST(Settings, AnInvalidOriginIsNotShown) {
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

TEST(Settings, FlagsOverrideTheEnvironmentWhichOverridesTheFile) {
    const TemporaryFile file("region = \"file\"\nthreads = 1\nmax_keys = 1\n");
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

TEST(Settings, EnvironmentNamesTheFileIfNoFlagDoes) {
    const TemporaryFile file("region = \"file\"\n");
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

TEST(Settings, MissingFileIsReported) {
    EXPECT_EQ(fault_of(load_settings(
                  {.file = "/nowhere/sluice.toml", .environment = {}, .flags = {}, .tokens = {}})),
              "/nowhere/sluice.toml: the file can't be read: No such file or directory");
    EXPECT_EQ(fault_of(load_settings({.file = "/", .environment = {}, .flags = {}, .tokens = {}})),
              "/: the file can't be read: Is a directory");
}

TEST(Settings, InvalidTomlIsReportedWithItsLine) {
    EXPECT_TRUE(
        fault_of("region = \"a\"\nthreads = = 3\n").starts_with("FILE:2: this is not TOML: "));
    EXPECT_TRUE(fault_of("threads = 1\nthreads = 2\n").starts_with("FILE:2: this is not TOML: "));
}

TEST(Settings, UnknownKeyIsReportedWithItsLineAndASimilarKey) {
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
        fault_of("[unknown]\n")
            .starts_with("FILE:1: unknown is a table, but there is no such setting; allowed are "))
        << fault_of("[unknown]\n");
    EXPECT_TRUE(fault_of("log = \"info\"\n")
                    .starts_with("FILE:1: log is \"info\", but there is no such setting; "));
}

TEST(Settings, EmptyTableIsAllowed) {
    EXPECT_EQ(fault_of("[log]\n[http]\n[tls]\n"), "no fault");
}

TEST(Settings, WrongTypeIsReportedWithTheAllowedValues) {
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

TEST(Settings, ValueOutOfRangeIsReportedWithTheAllowedValues) {
    struct Case {
        std::string toml, key, value;
    };
    const Case cases[] = {
        {"threads = -1", "threads", "-1"},
        {"threads = 1025", "threads", "1025"},
        {"max_keys = 0", "max_keys", "0"},
        {"global_max_cells = 63", "global_max_cells", "63"},
        {"global_min_regions = 0", "global_min_regions", "0"},
        {"global_min_regions = 1025", "global_min_regions", "1025"},
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

TEST(Settings, InvalidVariablesAndFlagsAreReportedAsGiven) {
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

TEST(Settings, UnknownVariableCausesAWarningWithASimilarOne) {
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

TEST(Settings, UnrelatedVariablesAreIgnored) {
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

TEST(Settings, AllProblemsAreReportedAtOnce) {
    EXPECT_EQ(fault_of("threads = -1\nmax_keys = 0\n"),
              "FILE:2: max_keys is 0; allowed is a whole number from 1 to 1000000000\n"
              "FILE:1: threads is -1; allowed is a whole number from 0 to 1024");
}

}  // namespace
}  // namespace sluice::config
