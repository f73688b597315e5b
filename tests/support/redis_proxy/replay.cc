#include "support/redis_proxy/replay.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "support/redis_proxy/resp_frame.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using boost::system::error_code;

void SentCommands::add(const std::string& command) {
    const std::string name = command_name(command);
    if (name == "AUTH" || name == "SELECT") {
        before_ += command;
        ++before_replies_;
    }
    if (name != "EVAL" && name != "EVALSHA") return;
    scripts_.push_back({.command = command, .before = before_, .before_replies = before_replies_});
    if (scripts_.size() > kMost) scripts_.pop_front();
}

void PastCommands::add(const SentCommands& ended) {
    scripts_.insert(scripts_.end(), ended.scripts().begin(), ended.scripts().end());
    while (scripts_.size() > kMost)
        scripts_.pop_front();
}

ReplayedCommand::ReplayedCommand(asio::io_context& loop,
                                 const SentCommands::Script& script,
                                 FaultInjector& injector)
    : injector_(injector),
      timer_(loop),
      socket_(loop),
      bytes_(script.before + script.command),
      missing_replies_(script.before_replies + 1) {}

void ReplayedCommand::start(const asio::ip::tcp::endpoint& server) {
    timer_.expires_after(injector_.delay());
    timer_.async_wait([this, self = shared_from_this(), server](error_code) {
        if (injector_.allows(&Faults::replay_command)) connect(server);
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
                                        return injector_.count(&FaultCounts::replay_command);
                                }
                                read_replies();
                            });
}

}  // namespace sluice::redis_test
