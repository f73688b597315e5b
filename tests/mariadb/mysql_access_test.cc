// Connections to a MariaDB: passwords, privileges, TLS, Unix sockets, and their error messages.
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mysql/mysql_connection.h"
#include "mysql/mysql_schema.h"
#include "support/mariadb_server.h"
#include "support/server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

using namespace std::chrono_literals;
using global_test::failure_of;
using global_test::import_all;
using global_test::publish;
using Kind = StoreFailure::Kind;

MysqlUrl parsed(const std::string& text) {
    return parse_mysql_url(text).value();
}

void expect_works(const MysqlUrl& url) {
    MysqlGlobalStore store(patient(url));
    publish(store, "x", 1);
    EXPECT_EQ(import_all(store).of("x").at("eu"), 1U);
}

// Expects a failure whose message contains `part`, begins with the address and holds no secret.
void expect_fails(const MysqlUrl& url, Kind kind, const std::string& part) {
    MysqlGlobalStore store(
        {.server = {.url = url, .connect_timeout = 2s, .answer_timeout = 2s}, .region = "eu"});
    const StoreFailure failure = failure_of(store);
    EXPECT_EQ(failure.kind, kind) << failure.why;
    EXPECT_TRUE(failure.why.starts_with(url.shown() + ": ")) << failure.why;
    EXPECT_NE(failure.why.find(part), std::string::npos) << failure.why;
    EXPECT_EQ(failure.why.find("secret"), std::string::npos) << failure.why;
}

class MysqlAccess : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = new MariadbServer; }
    static void TearDownTestSuite() {
        delete server_;
        server_ = nullptr;
    }
    void run(const MysqlUrl& url, const std::string& sql) {
        server_->run("USE " + url.database);
        server_->run(sql);
    }

    static MariadbServer* server_;
};

MariadbServer* MysqlAccess::server_ = nullptr;

TEST_F(MysqlAccess, LogsInWithAPassword) {
    const MysqlUrl url = server_->make_store();
    expect_works(url);
    MysqlUrl wrong = url;
    wrong.password = "secret2";
    expect_fails(wrong, Kind::kRefused, "refused the user or the password");
    wrong.password = "";
    expect_fails(wrong, Kind::kRefused, "refused the user or the password");
}

TEST_F(MysqlAccess, UsesAUnixSocket) {
    const MysqlUrl url = server_->make_store();
    expect_works(parsed("mysql://alice:secret%40%2F%3A%25@/" + url.database +
                        "?socket=" + server_->socket_path()));
    expect_fails(parsed("mysql://alice:secret@/" + url.database + "?socket=/nowhere/s"),
                 Kind::kLost,
                 "nothing answers there");
}

TEST_F(MysqlAccess, ConnectsToLocalhostOverTcp) {
    MysqlUrl url = server_->make_store();
    url.host = "localhost";
    expect_works(url);
}

TEST_F(MysqlAccess, ReportsAMissingDatabase) {
    expect_fails(server_->url("sluice_missing"), Kind::kRefused, "CREATE DATABASE");
    expect_fails(server_->url("mysql"), Kind::kRefused, "GRANT");
}

TEST_F(MysqlAccess, NamesTheCommandThatCreatesTheTables) {
    const MysqlUrl url = server_->url(server_->make_database());
    expect_fails(url, Kind::kRefused, "run: sluice migrate --global " + url.shown());
}

TEST_F(MysqlAccess, RejectsAnOlderSchema) {
    const MysqlUrl url = server_->make_store();
    for (std::int64_t version = 0; version < kMysqlSchemaVersion; ++version) {
        run(url, "UPDATE ratelimit_schema SET version = " + std::to_string(version));
        expect_fails(url, Kind::kRefused, "run: sluice migrate --global " + url.shown());
    }
}

TEST_F(MysqlAccess, RejectsANewerSchema) {
    const MysqlUrl url = server_->make_store();
    run(url, "UPDATE ratelimit_schema SET version = 99");
    expect_fails(url, Kind::kRefused, "version 99, and this program is older than they are");
}

TEST_F(MysqlAccess, ChecksTheSchemaAgainAfterItWasRejected) {
    const MysqlUrl url = server_->make_store();
    run(url, "UPDATE ratelimit_schema SET version = 99");
    MysqlGlobalStore store(patient(url));
    EXPECT_EQ(failure_of(store).kind, Kind::kRefused);
    run(url, "UPDATE ratelimit_schema SET version = " + std::to_string(kMysqlSchemaVersion));
    publish(store, "x", 1);
}

