#include "server/wire_settings.h"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "log/captured_log.h"

namespace sluice::server {
namespace {

constexpr std::size_t kReserved = 256;

class ConnectionLimit : public testing::Test {
  protected:
    void SetUp() override {
        rlimit limit{};
        ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        files_ = limit.rlim_max;
        if (files_ > 9'000'000 || files_ <= 2 * kReserved) GTEST_SKIP() << "the limit is unusual";
    }

    std::size_t files_ = 0;
    config::Settings settings_;
};

TEST_F(ConnectionLimit, IsTheSettingWhereItFits) {
    CapturedLog captured;
    settings_.http.max_connections = files_ - kReserved;
    EXPECT_EQ(raise_connection_limit(settings_, captured.log), files_ - kReserved);
    EXPECT_EQ(captured.text(), "");
}

TEST_F(ConnectionLimit, IsWhatTheSystemAllowsWithAWarning) {
    for (const std::size_t wanted : {files_, config::HttpSettings{}.max_connections}) {
        if (wanted < files_) continue;
        CapturedLog captured;
        settings_.http.max_connections = wanted;
        EXPECT_EQ(raise_connection_limit(settings_, captured.log), files_ - kReserved);
        EXPECT_NE(captured.text().find("few_files"), std::string::npos) << wanted;
    }
}

TEST_F(ConnectionLimit, IsSharedByTheTwoListeners) {
    CapturedLog captured;
    settings_.grpc.listen = config::Address{.host = "127.0.0.1", .port = 0};
    settings_.http.max_connections = files_ - kReserved;
    EXPECT_EQ(raise_connection_limit(settings_, captured.log), (files_ - kReserved) / 2);
    EXPECT_NE(captured.text().find("files_needed"), std::string::npos) << captured.text();
}

}  // namespace
}  // namespace sluice::server
