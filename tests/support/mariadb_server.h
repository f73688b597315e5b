// A real MariaDB server, started for a test.
#ifndef SLUICE_TESTS_SUPPORT_MARIADB_SERVER_H_
#define SLUICE_TESTS_SUPPORT_MARIADB_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mysql/mysql_connection.h"
#include "support/process.h"
#include "support/server.h"
#include "url/mysql_url.h"

namespace sluice::mariadb_test {

struct MariadbServerOptions {
    bool tls = false;  // with a certificate for tls_name and 127.0.0.1
    std::string tls_name = "localhost";
    std::vector<std::string> flags = {};  // appended, as in {"--max-connections=5"}
};

// One server on a free port of 127.0.0.1 and on a unix socket, with its data in a folder of its
// own. SIGKILL ends it with this object at the latest. Owned by one thread.
class MariadbServer {
  public:
    // Who may do everything in databases whose names begin with "sluice".
    static constexpr const char* kUser = "alice";
    static constexpr const char* kPassword = "secret@/:%";

    // Started and ready; throws, with the server's log, if it does not become so.
    explicit MariadbServer(MariadbServerOptions options = {});
    ~MariadbServer();
    MariadbServer(const MariadbServer&) = delete;
    MariadbServer& operator=(const MariadbServer&) = delete;

    std::uint16_t port() const { return port_; }
    std::string socket_path() const { return scratch_->path("s"); }
    // The certificate that it serves TLS with, which is also the one that signed it.
    const server_test::Certificate& certificate() const { return certificate_; }

    // An empty database with a new name.
    std::string make_database();
    // How kUser gets there, as a person writes it.
    std::string url_text(const std::string& database) const;
    MysqlUrl url(const std::string& database) const;
    // A new database with the tables of Sluice.
    MysqlUrl make_store();

    // Starts it again after kill(), on the same port and with what is on its disk.
    void start();
    // Ends it by SIGKILL, as a crash would.
    void kill();
    // As after the loss of its disk: it has no database, and kUser.
    void restart_empty();
    // Stops it by SIGSTOP and waits until it stands still.
    void pause() { process_.pause(); }
    void resume() { process_.resume(); }

    // As its administrator; each throws if it fails.
    void run(const std::string& sql);
    std::int64_t number(const std::string& sql);
    std::vector<std::vector<std::string>> rows(const std::string& sql);

  private:
    void copy_template() const;
    bool becomes_ready();
    void add_user();
    bool connect();
    std::vector<std::string> arguments() const;

    MariadbServerOptions options_;
    std::unique_ptr<server_test::ScratchFolder> scratch_;
    server_test::Certificate certificate_;
    std::uint16_t port_ = 0;
    server_test::PeerProcess process_;
    int databases_ = 0;
    std::unique_ptr<MysqlConnection> admin_;
};

}  // namespace sluice::mariadb_test

#endif  // SLUICE_TESTS_SUPPORT_MARIADB_SERVER_H_
