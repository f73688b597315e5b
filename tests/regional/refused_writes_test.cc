// Redis answers reads and refuses writes: nodes report the origin as unavailable within three
// seconds, with or without traffic, and write all counts once writes work again.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using redis_test::RedisServerOptions;
using redis_test::Reply;
using server_test::Server;

constexpr auto kNoticedWithin = 3s;
constexpr std::chrono::milliseconds kWindow = 1h;

enum class Cause { kNoMemory, kReadOnlyReplica, kNoPermission, kFailedSave };
enum class Traffic { kNone, kSteady };

std::ostream& operator<<(std::ostream& out, Cause cause) {
    constexpr std::array<const char*, 4> kNames = {
        "NoMemory", "ReadOnlyReplica", "NoPermission", "FailedSave"};
    return out << kNames.at(static_cast<std::size_t>(cause));
}

std::ostream& operator<<(std::ostream& out, Traffic traffic) {
    return out << (traffic == Traffic::kNone ? "WithoutTraffic" : "WithTraffic");
}

// What Redis may answer to a refused write, as a command or within a script.
std::vector<std::string_view> words_of(Cause cause) {
    switch (cause) {
        case Cause::kNoMemory:
            return {"OOM command not allowed"};
        case Cause::kReadOnlyReplica:
            return {"READONLY You can't write against a read only replica"};
        case Cause::kNoPermission:
            return {"NOPERM", "The user executing the script can't run this command"};
        case Cause::kFailedSave:
            return {"MISCONF Redis is configured to save RDB snapshots"};
    }
    return {};
}

// A Redis that the nodes use as the user alice, and that can be made to refuse writes.
class RefusingRedis {
  public:
    RedisServer& server() { return server_; }
    std::string url() const {
        return "redis://alice:secret@127.0.0.1:" + std::to_string(server_.port());
    }

    void refuse_writes(Cause cause) {
        switch (cause) {
            case Cause::kNoMemory:
                return expect_ok({"CONFIG", "SET", "maxmemory", "1"});
            case Cause::kReadOnlyReplica:
                expect_ok({"CONFIG", "SET", "replica-read-only", "yes"});
                return expect_ok(
                    {"REPLICAOF", "127.0.0.1", std::to_string(server_test::free_port())});
            case Cause::kNoPermission:
                return expect_ok({"ACL", "SETUSER", "alice", "-@write"});
            case Cause::kFailedSave:
                std::filesystem::create_directory(snapshot());
                expect_save("err");
                return expect_ok({"CONFIG", "SET", "save", "3600 1000000000"});
        }
    }

    void accept_writes(Cause cause) {
        switch (cause) {
            case Cause::kNoMemory:
                return expect_ok({"CONFIG", "SET", "maxmemory", "0"});
            case Cause::kReadOnlyReplica:
                return expect_ok({"REPLICAOF", "NO", "ONE"});
            case Cause::kNoPermission:
                return expect_ok({"ACL", "SETUSER", "alice", "+@write"});
            case Cause::kFailedSave:
                std::filesystem::remove(snapshot());
                return expect_save("ok");
        }
    }

  private:
    // Where it saves its data; a folder of that name makes saving fail.
    std::string snapshot() {
        return server_.command({"CONFIG", "GET", "dir"}).list.at(1).text + "/dump.rdb";
    }

    void expect_ok(const std::vector<std::string>& words) {
        EXPECT_EQ(server_.command(words).text, "OK") << words.front();
    }

    void expect_save(const std::string& status) {
        EXPECT_EQ(server_.command({"BGSAVE"}).text, "Background saving started");
        EXPECT_TRUE(eventually([&] {
            const std::string info = server_.command({"INFO", "persistence"}).text;
            return info.find("rdb_bgsave_in_progress:0") != std::string::npos &&
                   info.find("rdb_last_bgsave_status:" + status) != std::string::npos;
        })) << "saving did not end with "
            << status;
    }

    RedisServer server_{RedisServerOptions{.acl = "alice on >secret ~* +@all"}};
};

// Three limiters and a server that share an origin, and what they have passed.
class Region {
  public:
    explicit Region(const std::string& origin)
        : nodes_(make_nodes(3, origin, 1s)), server_(sharing(origin)), client_(server_) {}
    ~Region() { stop_traffic(); }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    // One request at each limiter and at the server, for a limit that is far.
    void ask_all() {
        for (Limiter& node : nodes_)
            if (ask(node, "alice", 1'000'000)) ++passed_;
        if (client_.ask({.identifier = "alice", .duration = kWindow}).passed) ++passed_;
    }