TEST_F(MysqlAccess, RejectsASchemaWithAMissingTable) {
    const MysqlUrl url = server_->make_store();
    MysqlGlobalStore store(patient(url));
    publish(store, "x", 1);
    run(url, "DROP TABLE ratelimit_window_counts");
    EXPECT_EQ(failure_of(store).kind, Kind::kRefused);
}

TEST_F(MysqlAccess, ReportsAMissingPrivilege) {
    const MysqlUrl url = server_->make_store();
    server_->run("CREATE USER reader@'%' IDENTIFIED BY 'secret'");
    server_->run("GRANT SELECT ON " + url.database + ".* TO reader@'%'");
    MysqlUrl reader = url;
    reader.user = "reader";
    reader.password = "secret";
    expect_fails(reader, Kind::kRefused, "the user lacks a right");
}

TEST_F(MysqlAccess, ReadsFromAReadOnlyServerAndReportsRefusedWrites) {
    const MysqlUrl url = server_->make_store();
    MysqlGlobalStore store(patient(url));
    publish(store, "x", 1);
    server_->run("SET GLOBAL read_only = 1");
    expect_fails(url, Kind::kRefused, "it is read-only");
    EXPECT_EQ(import_all(store).of("x").at("eu"), 1U);
    server_->run("SET GLOBAL read_only = 0");
    publish(store, "x", 2);
}

TEST_F(MysqlAccess, IsLostIfNothingListens) {
    MysqlUrl url = server_->url("sluice_x");
    url.port = server_test::free_port();
    expect_fails(url, Kind::kLost, "nothing answers there");
    url.host = "nowhere.invalid";
    MysqlGlobalStore store({.server = {.url = url}, .region = "eu"});
    EXPECT_EQ(failure_of(store).kind, Kind::kLost);
}

TEST_F(MysqlAccess, IsLostIfTheServerHasTooManyConnections) {
    const MysqlUrl url = server_->make_store();
    const std::int64_t usual = server_->number("SELECT @@max_connections");
    server_->run("SET GLOBAL max_connections = 10");
    std::vector<std::unique_ptr<MysqlConnection>> others;
    for (int i = 0; i < 20; ++i) {
        others.push_back(std::make_unique<MysqlConnection>(MysqlOptions{.url = url}));
        if (others.back()->connect()) break;
    }
    expect_fails(url, Kind::kLost, "takes no more connections");
    server_->run("SET GLOBAL max_connections = " + std::to_string(usual));
}

TEST_F(MysqlAccess, ReportsBusyWhileAnotherSessionLocksTheRow) {
    const MysqlUrl url = server_->make_store();
    MysqlGlobalStore store({.server = {.url = url, .lock_timeout = 1s}, .region = "eu"});
    publish(store, "x", 1);
    MysqlConnection other({.url = url});
    ASSERT_FALSE(other.connect());
    (void)other.run("START TRANSACTION");
    (void)other.run("UPDATE ratelimit_window_counts SET count = 2");
    const StoreFailure failure = failure_of(store);
    EXPECT_EQ(failure.kind, Kind::kBusy);
    EXPECT_NE(failure.why.find("held a lock"), std::string::npos) << failure.why;
    EXPECT_EQ(import_all(store).of("x").at("eu"), 1U) << "readers wait for no lock";
    (void)other.run("ROLLBACK");
    publish(store, "x", 3);
}

TEST_F(MysqlAccess, RequiresTlsIfTheUrlDoes) {
    MysqlUrl url = server_->make_store();
    url.tls = MysqlTls::kRequired;
    expect_fails(url, Kind::kRefused, "TLS failed");
    url.tls = MysqlTls::kVerify;
    expect_fails(url, Kind::kRefused, "TLS failed");
}

// What a server that is not MySQL does with a connection.
class Impostor {
  public:
    explicit Impostor(std::string greeting) : greeting_(std::move(greeting)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size);
        ::listen(listener_, 8);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        thread_ = std::thread([this] { greet_all(); });
    }
    ~Impostor() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    Impostor(const Impostor&) = delete;
    Impostor& operator=(const Impostor&) = delete;

    std::uint16_t port = 0;

  private:
    void greet_all() {
        for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
            (void)!::send(peer, greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
            ::close(peer);
        }
    }

    const std::string greeting_;
    const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::thread thread_;
};

