// A server that answers everything with the same bytes.
#ifndef SLUICE_TESTS_SUPPORT_CANNED_SERVER_H_
#define SLUICE_TESTS_SUPPORT_CANNED_SERVER_H_

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace sluice::redis_test {

// Serves one connection after the other on a thread of its own. Owned by one thread.
class CannedServer {
  public:
    explicit CannedServer(std::string reply)
        : reply_(std::move(reply)), thread_([this] { serve(); }) {}
    ~CannedServer() {
        is_ending_ = true;
        boost::system::error_code ignored;
        boost::asio::io_context loop;
        boost::asio::ip::tcp::socket(loop).connect(acceptor_.local_endpoint(), ignored);
        thread_.join();
    }
    CannedServer(const CannedServer&) = delete;
    CannedServer& operator=(const CannedServer&) = delete;

    std::string address() const {
        return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

  private:
    void serve() {
        while (!is_ending_) {
            boost::asio::ip::tcp::socket peer(loop_);
            boost::system::error_code failed;
            acceptor_.accept(peer, failed);
            std::array<char, 4096> received;
            peer.read_some(boost::asio::buffer(received), failed);
            boost::asio::write(peer, boost::asio::buffer(reply_), failed);
            peer.read_some(boost::asio::buffer(received), failed);
        }
    }

    const std::string reply_;
    std::atomic<bool> is_ending_ = false;  // the owner writes, serve() reads; nothing depends on it
    boost::asio::io_context loop_;
    boost::asio::ip::tcp::acceptor acceptor_{loop_,
                                             {boost::asio::ip::make_address("127.0.0.1"), 0}};
    std::thread thread_;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_CANNED_SERVER_H_
