// A real nats-server, started for a test.
#ifndef SLUICE_TESTS_SUPPORT_NATS_SERVER_H_
#define SLUICE_TESTS_SUPPORT_NATS_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "support/process.h"
#include "support/server.h"

namespace sluice::nats_test {

struct NatsServerOptions {
    std::string config = {};      // lines of its configuration, as in "authorization { ... }"
    bool tls = false;             // with a certificate for tls_name and 127.0.0.1
    bool verify_clients = false;  // clients need a certificate that the server's own has signed
    std::string tls_name = "localhost";
    bool starts = true;  // false: only the port is chosen
};

// One server on a free port of 127.0.0.1. SIGKILL ends it with this object at the latest. Owned by
// one thread.
class NatsServer {
  public:
    // Started and ready; throws, with the server's log, if it fails to start.
    explicit NatsServer(NatsServerOptions options = {});
    NatsServer(const NatsServer&) = delete;
    NatsServer& operator=(const NatsServer&) = delete;

    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    // nats://[login@]127.0.0.1:PORT, or tls://
    std::string url(const std::string& login = "") const;
    // The certificate that it serves TLS with, which is also the one that signed it.
    const server_test::Certificate& certificate() const { return certificate_; }
    const server_test::ScratchFolder& scratch() const { return *scratch_; }

    // Starts it again after kill(), on the same port, and waits until it is ready.
    void start();
    // Ends it by SIGKILL, as a crash would.
    void kill() { process_.kill(); }
    // Stops it by SIGSTOP and waits until it stands still. Connections are accepted by the kernel,
    // and nothing is read or answered.
    void pause() { process_.pause(); }
    void resume() { process_.resume(); }

  private:
    bool becomes_ready();
    std::string config() const;

    const NatsServerOptions options_;
    const std::unique_ptr<server_test::ScratchFolder> scratch_;
    server_test::Certificate certificate_;
    std::uint16_t port_ = 0;
    int starts_ = 0;
    server_test::PeerProcess process_;
};

// A port of 127.0.0.1 on which nothing listens, with its address.
std::string dead_address();

}  // namespace sluice::nats_test

#endif  // SLUICE_TESTS_SUPPORT_NATS_SERVER_H_
