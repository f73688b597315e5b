#include "redis/proxy/replayed_command.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "redis/proxy/resp_frame.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using boost::system::error_code;

ReplayedCommand::ReplayedCommand(asio::io_context& loop,
                                 const SentCommands::Script& script,
                                 Dice& dice)
    : dice_(dice),
      timer_(loop),
      socket_(loop),
      bytes_(script.before + script.command),
      missing_replies_(script.before_replies + 1) {}

void ReplayedCommand::start(const asio::ip::tcp::endpoint& server) {
    timer_.expires_after(dice_.delay());
    timer_.async_wait([this, self = shared_from_this(), server](error_code) {
        if (dice_.allows(&Faults::replay_command)) connect(server);
    });
}

void ReplayedCommand::connect(const asio::ip::tcp::endpoint& server) {
    socket_.async_connect(server, [this, self = shared_from_this()](error_code failed) {
        if (!failed) send();
    });
}

void ReplayedCommand::send() {
    asio::async_write(socket_,
                      asio::buffer(bytes_),
                      [this, self = shared_from_this()](error_code failed, std::size_t) {
                          if (!failed) read_replies();
                      });
}

void ReplayedCommand::read_replies() {
    socket_.async_read_some(asio::buffer(chunk_),
                            [this, self = shared_from_this()](error_code failed, std::size_t size) {
                                if (failed) return;
                                arrived_.append(chunk_.data(), size);
                                while (take_frame(arrived_)) {
                                    if (--missing_replies_ == 0)
                                        return dice_.count(&FaultCounts::replay_command);
                                }
                                read_replies();
                            });
}

}  // namespace sluice::redis_test
