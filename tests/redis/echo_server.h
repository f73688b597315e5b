// The smallest server that speaks Redis' protocol.
#ifndef SLUICE_TESTS_REDIS_ECHO_SERVER_H_
#define SLUICE_TESTS_REDIS_ECHO_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/mutex.h"

namespace sluice::redis_test {

// EchoServer answers each command with the command itself, as one bulk string, and records what
// it received. Thread-safe.
class EchoServer {
  public:
    // A whole command, and which connection it came by, counted from 0.
    struct Received {
        std::size_t connection;
        std::string command;
    };

    EchoServer();
    ~EchoServer();
    EchoServer(const EchoServer&) = delete;
    EchoServer& operator=(const EchoServer&) = delete;

    std::uint16_t port() const { return port_; }
    std::vector<Received> received() const;
    std::vector<std::string> commands() const;
    // How many connections have ended.
    std::size_t ended() const;

    static std::string reply_to(const std::string& command);

  private:
    using Socket = boost::asio::ip::tcp::socket;

    void serve();
    void answer(Socket& client, std::size_t number);

    boost::asio::io_context loop_;
    boost::asio::ip::tcp::acceptor acceptor_;
    const std::uint16_t port_;
    mutable Mutex mutex_;
    bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
    std::size_t ended_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::vector<Received> received_ SLUICE_GUARDED_BY(mutex_);
    std::thread thread_;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_ECHO_SERVER_H_
