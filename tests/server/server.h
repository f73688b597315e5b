// `sluice serve`, started for a test and ready for requests.
#ifndef SLUICE_TESTS_SERVER_SERVER_H_
#define SLUICE_TESTS_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer.h"
#include "server/connection.h"
#include "server/program.h"

namespace sluice::server_test {

struct ServerOptions {
    std::vector<std::string> flags = {};
    std::string config = {};   // the text of its file, which is passed where this isn't empty
    std::string trusted = {};  // the certificate that it serves with, if it speaks TLS
    std::vector<std::string> environment = {};
    Streams streams = {};
};

// Owned by one thread, save that any thread may connect.
class Server {
  public:
    // Throws, with the program's output, if it does not become ready.
    explicit Server(ServerOptions options = {});

    std::uint16_t port() const { return port_; }
    std::uint16_t admin_port() const { return admin_port_; }
    std::string url() const;
    Program& program() { return *program_; }
    Connection connect() const;
    Connection connect_to_admin() const;

    // One POST on a connection of its own.
    Answer ask(std::string_view path, std::string_view body, const Fields& fields = {}) const;

    // One GET on a connection of its own; /metrics is asked of the admin listener.
    Answer get(std::string_view path) const;

    // Replaces the configuration file, without a word to the program.
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

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_SERVER_H_
