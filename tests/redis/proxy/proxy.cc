#include "redis/proxy/proxy.h"

#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "redis/proxy/dice.h"
#include "redis/proxy/past_commands.h"
#include "redis/proxy/relay.h"
#include "redis/proxy/replayed_command.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Accepts connections on the proxy's thread. All that runs on the loop is gone before what it
// refers to.
class Proxy::Listener {
  public:
    explicit Listener(const Options& options)
        : dice_(options.seed),
          world_{.server = {asio::ip::address_v4::loopback(), options.server_port},
                 .dice = dice_,
                 .past = past_,
                 .replay = [this] { replay(); }},
          acceptor_(loop_, {asio::ip::address_v4::loopback(), 0}),
          port_(acceptor_.local_endpoint().port()) {
        accept();
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~Listener() {
        loop_.stop();
        thread_.join();
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    std::uint16_t port() const { return port_; }
    Dice& dice() { return dice_; }

  private:
    void accept() {
        acceptor_.async_accept([this](error_code failed, tcp::socket client) {
            if (!failed) std::make_shared<Relay>(std::move(client), world_)->start();
            accept();
        });
    }

    void replay() {
        if (past_.empty()) return;
        const SentCommands::Script& script = past_.at(dice_.number(0, past_.size() - 1));
        std::make_shared<ReplayedCommand>(loop_, script, dice_)->start(world_.server);
    }

    Dice dice_;
    PastCommands past_;
    RelayWorld world_;
    asio::io_context loop_{1};
    tcp::acceptor acceptor_;
    const std::uint16_t port_;
    std::thread thread_;
};

Proxy::Proxy(const Options& options) : listener_(std::make_unique<Listener>(options)) {}

Proxy::~Proxy() = default;

std::uint16_t Proxy::port() const {
    return listener_->port();
}

void Proxy::set(const Faults& faults) {
    listener_->dice().set(faults);
}

void Proxy::stop_faults() {
    set({});
}

FaultCounts Proxy::counts() const {
    return listener_->dice().counts();
}

}  // namespace sluice::redis_test
