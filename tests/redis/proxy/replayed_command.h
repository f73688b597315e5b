// A command of the past that reaches the server once more.
#ifndef SLUICE_TESTS_REDIS_PROXY_REPLAYED_COMMAND_H_
#define SLUICE_TESTS_REDIS_PROXY_REPLAYED_COMMAND_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "redis/proxy/dice.h"
#include "redis/proxy/past_commands.h"

namespace sluice::redis_test {

// Sends a script after a delay, on a connection of its own, and drops the reply. Owned by the
// proxy's thread; what it waits for keeps it alive.
class ReplayedCommand : public std::enable_shared_from_this<ReplayedCommand> {
  public:
    ReplayedCommand(boost::asio::io_context& loop, const SentCommands::Script& script, Dice& dice);

    void start(const boost::asio::ip::tcp::endpoint& server);

  private:
    void connect(const boost::asio::ip::tcp::endpoint& server);
    void send();
    void read_replies();

    Dice& dice_;
    boost::asio::steady_timer timer_;
    boost::asio::ip::tcp::socket socket_;
    const std::string bytes_;
    std::size_t missing_replies_;
    std::array<char, 4'096> chunk_{};
    std::string arrived_;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_PROXY_REPLAYED_COMMAND_H_
