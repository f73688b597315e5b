// Overrides that servers share through the global store.
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/http_answer.h"
#include "support/mariadb_server.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using regional_test::eventually;

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kSet = "/v2/ratelimit.setOverride";
constexpr std::string_view kGet = "/v2/ratelimit.getOverride";
constexpr std::string_view kDelete = "/v2/ratelimit.deleteOverride";

std::string name(const std::string& identifier) {
    return R"({"namespace":"n","identifier":")" + identifier + R"("})";
}

std::string override_body(const std::string& identifier, int limit) {
    return R"({"namespace":"n","identifier":")" + identifier + R"(","limit":)" +
           std::to_string(limit) + R"(,"duration":60000})";
}

// The options of a server that gets the URL of its global store by an environment variable.
ServerOptions node(const std::string& global,
                   const std::string& region,
                   std::vector<std::string> more = {}) {
    std::vector<std::string> flags{"--region", region, "--test-clock"};
    flags.insert(flags.end(), {"--test-global-interval", "50ms"});
    flags.insert(flags.end(), more.begin(), more.end());
    return {.flags = flags, .environment = {"SLUICE_GLOBAL=" + global}};
}

std::string set(const Server& server, const std::string& identifier, int limit) {
    const auto data = expect_data(server.ask(kSet, override_body(identifier, limit)));
    return std::string(data.at("overrideId").as_string());
}

// The limit that a request for `identifier` gets; 1 where no override applies.
std::int64_t limit_of(const Server& server, const std::string& identifier) {
    return expect_data(server.ask(kLimit, override_body(identifier, 1))).at("limit").as_int64();
}

bool eventually_has_limit(const Server& server, const std::string& identifier, std::int64_t limit) {
    return eventually([&] { return limit_of(server, identifier) == limit; });
}

// A global store that two servers share.
class Place {
  public:
    virtual ~Place() = default;
    virtual std::string url() const = 0;
};

class FilePlace final : public Place {
  public:
    std::string url() const override { return "sqlite:" + scratch_.path("global.db"); }

  private:
    ScratchFolder scratch_;
};

class MariadbPlace final : public Place {
  public:
    MariadbPlace() : url_(server().url_text(server().make_database())) {
        EXPECT_EQ(run({"migrate"}, {"SLUICE_GLOBAL=" + url_}).exit_code, 0);
    }
    std::string url() const override { return url_; }

  private:
    static mariadb_test::MariadbServer& server() {
        static mariadb_test::MariadbServer server;
        return server;
    }
    const std::string url_;
};

struct Kind {
    std::string name;
    std::function<std::unique_ptr<Place>()> make;
};

class SharedOverride : public testing::TestWithParam<Kind> {
  protected:
    const std::unique_ptr<Place> place_ = GetParam().make();
    Server east_{node(place_->url(), "east")};
    Server west_{node(place_->url(), "west")};
};

TEST_P(SharedOverride, SetOnOneNodeReachesTheOther) {
    const std::string id = set(east_, "vip_*", 50);
    EXPECT_EQ(limit_of(east_, "vip_1"), 50) << "at once where it was set";
    EXPECT_TRUE(eventually_has_limit(west_, "vip_1", 50));
    EXPECT_EQ(expect_data(west_.ask(kGet, name("vip_*"))).at("overrideId").as_string(), id);
    EXPECT_EQ(set(west_, "vip_*", 60), id);
    EXPECT_TRUE(eventually_has_limit(east_, "vip_1", 60));
    expect_data(west_.ask(kDelete, name("vip_*")));
    EXPECT_TRUE(eventually_has_limit(east_, "vip_1", 1));
    expect_error(east_.ask(kDelete, name("vip_*")), 404);
}

TEST_P(SharedOverride, OneKeySetOnBothAtOnceIsOneOverride) {
    for (int round = 0; round < 10; ++round) {
        const std::string identifier = "i" + std::to_string(round);
        std::string there;
        std::thread other([&] { there = set(west_, identifier, 70); });
        const std::string here = set(east_, identifier, 70);
        other.join();
        EXPECT_EQ(here, there);
        EXPECT_TRUE(eventually_has_limit(east_, identifier, 70));
        EXPECT_TRUE(eventually_has_limit(west_, identifier, 70));
    }
}

TEST_P(SharedOverride, ApplyOnANodeThatStartsLater) {
    set(east_, "ban", 0);
    const Server late(node(place_->url(), "late"));
    EXPECT_EQ(limit_of(late, "ban"), 0) << "from its first request on";
}

