// Connecting to Redis: passwords, databases, TLS, unix sockets, and what is reported if it fails.
#include <string>

#include <gtest/gtest.h>

#include "support/canned_server.h"
#include "support/origin_client.h"
#include "support/process.h"
#include "support/redis_server.h"
#include "support/server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

std::string at(std::uint16_t port) {
    return "127.0.0.1:" + std::to_string(port);
}

void expect_works(const std::string& url, const RedisOptions& options = {}) {
    OriginClient client(url, options);
    ASSERT_TRUE(client.becomes_available())
        << (client.failures.empty() ? "" : client.failures.back());
    EXPECT_TRUE(client.sync(cell_of("alice"), 1).has_value());
}

// It stays unavailable, for a reason that holds `part`, begins with the URL and holds no secret.
void expect_unavailable(const std::string& url,
                        const std::string& part,
                        const RedisOptions& options = {}) {
    OriginClient client(url, options);
    ASSERT_TRUE(client.becomes_unavailable());
    client.run_for(200ms);
    EXPECT_FALSE(client.is_available);
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    for (const std::string& why : client.failures) {
        EXPECT_TRUE(why.starts_with(parse_redis_url(url)->shown() + ": ")) << why;
        EXPECT_EQ(why.find("secret"), std::string::npos) << why;
    }
    EXPECT_NE(client.failures.back().find(part), std::string::npos) << client.failures.back();
}

TEST(RedisAccess, LogsInWithAPassword) {
    RedisServer server({.password = "secret@/:"});
    expect_works("redis://:secret%40%2F%3A@" + at(server.port()));
    expect_unavailable("redis://:secret2@" + at(server.port()), "WRONGPASS");
    expect_unavailable("redis://" + at(server.port()), "NOAUTH");
}

TEST(RedisAccess, LogsInAsAUser) {
    RedisServer server({.acl = "alice on >secret ~sluice:2:* +@all"});
    expect_works("redis://alice:secret@" + at(server.port()));
    expect_unavailable("redis://alice:secret2@" + at(server.port()), "WRONGPASS");
}

TEST(RedisAccess, ReportsThatTheServerHasNoPassword) {
    RedisServer server;
    expect_unavailable("redis://:secret@" + at(server.port()), "without any password configured");
}

TEST(RedisAccess, ReportsWhichPermissionIsMissing) {
    RedisServer server({.acl = "alice on >secret ~sluice:2:* +@all -evalsha"});
    expect_unavailable("redis://alice:secret@" + at(server.port()), "NOPERM");
    RedisServer elsewhere({.acl = "alice on >secret ~other:* +@all"});
    expect_unavailable("redis://alice:secret@" + at(elsewhere.port()), "NOPERM");
    RedisServer reading({.acl = "alice on >secret ~sluice:2:* +@all -@write"});
    expect_unavailable("redis://alice:secret@" + at(reading.port()), "can't run this command");
}

TEST(RedisAccess, WorksWithoutInfo) {
    RedisServer server({.acl = "alice on >secret ~sluice:2:* +@all -info"});
    OriginClient client("redis://alice:secret@" + at(server.port()));
    ASSERT_TRUE(client.becomes_available());
    EXPECT_TRUE(client.sync(cell_of("alice"), 1).has_value());
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(client.becomes_unavailable());
    ASSERT_TRUE(client.becomes_available());
    // This could have been a restart.
    EXPECT_EQ(client.intact, (std::vector<bool>{true, false}));
}

TEST(RedisAccess, KeepsDatabasesApart) {
    RedisServer server;
    expect_works(server.url() + "/3");
    EXPECT_EQ(server.command({"DBSIZE"}).number, 0);
    server.command({"SELECT", "3"});
    EXPECT_EQ(server.command({"DBSIZE"}).number, 2);  // the cell and the marker
    expect_unavailable(server.url() + "/99", "database 99");
}

TEST(RedisAccess, WorksOverAUnixSocket) {
    RedisServer server;
    expect_works("redis+socket://" + server.socket_path());
    expect_works("redis+socket://" + server.socket_path() + "?db=2");
    expect_unavailable("redis+socket:///tmp/sluice-is-not-there.sock", "no such unix socket");
}

