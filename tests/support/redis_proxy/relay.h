// One connection through the proxy.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_PROXY_RELAY_H_
#define SLUICE_TESTS_SUPPORT_REDIS_PROXY_RELAY_H_

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "support/redis_proxy/faults.h"
#include "support/redis_proxy/replay.h"

namespace sluice::redis_test {

// The state of the proxy that its relays use; outlives them.
struct ProxyState {
    boost::asio::ip::tcp::endpoint server;
    FaultInjector& injector;
    PastCommands& past;
    std::function<void()> replay;  // sends a past command once more
};

// Relay passes the commands of a client to the server and the replies back, each direction in
// order. Bytes that one side sent before it closed are still passed on.
//
// Owned by the proxy's thread; its pending operations keep it alive.
class Relay : public std::enable_shared_from_this<Relay> {
  public:
    Relay(boost::asio::ip::tcp::socket client, ProxyState& proxy);

    void start();

  private:
    using Socket = boost::asio::ip::tcp::socket;

    struct Direction {
        Direction(Socket& source, Socket& target)
            : from(source), to(target), timer(source.get_executor()) {}

        Socket& from;
        Socket& to;
        boost::asio::steady_timer timer;
        std::array<char, 16'384> chunk{};
        std::string arrived;             // the beginning of a frame that is not complete yet
        std::deque<std::string> frames;  // complete ones that are queued
        std::string underway;            // is being written
        bool busy = false;               // with a frame that is delayed or being written
        bool ended = false;              // nothing more arrives
    };
    using Step = void (Relay::*)(std::string frame);

    // The commands that await a reply: one of the client, or a duplicate.
    enum class Awaited { kClient, kDuplicate };

    void read(Direction& direction, Step handle);
    // Handles the oldest queued frame, unless one is being handled.
    void next(Direction& direction, Step handle);
    void delay(Direction& direction, Step then, std::string frame);
    void write(Direction& direction, std::string bytes, Step handle);
    // Ends the handling of a frame that is not passed on.
    void drop(Direction& direction, Step handle);
    // Writes the first bytes only, and cuts the connection.
    void cut_in(Direction& direction, const std::string& frame);
    void cut();

    void take_command(std::string command);
    void forward(std::string command);
    void take_reply(std::string reply);
    void pass(std::string reply);

    ProxyState& proxy_;
    Socket client_;
    Socket server_;
    Direction commands_{client_, server_};
    Direction replies_{server_, client_};
    std::deque<Awaited> awaited_;
    SentCommands sent_;
    bool swallows_ = false;
    bool is_cut_ = false;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_PROXY_RELAY_H_