INSTANTIATE_TEST_SUITE_P(Places,
                         SharedOverride,
                         testing::Values(Kind{"File", [] { return std::make_unique<FilePlace>(); }},
                                         Kind{"Mariadb",
                                              [] { return std::make_unique<MariadbPlace>(); }}),
                         [](const auto& kind) { return kind.param.name; });

// A database that the tests stop and start.
class OverrideOutage : public testing::Test {
  protected:
    OverrideOutage() : url_(database_.url_text(database_.make_database())) {
        EXPECT_EQ(run({"migrate"}, {"SLUICE_GLOBAL=" + url_}).exit_code, 0);
    }

    static bool eventually_logs(Server& server, const std::string& text) {
        return eventually(
            [&] { return server.program().output().find(text) != std::string::npos; });
    }

    mariadb_test::MariadbServer database_;
    const std::string url_;
    ScratchFolder scratch_;
};

TEST_F(OverrideOutage, KeepsTheLastKnownOverridesAndRefusesChanges) {
    Server east(node(url_, "east"));
    Server west(node(url_, "west"));
    set(east, "ban", 0);
    ASSERT_TRUE(eventually_has_limit(west, "ban", 0));
    database_.kill();
    ASSERT_TRUE(eventually_logs(east, "override_store_unavailable"));
    ASSERT_TRUE(eventually_logs(west, "override_store_unavailable"));
    for (const Server* const server : {&east, &west}) {
        EXPECT_EQ(limit_of(*server, "ban"), 0);
        const Answer refused = server->ask(kSet, override_body("ban", 9));
        EXPECT_EQ(expect_error(refused, 503).at("detail").as_string(),
                  "The store of overrides does not answer. Try again later.");
        EXPECT_EQ(refused.field("Retry-After"), "1");
        expect_error(server->ask(kDelete, name("ban")), 503);
        EXPECT_EQ(limit_of(*server, "ban"), 0) << "nothing changed";
        EXPECT_EQ(server->get("/readyz").status, 200);
    }
    database_.start();
    EXPECT_TRUE(eventually_logs(west, "override_store_recovered"));
    EXPECT_TRUE(eventually([&] { return west.ask(kSet, override_body("ban", 9)).status == 200; }));
    EXPECT_TRUE(eventually_has_limit(east, "ban", 9));
    for (Server* const server : {&east, &west})
        EXPECT_EQ(server->program().output().find("secret"), std::string::npos);
}

TEST_F(OverrideOutage, StartsANodeWithTheCopyInItsDataDirectory) {
    const std::vector<std::string> kept{"--data-dir", scratch_.path("data")};
    {
        Server server(node(url_, "east", kept));
        set(server, "ban", 0);
        set(server, "gone", 5);
        expect_data(server.ask(kDelete, name("gone")));
    }
    database_.kill();
    Server with_copy(node(url_, "east", kept));
    EXPECT_TRUE(eventually_logs(with_copy, "override_store_unavailable"));
    EXPECT_EQ(limit_of(with_copy, "ban"), 0);
    EXPECT_EQ(limit_of(with_copy, "gone"), 1);
    Server without(node(url_, "west"));
    EXPECT_TRUE(eventually_logs(without, "override_store_unavailable"));
    EXPECT_EQ(limit_of(without, "ban"), 1);
    database_.start();
    EXPECT_TRUE(eventually_has_limit(without, "ban", 0));
}

TEST_F(OverrideOutage, ByAHangingDatabaseDelaysNeitherRequestsNorTheShutdown) {
    Server server(node(url_, "east", {"--threads", "1", "--drain-timeout", "100ms"}));
    set(server, "ban", 0);
    Connection client = server.connect();
    database_.pause();
    client.send(post(kSet, override_body("ban", 9)));
    EXPECT_EQ(limit_of(server, "ban"), 0);
    EXPECT_TRUE(client.stays_silent(std::chrono::milliseconds{100}));
    server.program().signal(SIGTERM);
    EXPECT_EQ(server.program().wait(std::chrono::seconds{9}).exit_code, 0)
        << "sooner than the database would be given up";
    database_.resume();
}

TEST_F(OverrideOutage, DoesNotOverwriteTheOverridesOfANodeWithoutAGlobalStore) {
    const std::vector<std::string> kept{"--data-dir", scratch_.path("data")};
    {
        const Server alone({.flags = kept});
        set(alone, "own", 5);
    }
    {
        Server sharing(node(url_, "east", kept));
        EXPECT_TRUE(eventually_logs(sharing, "overrides_unused"));
        EXPECT_EQ(limit_of(sharing, "own"), 1);
    }
    const Server alone({.flags = kept});
    EXPECT_EQ(limit_of(alone, "own"), 5);
}

}  // namespace
}  // namespace sluice::server_test