TEST(RedisAccess, ReportsThatNothingListens) {
    expect_unavailable("redis://" + at(server_test::free_port()), "connection refused");
    expect_unavailable("redis://sluice-is-not-there.invalid", "host name is not found");
}

TEST(RedisAccess, WorksOverTls) {
    RedisServer server({.tls = true});
    const RedisOptions trusting = {.tls = {.ca = server.certificate().cert}};
    const std::string port = std::to_string(server.tls_port());
    expect_works("rediss://127.0.0.1:" + port, trusting);
    expect_works("rediss://localhost:" + port, trusting);
    expect_unavailable("rediss://127.0.0.1:" + port, "self-signed certificate");
    expect_unavailable("rediss://127.0.0.1:" + std::to_string(server.port()),
                       "no TLS connection within",
                       trusting);
    expect_unavailable("redis://127.0.0.1:" + port, "closed the connection", trusting);
}

TEST(RedisAccess, ACertificateMustNameTheHost) {
    RedisServer server({.tls = true, .tls_name = "elsewhere"});
    const RedisOptions trusting = {.tls = {.ca = server.certificate().cert}};
    expect_unavailable(
        "rediss://localhost:" + std::to_string(server.tls_port()), "hostname mismatch", trusting);
}

TEST(RedisAccess, PresentsAClientCertificate) {
    RedisServer server({.tls = true, .flags = {"--tls-auth-clients", "yes"}});
    const auto& own = server.certificate();
    const std::string url = "rediss://127.0.0.1:" + std::to_string(server.tls_port());
    expect_works(url, {.tls = {.ca = own.cert, .cert = own.cert, .key = own.key}});
    OriginClient client(url, {.tls = {.ca = own.cert}});
    ASSERT_TRUE(client.becomes_unavailable());
}

TEST(RedisAccess, RejectsUnreadableFilesAtOnce) {
    boost::asio::io_context loop;
    const server_test::ScratchFolder scratch;
    const std::string nonsense = scratch.write("nonsense.pem", "nonsense");
    const auto error_of = [&](RedisTlsFiles files) {
        RedisOptions options{.url = *parse_redis_url("rediss://:secret@localhost")};
        options.tls = std::move(files);
        options.node = "node";
        const auto origin = open_redis_origin(loop, options);
        return origin ? "" : origin.error().message;
    };
    EXPECT_NE(error_of({.ca = "/not/there"}).find("/not/there"), std::string::npos);
    EXPECT_NE(error_of({.ca = nonsense}).find(nonsense), std::string::npos);
    EXPECT_NE(error_of({.cert = nonsense, .key = nonsense}).find(nonsense), std::string::npos);
    EXPECT_NE(error_of({.cert = nonsense}).find("both or none"), std::string::npos);
}

TEST(RedisAccess, ReportsAServerThatDoesNotSpeakRedis) {
    const CannedServer web("HTTP/1.1 400 Bad Request\r\n\r\n");
    expect_unavailable("redis://" + web.address(), "does not speak the Redis protocol");
}

TEST(RedisAccess, ReportsUnexpectedReplies) {
    const std::string echo = "*1\r\n$4\r\nINFO\r\n";
    const CannedServer server(echo + echo + echo + echo);
    expect_unavailable("redis://" + server.address(), "is it Redis?");
}

TEST(RedisAccess, SurvivesMalformedReplies) {
    for (const std::string says : {"*2147483647\r\n",
                                   "*-7\r\n",
                                   "$99999999999\r\n",
                                   ":1\r\n:2\r\n:3\r\n:4\r\n",
                                   "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
                                   "-\r\n-\r\n",
                                   "$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
                                   "\r\n"}) {
        const CannedServer server(says);
        OriginClient client("redis://" + server.address(), {.timeout = 100ms});
        client.run_for(300ms);
        EXPECT_FALSE(client.read(cell_of("alice")).has_value()) << says;
    }
}

}  // namespace
}  // namespace sluice::redis_test
