#include "regional/wire_tap.h"

#include <array>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

#include "base/mutex.h"
#include "support/redis_proxy/resp_frame.h"

namespace sluice::regional_test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

// Each connection has two threads, which block; they end when the sockets are shut down.
class WireTap::Listener {
  public:
    explicit Listener(std::uint16_t redis_port)
        : redis_(asio::ip::address_v4::loopback(), redis_port),
          acceptor_(loop_, {asio::ip::address_v4::loopback(), 0}),
          port_(acceptor_.local_endpoint().port()),
          thread_([this] { accept(); }) {}

    ~Listener() {
        ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
        thread_.join();
        std::vector<std::unique_ptr<Link>> links;
        {
            const MutexLock lock(mutex_);
            links = std::move(links_);
        }
        for (const auto& link : links) {
            ::shutdown(link->client.native_handle(), SHUT_RDWR);
            ::shutdown(link->server.native_handle(), SHUT_RDWR);
            link->up.join();
            link->down.join();
        }
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    std::uint16_t port() const { return port_; }

    void hold() {
        const MutexLock lock(mutex_);
        for (const auto& link : links_)
            link->is_held = true;
    }

    std::string held() const {
        const MutexLock lock(mutex_);
        std::string held;
        for (const auto& link : links_)
            held += link->held;
        return held;
    }

    void deliver() {
        const MutexLock lock(mutex_);
        for (const auto& link : links_) {
            link->is_held = false;
            send(*link, std::exchange(link->held, {}));
        }
    }

    bool is_answered() const {
        const MutexLock lock(mutex_);
        for (const auto& link : links_)
            if (link->replies < link->commands) return false;
        return true;
    }

    std::vector<std::string> commands() const {
        const MutexLock lock(mutex_);
        return commands_;
    }

  private:
    struct Link {
        Link(tcp::socket from, asio::io_context& loop) : client(std::move(from)), server(loop) {}
        tcp::socket client;
        tcp::socket server;
        std::thread up;
        std::thread down;
        bool is_held = false;
        std::string held;
        std::string unparsed;      // the begin of a command that was sent to Redis
        std::size_t commands = 0;  // that were sent to Redis
        std::size_t replies = 0;
    };

    void accept() {
        while (true) {
            error_code failed;
            tcp::socket client = acceptor_.accept(failed);
            if (failed) return;
            auto link = std::make_unique<Link>(std::move(client), loop_);
            link->server.connect(redis_, failed);
            if (failed) continue;
            link->client.set_option(tcp::no_delay(true), failed);
            link->server.set_option(tcp::no_delay(true), failed);
            Link& one = *link;
            const MutexLock lock(mutex_);
            one.up = std::thread([this, &one] { pass_commands(one); });
            one.down = std::thread([this, &one] { pass_replies(one); });
            links_.push_back(std::move(link));
        }
    }

    void pass_commands(Link& link) {
        std::array<char, 16'384> chunk{};
        std::string arrived;
        while (true) {
            error_code failed;
            const std::size_t size = link.client.read_some(asio::buffer(chunk), failed);
            if (failed) return;
            arrived.append(chunk.data(), size);
            const MutexLock lock(mutex_);
            while (auto command = redis_test::take_frame(arrived))
                commands_.push_back(*std::move(command));
            link.held.append(chunk.data(), size);
            if (!link.is_held) send(link, std::exchange(link.held, {}));
        }
    }

    void send(Link& link, const std::string& bytes) SLUICE_REQUIRES(mutex_) {
        error_code ignored;
        asio::write(link.server, asio::buffer(bytes), ignored);
        link.unparsed += bytes;
        while (redis_test::take_frame(link.unparsed))
            ++link.commands;
    }

    void pass_replies(Link& link) {
        std::array<char, 16'384> chunk{};
        std::string arrived;
        while (true) {
            error_code failed;
            const std::size_t size = link.server.read_some(asio::buffer(chunk), failed);
            if (failed) return;
            asio::write(link.client, asio::buffer(chunk.data(), size), failed);
            arrived.append(chunk.data(), size);
            const MutexLock lock(mutex_);
            while (redis_test::take_frame(arrived))
                ++link.replies;
        }
    }

    const tcp::endpoint redis_;
    asio::io_context loop_;
    tcp::acceptor acceptor_;
    const std::uint16_t port_;
    mutable Mutex mutex_;
    std::vector<std::unique_ptr<Link>> links_ SLUICE_GUARDED_BY(mutex_);
    std::vector<std::string> commands_ SLUICE_GUARDED_BY(mutex_);
    std::thread thread_;
};

WireTap::WireTap(std::uint16_t redis_port) : listener_(std::make_unique<Listener>(redis_port)) {}

WireTap::~WireTap() = default;

std::uint16_t WireTap::port() const {
    return listener_->port();
}

void WireTap::hold() {
    listener_->hold();
}

std::string WireTap::held() const {
    return listener_->held();
}

void WireTap::deliver() {
    listener_->deliver();
}

bool WireTap::is_answered() const {
    return listener_->is_answered();
}

std::vector<std::string> WireTap::commands() const {
    return listener_->commands();
}

}  // namespace sluice::regional_test
