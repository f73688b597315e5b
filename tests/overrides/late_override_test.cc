// Changes of overrides while their store is locked: they are delayed, other requests are not.
#include <optional>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "sqlite/database.h"
#include "support/eventually.h"
#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;

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

// A server with one serving thread, whose file of overrides the test can lock.
class LateOverride : public testing::Test {
  protected:
    LateOverride() {
        expect_data(server_->ask(kSet, override_body("first", 1)));
        database_.emplace(sqlite::Database::open(
                              {.path = path_, .purpose = "a test", .use = sqlite::Use::kShared})
                              .value());
    }

    ServerOptions options() const {
        return {.flags = {"--threads", "1", "--region", "here", "--global", "sqlite:" + path_}};
    }
    // The store waits up to five seconds for the lock; a test releases it earlier.
    void lock() { ASSERT_FALSE(database_->run("BEGIN IMMEDIATE")); }
    void unlock() { ASSERT_FALSE(database_->run("ROLLBACK")); }

    ScratchFolder scratch_;
    const std::string path_ = scratch_.path("global.db");
    std::optional<Server> server_{options()};
    std::optional<sqlite::Database> database_;
};

TEST_F(LateOverride, DoesNotDelayOtherRequests) {
    Connection setter = server_->connect();
    Connection deleter = server_->connect();
    lock();
    setter.send(post(kSet, override_body("a", 7)));
    deleter.send(post(kDelete, name("first")));
    EXPECT_TRUE(expect_data(server_->ask(kLimit, override_body("x", 5))).at("success").as_bool());
    EXPECT_EQ(server_->get("/healthz").status, 200);
    expect_error(server_->ask(kGet, name("a")), 404);
    expect_data(server_->ask(kGet, name("first")));
    EXPECT_TRUE(setter.stays_silent(50ms));
    unlock();
    expect_data(setter.receive());
    expect_data(deleter.receive());
    EXPECT_EQ(expect_data(server_->ask(kGet, name("a"))).at("limit").as_int64(), 7);
    expect_error(server_->ask(kGet, name("first")), 404);
}

TEST_F(LateOverride, IsAnsweredInTheOrderOfItsConnection) {
    Connection client = server_->connect();
    lock();
    client.send(post(kSet, override_body("a", 1)) + post(kSet, override_body("a", 2)) +
                post(kGet, name("a")) + post(kDelete, name("a")) + post(kGet, name("a")));
    unlock();
    const auto id = expect_data(client.receive());
    EXPECT_EQ(expect_data(client.receive()), id);
    EXPECT_EQ(expect_data(client.receive()).at("limit").as_int64(), 2);
    expect_data(client.receive());
    expect_error(client.receive(), 404);
}

TEST_F(LateOverride, IsAnsweredBeforeTheServerExits) {
    Connection client = server_->connect();
    lock();
    client.send(post(kSet, override_body("a", 7)));
    // Answered by the same thread, hence after the change was queued.
    server_->get("/healthz");
    server_->program().signal(SIGTERM);
    EXPECT_TRUE(client.stays_silent(50ms));
    unlock();
    const Answer answer = client.receive();
    expect_data(answer);
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_EQ(server_->program().wait().exit_code, 0);
    server_.emplace(options());
    EXPECT_EQ(expect_data(server_->ask(kGet, name("a"))).at("limit").as_int64(), 7);
}

TEST_F(LateOverride, IsMadeIfItsClientHasDisconnected) {
    lock();
    {
        Connection client = server_->connect();
        client.send(post(kSet, override_body("a", 7)));
        server_->get("/healthz");
    }
    unlock();
    EXPECT_TRUE(
        regional_test::eventually([&] { return server_->ask(kGet, name("a")).status == 200; }));
}

TEST_F(LateOverride, IsRefusedBehindAThousandQueuedChanges) {
    std::vector<Connection> clients;
    for (int i = 0; i < 1'010; ++i)
        clients.push_back(server_->connect());
    lock();
    for (std::size_t i = 0; i < clients.size(); ++i)
        clients[i].send(post(kSet, override_body("i" + std::to_string(i), 1)));
    server_->get("/healthz");
    unlock();
    int stored = 0;
    int refused = 0;
    for (Connection& client : clients) {
        const Answer answer = client.receive();
        if (answer.status == 200) ++stored;
        if (answer.status != 503) continue;
        ++refused;
        EXPECT_EQ(answer.field("Retry-After"), "1");
        EXPECT_EQ(expect_error(answer, 503).at("detail").as_string(),
                  "Too many changes of overrides wait for their store. Try again later.");
    }
    EXPECT_GE(stored, 1'000);
    EXPECT_GE(refused, 1);
    EXPECT_EQ(stored + refused, 1'010);
}

}  // namespace
}  // namespace sluice::server_test