    void start_traffic() {
        traffic_ = std::thread([this] {
            while (!stop_.load(std::memory_order_relaxed)) {
                ask_all();
                std::this_thread::sleep_for(5ms);
            }
        });
    }
    void stop_traffic() {
        stop_ = true;
        if (traffic_.joinable()) traffic_.join();
    }

    // How many of `count` requests pass, one after the other at the limiters in turn.
    int pass_in_turn(const std::string& identifier, std::int64_t limit, int count) {
        int passed = 0;
        for (int i = 0; i < count; ++i)
            passed += ask(nodes_[static_cast<std::size_t>(i) % nodes_.size()], identifier, limit);
        return passed;
    }

    // Whether all of them report the origin as unavailable, or all as available.
    bool reports_unavailable() const { return reports(true); }
    bool reports_available() const { return reports(false); }

    // The lines of the server's log that are about the origin.
    std::string origin_log() {
        std::istringstream log(server_.program().output());
        std::string lines;
        for (std::string line; std::getline(log, line);)
            if (line.find("origin") != std::string::npos) lines += line + "\n";
        return lines;
    }

    std::int64_t passed() const { return passed_; }

  private:
    static bool ask(Limiter& node, const std::string& identifier, std::int64_t limit) {
        return node
            .limit({.name_space = "test",
                    .identifier = identifier,
                    .limit = limit,
                    .duration = kWindow})
            ->passed;
    }

    bool reports(bool unavailable) const {
        const auto agrees = [&](const Limiter& node) {
            return node.stats().origin.unavailable == unavailable;
        };
        const auto degraded = server_test::expect_data(server_.get("/readyz")).at("degraded");
        const auto expected = server_test::json(unavailable ? R"(["origin"])" : "[]");
        return std::ranges::all_of(nodes_, agrees) && degraded == expected;
    }

    std::vector<Limiter> nodes_;
    Server server_;
    LimitClient client_;
    std::int64_t passed_ = 0;  // of "alice"; the traffic thread's while that runs
    std::atomic<bool> stop_{false};
    std::thread traffic_;
};

using Case = std::tuple<Cause, Traffic>;

class RefusedWrites : public testing::TestWithParam<Case> {
  protected:
    bool becomes_total(std::int64_t total) {
        return eventually([&] { return total_of(redis_.server(), "alice") == total; });
    }

    RefusingRedis redis_;
    Region region_{redis_.url()};
};

TEST_P(RefusedWrites, AreNoticedWithinThreeSecondsAndLoseNothing) {
    const auto [cause, traffic] = GetParam();
    for (int i = 0; i < 5; ++i)
        region_.ask_all();
    ASSERT_TRUE(becomes_total(region_.passed()));
    ASSERT_TRUE(region_.reports_available());
    if (traffic == Traffic::kSteady) region_.start_traffic();

    redis_.refuse_writes(cause);
    const auto is_quoted_in = [&, words_of_cause = words_of(cause)](const std::string& log) {
        return std::ranges::any_of(words_of_cause, [&](std::string_view words) {
            return log.find(words) != std::string::npos;
        });
    };
    // The log is written by a thread of its own.
    EXPECT_TRUE(eventually(
        [&] { return region_.reports_unavailable() && is_quoted_in(region_.origin_log()); },
        kNoticedWithin))
        << "the log:\n"
        << region_.origin_log();
    // Decided from memory, and not written for now.
    if (traffic == Traffic::kNone) {
        const std::int64_t held = total_of(redis_.server(), "alice");
        for (int i = 0; i < 5; ++i)
            region_.ask_all();
        EXPECT_EQ(total_of(redis_.server(), "alice"), held);
        EXPECT_EQ(region_.passed(), held + 20);
    }
    EXPECT_TRUE(region_.reports_unavailable());

    redis_.accept_writes(cause);
    EXPECT_TRUE(eventually([&] { return region_.reports_available(); }, kNoticedWithin));
    region_.stop_traffic();
    EXPECT_TRUE(becomes_total(region_.passed()))
        << total_of(redis_.server(), "alice") << " of " << region_.passed();
    // The nodes share again.
    EXPECT_EQ(region_.pass_in_turn("bob", 20, 60), 20);
}

INSTANTIATE_TEST_SUITE_P(By,
                         RefusedWrites,
                         testing::Combine(testing::Values(Cause::kNoMemory,
                                                          Cause::kReadOnlyReplica,
                                                          Cause::kNoPermission,
                                                          Cause::kFailedSave),
                                          testing::Values(Traffic::kNone, Traffic::kSteady)),
                         [](const testing::TestParamInfo<Case>& it) {
                             std::ostringstream name;
                             name << std::get<0>(it.param) << std::get<1>(it.param);
                             return name.str();
                         });

}  // namespace
}  // namespace sluice::regional_test
