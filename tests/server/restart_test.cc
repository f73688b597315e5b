// Restarts after a shutdown and after a kill: overrides and counts that must survive.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kSet = "/v2/ratelimit.setOverride";
constexpr std::string_view kGet = "/v2/ratelimit.getOverride";
constexpr std::string_view kList = "/v2/ratelimit.listOverrides";
constexpr std::string_view kDelete = "/v2/ratelimit.deleteOverride";
constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kWholeList = R"({"namespace":"kept","limit":100})";

std::string grant(const std::string& identifier, int limit) {
    return R"({"namespace":"kept","identifier":")" + identifier + R"(","limit":)" +
           std::to_string(limit) + R"(,"duration":60000})";
}

class Restart : public testing::Test {
  protected:
    ServerOptions options() const { return {.flags = {"--data-dir", folder_.path("data")}}; }

    ScratchFolder folder_;
};

TEST_F(Restart, AfterKillKeepsEveryOverrideThatWasAnswered) {
    boost::json::value before;
    {
        Server server(options());
        for (int i = 0; i < 30; ++i)
            expect_data(server.ask(kSet, grant("i" + std::to_string(i), i)));
        expect_data(server.ask(kSet, grant("i3", 333)));
        expect_data(server.ask(kDelete, R"({"namespace":"kept","identifier":"i4"})"));
        before = expect_data(server.ask(kList, kWholeList), "pagination");
        server.program().signal(SIGKILL);
        EXPECT_EQ(server.program().wait().signal, SIGKILL);
    }
    const Server server(options());
    EXPECT_EQ(expect_data(server.ask(kList, kWholeList), "pagination"), before);
    EXPECT_EQ(before.as_array().size(), 29U);
    expect_error(server.ask(kGet, R"({"namespace":"kept","identifier":"i4"})"), 404);
    EXPECT_EQ(expect_data(server.ask(kLimit, grant("i3", 1))).at("limit").as_int64(), 333);
}

TEST_F(Restart, LogsNoRecoveryOfCountsThatWereNeverUnavailable) {
    for (int start = 0; start < 2; ++start) {
        Server server(options());
        expect_data(server.ask(kLimit, grant("a", 5)));
        server.program().signal(SIGTERM);
        EXPECT_EQ(server.program().wait().exit_code, 0);
        EXPECT_EQ(server.program().output().find("origin_recovered"), std::string::npos)
            << server.program().output();
    }
}

TEST_F(Restart, GivesAnOverrideThatIsSetAgainItsOldId) {
    boost::json::value id;
    {
        Server server(options());
        id = expect_data(server.ask(kSet, grant("a", 1)));
        server.program().signal(SIGTERM);
        EXPECT_EQ(server.program().wait().exit_code, 0);
    }
    const Server server(options());
    EXPECT_EQ(expect_data(server.ask(kSet, grant("a", 2))), id);
    EXPECT_NE(expect_data(server.ask(kSet, grant("b", 2))), id);
}

TEST_F(Restart, AfterRepeatedKillsLosesNothing) {
    for (int round = 0; round < 5; ++round) {
        Server server(options());
        expect_data(server.ask(kSet, grant("i" + std::to_string(round), round)));
        EXPECT_EQ(expect_data(server.ask(kList, kWholeList), "pagination").as_array().size(),
                  static_cast<std::size_t>(round + 1));
        server.program().signal(SIGKILL);
        server.program().wait();
    }
}

TEST_F(Restart, WithoutADataDirectoryKeepsNothing) {
    {
        Server server;
        expect_data(server.ask(kSet, grant("a", 1)));
    }
    const Server server;
    expect_error(server.ask(kList, kWholeList), 404);
}

TEST_F(Restart, OnADamagedFileStopsTheProgramBeforeItListens) {
    {
        const Server server(options());
        expect_data(server.ask(kSet, grant("a", 1)));
    }
    int damaged = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("data"))) {
        if (!entry.is_regular_file()) continue;
        folder_.write("data/" + entry.path().filename().string(), std::string(8192, 'x'));
        ++damaged;
    }
    ASSERT_GT(damaged, 0);
    const Ending ending = run({"serve",
                               "--listen",
                               "127.0.0.1:" + std::to_string(free_port()),
                               "--data-dir",
                               folder_.path("data")});
    EXPECT_NE(ending.exit_code, 0);
    EXPECT_NE(ending.err.find(folder_.path("data")), std::string::npos) << ending.err;
}

TEST_F(Restart, APausedServerAnswersWhenItIsContinued) {
    Server server(options());
    Connection connection = server.connect();
    server.program().pause();
    connection.send(post(kLimit, grant("a", 1)));
    EXPECT_TRUE(connection.stays_silent(std::chrono::milliseconds(200)));
    server.program().signal(SIGCONT);
    expect_data(connection.receive());
}

}  // namespace
}  // namespace sluice::server_test
