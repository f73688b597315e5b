// Scripts that were sent on connections that have ended, and their replay.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_PROXY_REPLAY_H_
#define SLUICE_TESTS_SUPPORT_REDIS_PROXY_REPLAY_H_

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "support/redis_proxy/faults.h"

namespace sluice::redis_test {

// The scripts that one connection has sent, with the commands that must precede them on another
// connection. Owned by one thread.
class SentCommands {
  public:
    struct Script {
        std::string command;
        std::string before;          // commands such as AUTH, which make a connection fit for it
        std::size_t before_replies;  // how many these are
    };

    void add(const std::string& command);

    const std::deque<Script>& scripts() const { return scripts_; }

    static constexpr std::size_t kMost = 64;

  private:
    std::string before_;
    std::size_t before_replies_ = 0;
    std::deque<Script> scripts_;  // the last ones, kMost at most
};

// The scripts of all connections that have ended. Owned by one thread.
class PastCommands {
  public:
    void add(const SentCommands& ended);

    bool empty() const { return scripts_.empty(); }
    std::size_t size() const { return scripts_.size(); }
    const SentCommands::Script& at(std::size_t index) const { return scripts_.at(index); }

    static constexpr std::size_t kMost = 512;

  private:
    std::deque<SentCommands::Script> scripts_;  // the last ones, kMost at most
};

// Sends a script after a delay, on a connection of its own, and drops the reply. Owned by the
// proxy's thread; its pending operations keep it alive.
class ReplayedCommand : public std::enable_shared_from_this<ReplayedCommand> {
  public:
    ReplayedCommand(boost::asio::io_context& loop,
                    const SentCommands::Script& script,
                    FaultInjector& injector);

    void start(const boost::asio::ip::tcp::endpoint& server);

  private:
    void connect(const boost::asio::ip::tcp::endpoint& server);
    void send();
    void read_replies();

    FaultInjector& injector_;
    boost::asio::steady_timer timer_;
    boost::asio::ip::tcp::socket socket_;
    const std::string bytes_;
    std::size_t missing_replies_;
    std::array<char, 4'096> chunk_{};
    std::string arrived_;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_PROXY_REPLAY_H_
