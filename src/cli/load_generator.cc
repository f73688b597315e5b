// The sockets of `sluice bench`: one thread, one loop, one request in flight per connection.
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/tls_host.h"
#include "cli/answer_reader.h"
#include "cli/bench.h"
#include "cli/client_tls.h"

namespace sluice::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;
using PlainStream = Tcp::socket;
using TlsStream = asio::ssl::stream<Tcp::socket>;

// A server that doesn't answer must not make the command hang beyond its time.
constexpr std::chrono::seconds kPatience{5};
// After a failed connection, so that a server that is down is not asked as fast as the loop turns.
constexpr std::chrono::milliseconds kPause{100};

// What all connections share.
struct Load {
    const BenchCommand& command;
    asio::io_context loop{1};
    asio::ssl::context tls;
    Tcp::resolver::results_type addresses;
    std::uint64_t turn = 0;
    bool over = false;
    BenchResult result;
    Latency recent;  // since the last line of progress

    explicit Load(const BenchCommand& what) : command(what), tls(client_tls_context(what.target)) {}

    void fail(const std::string& what) {
        if (!over) ++result.errors[what];
    }
};

template <class Stream>
class Connection {
  public:
    explicit Connection(Load& load) : load_(load), pause_(load.loop) {}

    void start() {
        if (load_.over) return;
        received_.clear();
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            stream_ = std::make_unique<Stream>(load_.loop, load_.tls);
            expect_host(stream_->native_handle(), load_.command.target.url.host);
        } else {
            stream_ = std::make_unique<Stream>(load_.loop);
        }
        asio::async_connect(
            stream_->lowest_layer(), load_.addresses, [this](error_code failed, const auto&) {
                if (failed) return lose("connect: " + failed.message());
                stream_->lowest_layer().set_option(Tcp::no_delay(true));
                shake_hands();
            });
    }

    void close() {
        error_code ignored;
        if (stream_) stream_->lowest_layer().close(ignored);
        pause_.cancel();
    }

  private:
    void shake_hands() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            stream_->async_handshake(asio::ssl::stream_base::client, [this](error_code failed) {
                if (failed) return lose("TLS: " + failed.message());
                send();
            });
        } else {
            send();
        }
    }

    void send() {
        if (load_.over) return close();
        write_request(load_.command, load_.turn++, request_);
        sent_ = Clock::now();
        asio::async_write(*stream_, asio::buffer(request_), [this](error_code failed, std::size_t) {
            if (failed) return lose("send: " + failed.message());
            receive();
        });
    }

    void receive() {
        stream_->async_read_some(asio::buffer(chunk_), [this](error_code failed, std::size_t size) {
            if (failed) return lose("receive: " + failed.message());
            received_.append(chunk_.data(), size);
            take_answer();
        });
    }

    void take_answer() {
        const AnswerFound found = find_answer(received_);
        if (found.fault == AnswerFault::kMore) return receive();
        if (found.fault == AnswerFault::kMalformed)
            return lose("the answer is not HTTP as Sluice speaks it");
        count(found.extent.status, Clock::now() - sent_);
        received_.erase(0, found.extent.size);
        if (!found.extent.closes) return send();
        close();
        start();
    }

    void count(int status, std::chrono::nanoseconds took) {
        if (load_.over) return;
        if (status != 200) return load_.fail("status " + std::to_string(status));
        ++load_.result.requests;
        load_.result.decisions += load_.command.batch;
        load_.result.latency.add(took);
        load_.recent.add(took);
    }

    void lose(const std::string& why) {
        load_.fail(why);
        close();
        if (load_.over) return;
        pause_.expires_after(kPause);
        pause_.async_wait([this](error_code cancelled) {
            if (!cancelled) start();
        });
    }

    Load& load_;
    asio::steady_timer pause_;
    std::unique_ptr<Stream> stream_;
    std::string request_;
    std::string received_;
    std::array<char, 16384> chunk_;
    Clock::time_point sent_;
};

// A line each second.
class Progress {
  public:
    Progress(Load& load, std::ostream& out) : load_(load), out_(out), timer_(load.loop) { next(); }
    void stop() { timer_.cancel(); }

  private:
    void next() {
        timer_.expires_after(std::chrono::seconds(1));
        timer_.async_wait([this](error_code cancelled) {
            // The end may come while this line already waits for its turn.
            if (cancelled || load_.over) return;
            tell();
            next();
        });
    }

    void tell() {
        const std::uint64_t decisions = load_.result.decisions;
        const auto p99 =
            std::chrono::duration_cast<std::chrono::microseconds>(load_.recent.percentile(0.99));
        out_ << "  " << ++second_ << " s: " << decisions - told_ << " decisions, p99 "
             << p99.count() << " us, " << load_.result.error_count() << " errors" << std::endl;
        told_ = decisions;
        load_.recent = Latency{};
    }

    Load& load_;
    std::ostream& out_;
    asio::steady_timer timer_;
    std::uint64_t told_ = 0;
    int second_ = 0;
};

template <class Stream>
void drive(Load& load, std::ostream& out) {
    std::vector<std::unique_ptr<Connection<Stream>>> connections;
    for (std::size_t i = 0; i < load.command.connections; ++i) {
        connections.push_back(std::make_unique<Connection<Stream>>(load));
        connections.back()->start();
    }
    Progress progress(load, out);
    const auto began = Clock::now();
    asio::steady_timer end(load.loop, load.command.seconds);
    end.async_wait([&](error_code) {
        load.result.took = Clock::now() - began;
        load.over = true;
        progress.stop();
        for (auto& connection : connections)
            connection->close();
    });
    load.loop.run_for(load.command.seconds + kPatience);
    // What is left in the loop refers to the connections, so it goes first.
    load.loop.stop();
}

}  // namespace

BenchResult generate_load(const BenchCommand& command, std::ostream& progress) {
    try {
        Load load(command);
        load.addresses =
            Tcp::resolver(load.loop).resolve(command.target.url.host, command.target.url.port);
        command.target.url.tls ? drive<TlsStream>(load, progress)
                               : drive<PlainStream>(load, progress);
        return load.result;
    } catch (const boost::system::system_error& error) {
        BenchResult nothing;
        nothing.errors[error.code().message()] = 1;
        return nothing;
    }
}

}  // namespace sluice::cli
