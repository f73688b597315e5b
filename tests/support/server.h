// `sluice serve` as a process that is ready for requests, with its tokens and certificates.
#ifndef SLUICE_TESTS_SUPPORT_SERVER_H_
#define SLUICE_TESTS_SUPPORT_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/http_answer.h"
#include "support/http_connection.h"
#include "support/process.h"

namespace sluice::server_test {

struct ServerOptions {
    std::vector<std::string> flags = {};
    std::string config = {};   // text of its configuration file; empty: none
    std::string trusted = {};  // its certificate, if it uses TLS
    std::vector<std::string> environment = {};
    Streams streams = {};
};

// Owned by one thread, but any thread may connect.
class Server {
  public:
    // Throws, with the program's output, if it does not become ready.
    explicit Server(ServerOptions options = {});

    std::uint16_t port() const { return port_; }
    std::uint16_t admin_port() const { return admin_port_; }
    std::string url() const;
    Program& program() { return *program_; }
    Connection connect() const;
    // Waits until it takes no new connections. Returns false after kTimeout.
    bool await_closed() const;
    Connection connect_to_admin() const;

    // One POST on a connection of its own.
    Answer ask(std::string_view path, std::string_view body, const Fields& fields = {}) const;

    // One GET on a connection of its own; /metrics goes to the admin listener.
    Answer get(std::string_view path) const;

    // Replaces the configuration file without a signal to the program.
    void rewrite_config(std::string_view text);

  private:
    bool start();
    bool becomes_ready();
    Connection connect(std::uint16_t port) const;

    ServerOptions options_;
    ScratchFolder scratch_;
    std::uint16_t port_ = 0;
    std::uint16_t admin_port_ = 0;
    std::unique_ptr<Program> program_;
};

// The bytes of a POST with a JSON body. A field given here replaces the one that would be sent
// otherwise.
std::string post(std::string_view path, std::string_view body, const Fields& fields = {});

// The bytes of a GET.
std::string get_request(std::string_view path);

// A port on which nothing listens at the moment.
std::uint16_t free_port();

struct TokenEntry {
    std::string token;
    std::string workspace = "default";
    std::string namespaces = R"(["*"])";
    std::string permissions = R"(["limit", "read_override", "set_override", "delete_override"])";
};

// The lines of the file for one token.
std::string to_toml(const TokenEntry& entry);

// The field that presents a token.
Fields bearing(std::string_view token);

struct Certificate {
    std::string cert;  // the paths of two PEM files
    std::string key;
};

// Makes a key and a certificate signed with it, for `name` and 127.0.0.1, in the files <file>.crt
// and <file>.key.
Certificate make_certificate(const ScratchFolder& folder,
                             const std::string& file,
                             const std::string& name);

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SUPPORT_SERVER_H_
