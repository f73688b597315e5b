#include "support/redis_proxy/proxy.h"

#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "support/redis_proxy/faults.h"
#include "support/redis_proxy/relay.h"
#include "support/redis_proxy/replay.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Accepts connections on the proxy's thread. Handlers on the loop are destroyed before the members
// that they refer to.
class Proxy::Listener {
  public:
    explicit Listener(const Options& options)
        : injector_(options.seed),
          state_{.server = {asio::ip::address_v4::loopback(), options.server_port},
                 .injector = injector_,
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
    FaultInjector& injector() { return injector_; }

  private:
    void accept() {
        acceptor_.async_accept([this](error_code failed, tcp::socket client) {
            if (!failed) std::make_shared<Relay>(std::move(client), state_)->start();
            accept();
        });
    }

    void replay() {
        if (past_.empty()) return;
        const SentCommands::Script& script = past_.at(injector_.number(0, past_.size() - 1));
        std::make_shared<ReplayedCommand>(loop_, script, injector_)->start(state_.server);
    }

    FaultInjector injector_;
    PastCommands past_;
    ProxyState state_;
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
    listener_->injector().set(faults);
}

void Proxy::stop_faults() {
    set({});
}

FaultCounts Proxy::counts() const {
    return listener_->injector().counts();
}

}  // namespace sluice::redis_test
