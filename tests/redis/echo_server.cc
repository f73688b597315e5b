#include "redis/echo_server.h"

#include <array>
#include <list>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "support/redis_proxy/resp_frame.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using boost::system::error_code;

EchoServer::EchoServer()
    : acceptor_(loop_, {asio::ip::address_v4::loopback(), 0}),
      port_(acceptor_.local_endpoint().port()) {
    thread_ = std::thread([this] { serve(); });
}

EchoServer::~EchoServer() {
    {
        const MutexLock lock(mutex_);
        stopped_ = true;
    }
    // Wakes the thread that accepts.
    Socket last(loop_);
    error_code ignored;
    last.connect({asio::ip::address_v4::loopback(), port_}, ignored);
    thread_.join();
}

std::vector<EchoServer::Received> EchoServer::received() const {
    const MutexLock lock(mutex_);
    return received_;
}

std::vector<std::string> EchoServer::commands() const {
    std::vector<std::string> commands;
    for (const Received& one : received())
        commands.push_back(one.command);
    return commands;
}

std::size_t EchoServer::ended() const {
    const MutexLock lock(mutex_);
    return ended_;
}

std::string EchoServer::reply_to(const std::string& command) {
    return "$" + std::to_string(command.size()) + "\r\n" + command + "\r\n";
}

void EchoServer::serve() {
    // Connections stay open at most as long as the other side, so these end.
    std::list<std::thread> connections;
    std::list<Socket> sockets;
    while (true) {
        Socket& client = sockets.emplace_back(acceptor_.accept());
        {
            const MutexLock lock(mutex_);
            if (stopped_) break;
        }
        connections.emplace_back(
            [this, &client, number = connections.size()] { answer(client, number); });
    }
    for (std::thread& connection : connections)
        connection.join();
}

void EchoServer::answer(Socket& client, std::size_t number) {
    std::array<char, 4'096> chunk{};
    std::string arrived;
    error_code failed;
    client.set_option(asio::ip::tcp::no_delay(true), failed);
    while (!failed) {
        const std::size_t size = client.read_some(asio::buffer(chunk), failed);
        arrived.append(chunk.data(), size);
        while (auto command = take_frame(arrived)) {
            {
                const MutexLock lock(mutex_);
                received_.push_back({number, *command});
            }
            error_code ignored;
            asio::write(client, asio::buffer(reply_to(*command)), ignored);
        }
    }
    client.close(failed);
    const MutexLock lock(mutex_);
    ++ended_;
}

}  // namespace sluice::redis_test
