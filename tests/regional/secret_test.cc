// The password of the origin is sent to Redis and appears nowhere else.
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/process.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using redis_test::RedisServerOptions;
using server_test::Ending;
using server_test::Server;
using server_test::ServerOptions;

// Without a character that has to be escaped: it is the same wherever it shows.
const std::string kSecret = "sesame7f3c";

void expect_silent(const std::string& text, const std::string& where) {
    EXPECT_EQ(text.find(kSecret), std::string::npos) << where << " says: " << text;
}

// All output of the server: logs, metrics and answers, while it runs and when it ends.
void expect_silent(Server& server) {
    LimitClient client(server);
    expect_silent(client.ask({.identifier = "alice"}).body, "an answer");
    expect_silent(server.ask("/v2/ratelimit.limit", "{").body, "an error");
    expect_silent(server
                      .ask("/v2/ratelimit.inspect",
                           R"({"namespace":"test","identifier":"alice","duration":600000})")
                      .body,
                  "an inspection");
    for (const char* path : {"/metrics", "/readyz", "/healthz", "/nowhere"})
        expect_silent(server.get(path).body, path);
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--json"}}) {
        std::vector<std::string> words = {
            "inspect", "test", "alice", "--duration", "10m", "--url", server.url()};
        words.insert(words.end(), more.begin(), more.end());
        const Ending ending = server_test::run(words);
        EXPECT_EQ(ending.exit_code, 0) << ending.err;
        expect_silent(ending.out + ending.err, "inspect");
    }
    server.program().signal(SIGHUP);
    EXPECT_TRUE(eventually(
        [&] { return server.program().output().find("reloaded") != std::string::npos; }));
    server.program().signal(SIGTERM);
    const Ending ending = server.program().wait();
    EXPECT_EQ(ending.exit_code, 0);
    expect_silent(ending.out + ending.err, "the log");
    EXPECT_NE((ending.out + ending.err).find("started"), std::string::npos);
}

