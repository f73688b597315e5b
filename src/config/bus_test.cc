// Tests of the settings of the bus.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "config/load.h"
#include "config/temporary_settings.h"

namespace sluice::config {
namespace {

const std::string kGlobal = "region = \"eu\"\nglobal = \"sqlite:g.db\"\n";

TEST(BusSetting, TakesAUrlWithSeveralHosts) {
    const Settings settings =
        settings_of(kGlobal +
                    "bus = \"tls://a:b@one,two:4223\"\nbus_credentials = \"/x.creds\"\n"
                    "bus_workspaces = \"acme, other\"\n"
                    "[bus_tls]\nca = \"/ca\"\ncert = \"/c\"\nkey = \"/k\"\n");
    EXPECT_EQ(settings.bus, "tls://a:b@one,two:4223");
    EXPECT_EQ(settings.bus_credentials, "/x.creds");
    EXPECT_EQ(settings.bus_workspaces, (std::vector<std::string>{"acme", "other"}));
    EXPECT_EQ(settings.bus_tls, (BusTlsSettings{.ca = "/ca", .cert = "/c", .key = "/k"}));
}

TEST(BusSetting, IsNotShownIfItIsRefused) {
    for (const std::string given : {"nats://a:hush",
                                    "nats:a:hush@host",
                                    "hush",
                                    "memory:hush",
                                    "kafka://hush",
                                    "nats://hush@host:port",
                                    "nats://a:hush@host/x"}) {
        const std::string fault = fault_of(with_variable("SLUICE_BUS", given));
        EXPECT_TRUE(
            fault.starts_with("SLUICE_BUS: bus is a value that is not shown; allowed is nats://"))
            << fault;
        EXPECT_EQ(fault.find("hush"), std::string::npos) << fault;
    }
}

TEST(BusSetting, IsDescribedWithoutItsPassword) {
    for (const std::string login : {"sluice:hush", "hush"}) {
        const std::string text =
            describe(loaded_from({.file = {},
                                  .environment = {{"SLUICE_BUS", "nats://" + login + "@bus,two:1"}},
                                  .flags = {{"region", "eu"}, {"global", "mysql://db/limits"}},
                                  .tokens = {}}));
        EXPECT_EQ(text.find("hush"), std::string::npos) << text;
        EXPECT_NE(text.find("bus = \"nats://bus:4222,two:1\"  # SLUICE_BUS\n"), std::string::npos)
            << text;
    }
}

TEST(BusSetting, WithALoginInAFileThatEveryUserCanReadCausesAWarning) {
    const auto warnings_of = [](const std::string& bus) {
        const TemporaryFile file(kGlobal + "bus = \"" + bus + "\"\n");
        ::chmod(file.path().c_str(), 0644);
        return loaded_from({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}})
            .warnings.size();
    };
    EXPECT_EQ(warnings_of("nats://hush@host"), 1U);
    EXPECT_EQ(warnings_of("nats://host"), 0U);
}

TEST(BusSetting, NeedsAGlobalStoreAndARegion) {
    EXPECT_EQ(fault_of("region = \"eu\"\nbus = \"nats://host\"\n"),
              "FILE:2: bus is \"nats://host:4222\"; allowed is none as long as global is not set, "
              "which carries what a bus loses");
    const std::string no_region = fault_of("global = \"sqlite:g.db\"\nbus = \"nats://host\"\n");
    EXPECT_TRUE(no_region.starts_with("default: region is \"local\"; allowed is a name"))
        << no_region;
    EXPECT_EQ(fault_of(kGlobal + "bus = \"nats://host\"\n"), "no fault");
}

TEST(BusSetting, IsRequiredByRelatedSettings) {
    EXPECT_EQ(fault_of(kGlobal + "bus_credentials = \"/x\"\n"),
              "default: bus is \"\"; allowed is a nats:// or tls:// URL, since bus_credentials is "
              "set");
    EXPECT_EQ(fault_of(kGlobal + "bus_workspaces = \"a\"\n"),
              "default: bus is \"\"; allowed is a nats:// or tls:// URL, since bus_workspaces is "
              "set");
    EXPECT_EQ(fault_of(kGlobal + "bus = \"nats://host\"\n[bus_tls]\nca = \"/ca\"\n"),
              "FILE:3: bus is \"nats://host:4222\"; allowed is a tls:// URL, since bus_tls.ca is "
              "set");
    EXPECT_EQ(fault_of(kGlobal + "bus = \"tls://host\"\n[bus_tls]\ncert = \"/c\"\n"),
              "default: bus_tls.key is \"\"; allowed is the path of a file, since bus_tls.cert is "
              "set");
    EXPECT_EQ(fault_of(kGlobal + "bus = \"tls://host\"\n[bus_tls]\nkey = \"/k\"\n"),
              "default: bus_tls.cert is \"\"; allowed is the path of a file, since bus_tls.key is "
              "set");
}

TEST(BusSetting, TakesUpTo256Workspaces) {
    std::string names = "w0";
    for (int i = 1; i < 256; ++i)
        names += ",w" + std::to_string(i);
    EXPECT_EQ(fault_of(kGlobal + "bus = \"nats://h\"\nbus_workspaces = \"" + names + "\"\n"),
              "no fault");
    for (const std::string& given : {names + ",more", std::string("a,,b"), std::string(256, 'w')}) {
        EXPECT_NE(fault_of(with_variable("SLUICE_BUS_WORKSPACES", given))
                      .find("allowed is 1 to 256 names of 1 to 255 bytes, separated by commas"),
                  std::string::npos)
            << given;
    }
}

}  // namespace
}  // namespace sluice::config