TEST_F(MysqlAccess, FailsAtAServerThatIsNotMysql) {
    using namespace std::string_literals;
    for (const std::string& greeting : {""s,
                                        "HTTP/1.1 400 Bad Request\r\n\r\n"s,
                                        "SSH-2.0-OpenSSH_9.2\r\n"s,
                                        "\x01\0\0\0\x09"s,
                                        "\x04\0\0\0zzzz"s,
                                        std::string(100, '\0')}) {
        Impostor impostor(greeting);
        MysqlUrl url = server_->url("sluice_x");
        url.port = impostor.port;
        MysqlGlobalStore store(
            {.server = {.url = url, .connect_timeout = 2s, .answer_timeout = 2s}, .region = "eu"});
        const StoreFailure failure = failure_of(store);
        EXPECT_NE(failure.kind, Kind::kBusy);
        EXPECT_NE(failure.why.find("; check "), std::string::npos) << failure.why;
        EXPECT_EQ(failure.why.find("secret"), std::string::npos) << failure.why;
        EXPECT_TRUE(failure.why.starts_with(url.shown() + ": ")) << failure.why;
    }
}

TEST(MysqlTlsAccess, EncryptsAndVerifiesTheHostName) {
    MariadbServer server({.tls = true, .tls_name = "db.example"});
    MysqlUrl url = server.make_store();
    expect_works(url);
    url.tls = MysqlTls::kRequired;
    expect_works(url);
    {
        MysqlConnection connection({.url = url});
        ASSERT_FALSE(connection.connect());
        std::string cipher;
        const auto take = [&](const MysqlRow& row) { cipher = row.bytes(1); };
        ASSERT_FALSE(connection.query("SHOW STATUS LIKE 'Ssl_cipher'", take));
        EXPECT_NE(cipher, "");
    }
    url.tls = MysqlTls::kVerify;
    url.ca = server.certificate().cert;
    expect_works(url);
    url.host = "localhost";
    expect_fails(url, Kind::kRefused, "the certificate names the host");
    url.host = "127.0.0.1";
    url.ca = "";
    expect_fails(url, Kind::kRefused, "TLS failed");
    url.ca = "/nowhere.pem";
    expect_fails(url, Kind::kRefused, "TLS failed");
}

TEST(MysqlTlsAccess, ReportsAServerThatRequiresTls) {
    MariadbServer server({.tls = true});
    MysqlUrl url = server.make_store();
    server.run("SET GLOBAL require_secure_transport = 1");
    expect_fails(url, Kind::kRefused, "or wants TLS");
    url.tls = MysqlTls::kRequired;
    expect_works(url);
}

// Server defaults that an administrator may have set for other programs.
TEST(MysqlDefaults, OfTheServerHaveNoEffect) {
    MariadbServer server({.flags = {"--sql-mode=SIMULTANEOUS_ASSIGNMENT,ANSI,NO_BACKSLASH_ESCAPES",
                                    "--default-time-zone=+05:30",
                                    "--autocommit=0",
                                    "--character-set-server=latin1",
                                    "--transaction-isolation=SERIALIZABLE"}});
    const MysqlUrl url = server.make_store();
    server.run("SET autocommit = 1, time_zone = '+00:00'");
    server.run("USE " + url.database);
    MysqlGlobalStore store(patient(url));
    const std::int64_t before = server.number("SELECT " + std::string(kSqlNow));
    publish(store, "x", 5);
    const auto newest = import_all(store).newest;
    ASSERT_TRUE(newest);
    EXPECT_GE(newest->time_since_epoch().count(), before);
    EXPECT_LE(newest->time_since_epoch().count(), server.number("SELECT " + std::string(kSqlNow)));
    server.run("UPDATE ratelimit_window_counts SET updated_at = 7");
    publish(store, "x", 5);
    EXPECT_EQ(server.number("SELECT updated_at FROM ratelimit_window_counts"), 7);
    publish(store, "x", 6);
    EXPECT_GT(server.number("SELECT updated_at FROM ratelimit_window_counts"), 7);
    const std::vector<RegionCount> too_long = {{global_test::cell_of(std::string(257, 'x')), 1}};
    const auto refused = global_test::try_publish(store, too_long);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->kind, Kind::kRows) << "no name is cut off: it would be another one's";
}

}  // namespace
}  // namespace sluice::mariadb_test