std::vector<std::string> talkative() {
    return {"--log-level", "trace", "--log-requests", "--threads", "1"};
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

class Secret : public testing::Test {
  protected:
    std::string at(std::uint16_t port) const {
        return "redis://:" + kSecret + "@127.0.0.1:" + std::to_string(port);
    }

    RedisServer redis_{RedisServerOptions{.password = kSecret}};
    RedisServer strict_{RedisServerOptions{.password = "other"}};
};

TEST_F(Secret, OfAFlagIsKept) {
    Server server(ServerOptions{.flags = with(talkative(), {"--origin", redis_.url()})});
    EXPECT_TRUE(
        eventually([&] { return server.get("/readyz").body.find("[]") != std::string::npos; }));
    expect_silent(server);
}

TEST_F(Secret, OfTheEnvironmentIsKept) {
    Server server(
        ServerOptions{.flags = talkative(), .environment = {"SLUICE_ORIGIN=" + redis_.url()}});
    EXPECT_TRUE(
        eventually([&] { return server.get("/readyz").body.find("[]") != std::string::npos; }));
    expect_silent(server);
}

TEST_F(Secret, OfTheFileIsKept) {
    Server server(
        ServerOptions{.flags = talkative(), .config = "origin = \"" + redis_.url() + "\"\n"});
    EXPECT_TRUE(
        eventually([&] { return server.get("/readyz").body.find("[]") != std::string::npos; }));
    server.rewrite_config("origin = \"" + at(1) + "\"\n");
    expect_silent(server);
}

TEST_F(Secret, ThatIsWrongIsNotLogged) {
    for (const std::string& url :
         {at(strict_.port()),
          "redis://" + kSecret + ":" + kSecret + "@127.0.0.1:" + std::to_string(strict_.port()),
          at(1)}) {
        Server server(ServerOptions{.flags = with(talkative(), {"--origin", url})});
        EXPECT_TRUE(eventually([&] {
            return server.program().output().find("origin_unavailable") != std::string::npos;
        }));
        expect_silent(server);
    }
}

TEST_F(Secret, ThatRedisRepeatsIsKept) {
    // It repeats a command that it does not know, with its words.
    RedisServer ignorant(RedisServerOptions{.flags = {"--rename-command", "AUTH", "LOGIN"}});
    ASSERT_NE(ignorant.command({"AUTH", kSecret}).text.find(kSecret), std::string::npos);
    Server server(ServerOptions{.flags = with(talkative(), {"--origin", at(ignorant.port())})});
    EXPECT_TRUE(eventually(
        [&] { return server.program().output().find("unknown command") != std::string::npos; }));
    expect_silent(server);
}

// None of them is a URL that can be used, and each holds the secret.
std::vector<std::string> malformed() {
    return {"redis://:" + kSecret + "@",
            "redis://:" + kSecret + "@127.0.0.1:port",
            "redis://:" + kSecret + "@127.0.0.1:99999",
            "redis://:" + kSecret + "@127.0.0.1/db",
            "redis://:" + kSecret + "@127.0.0.1/0?x=1",
            "redis://:" + kSecret + "%zz@127.0.0.1",
            "redis://:" + kSecret,
            "redis:/:" + kSecret + "@127.0.0.1",
            "redis::" + kSecret + "@127.0.0.1",
            "rediss//:" + kSecret + "@127.0.0.1",
            "REDIS://:" + kSecret + "@127.0.0.1",
            "http://:" + kSecret + "@127.0.0.1",
            "memory:" + kSecret,
            ":" + kSecret + "@127.0.0.1",
            "redis+socket://:" + kSecret + "@",
            "redis://127.0.0.1:6379/0#" + kSecret,
            kSecret};
}

TEST_F(Secret, OfAMalformedUrlIsKept) {
    const server_test::ScratchFolder folder;
    for (const std::string& url : malformed()) {
        const Ending flag = server_test::run(
            {"serve", "--listen", "127.0.0.1:0", "--log-level", "trace", "--origin", url});
        EXPECT_EQ(flag.exit_code, 2) << url;
        EXPECT_NE(flag.err.find("origin"), std::string::npos) << flag.err;
        expect_silent(flag.out + flag.err, "serve, by a flag,");

        const Ending environment =
            server_test::run({"serve", "--listen", "127.0.0.1:0"}, {"SLUICE_ORIGIN=" + url});
        EXPECT_EQ(environment.exit_code, 2) << url;
        EXPECT_NE(environment.err.find("origin"), std::string::npos) << environment.err;
        expect_silent(environment.out + environment.err, "serve, by the environment,");

        const std::string file = folder.write("sluice.toml", "origin = \"" + url + "\"\n");
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"serve", "--listen", "127.0.0.1:0", "--config", file},
              {"check-config", file}}) {
            const Ending ending = server_test::run(words);
            EXPECT_EQ(ending.exit_code, 2) << url;
            EXPECT_NE(ending.err.find("origin"), std::string::npos) << ending.err;
            expect_silent(ending.out + ending.err, words.front());
        }
    }
}

TEST_F(Secret, InAFileThatIsNoTomlIsKept) {
    const server_test::ScratchFolder folder;
    for (const std::string& text : {"origin = \"" + at(1),
                                    "origin = " + at(1) + "\n",
                                    "origin : \"" + at(1) + "\"\n",
                                    "origin = [\"" + at(1) + "\"]\n",
                                    "origin = \"" + at(1) + "\"\norigin = \"" + at(1) + "\"\n",
                                    "orign = \"" + at(1) + "\"\n",
                                    "origin = { url = \"" + at(1) + "\" }\n"}) {
        const std::string file = folder.write("sluice.toml", text);
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"serve", "--listen", "127.0.0.1:0", "--config", file},
              {"check-config", file}}) {
            const Ending ending = server_test::run(words);
            EXPECT_EQ(ending.exit_code, 2) << text;
            expect_silent(ending.out + ending.err, words.front());
        }
    }
}

TEST_F(Secret, IsNotPrintedByConfigShow) {
    const server_test::ScratchFolder folder;
    const std::string file = folder.write(
        "sluice.toml", "origin = \"redis://user:" + kSecret + "@redis.example:6380/3\"\n");
    const Ending ending = server_test::run({"config", "show", "--effective", "--config", file});
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_NE(ending.out.find("redis.example:6380"), std::string::npos) << ending.out;
    expect_silent(ending.out + ending.err, "config show");
    const Ending environment =
        server_test::run({"config", "show"}, {"SLUICE_ORIGIN=" + redis_.url()});
    EXPECT_EQ(environment.exit_code, 0) << environment.err;
    EXPECT_NE(environment.out.find("# SLUICE_ORIGIN"), std::string::npos) << environment.out;
    expect_silent(environment.out + environment.err, "config show, by the environment,");
}

}  // namespace
}  // namespace sluice::regional_test
