// One connection through the proxy.
#ifndef SLUICE_TESTS_REDIS_PROXY_RELAY_H_
#define SLUICE_TESTS_REDIS_PROXY_RELAY_H_

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "redis/proxy/dice.h"
#include "redis/proxy/past_commands.h"

namespace sluice::redis_test {

// What a relay needs of the proxy that it belongs to, which outlives it.
struct RelayWorld {
    boost::asio::ip::tcp::endpoint server;
    Dice& dice;
    PastCommands& past;
    std::function<void()> replay;  // sends a past command once more
};

// Relay passes the commands of a client to the server and the replies back, each direction in
// order. Once either side has ended, what it sent before is still passed on.
//
// Owned by the proxy's thread; what it waits for keeps it alive.
class Relay : public std::enable_shared_from_this<Relay> {
  public:
    Relay(boost::asio::ip::tcp::socket client, RelayWorld& world);

    void start();

  private:
    using Socket = boost::asio::ip::tcp::socket;

    // One direction: what arrived, and what happens to the first of it.
    struct Way {
        Way(Socket& source, Socket& target)
            : from(source), to(target), timer(source.get_executor()) {}

        Socket& from;
        Socket& to;
        boost::asio::steady_timer timer;
        std::array<char, 16'384> chunk{};
        std::string arrived;             // the beginning of a frame that is not complete yet
        std::deque<std::string> frames;  // complete ones that wait
        std::string underway;            // what is being written
        bool busy = false;               // with a frame that is delayed or being written
        bool ended = false;              // nothing more arrives
    };
    using Step = void (Relay::*)(std::string frame);

    // Who waits for a reply.
    enum class Asker { kClient, kNobody };

    void read(Way& way, Step handle);
    // Handles the frame that has waited longest, if the way is free.
    void next(Way& way, Step handle);
    void delay(Way& way, Step then, std::string frame);
    void write(Way& way, std::string bytes, Step handle);
    // Passes nothing of this frame.
    void drop(Way& way, Step handle);
    // Writes the first bytes only, and cuts.
    void cut_in(Way& way, const std::string& frame);
    void cut();

    void take_command(std::string command);
    void forward(std::string command);
    void take_reply(std::string reply);
    void pass(std::string reply);

    RelayWorld& world_;
    Socket client_;
    Socket server_;
    Way commands_{client_, server_};
    Way replies_{server_, client_};
    std::deque<Asker> askers_;  // of the replies that are to come
    SentCommands sent_;
    bool swallows_ = false;
    bool is_cut_ = false;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_PROXY_RELAY_H_
