#include "http/client/fetch.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <netdb.h>

#include "base/host_lookup.h"
#include "base/tls_host.h"

namespace sluice::http {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Parser = beast_http::response_parser<beast_http::string_body>;

constexpr std::size_t kReadSize = 16UL * 1024;

// One connection. Each step runs the loop until it is done or the deadline has passed. Beast parses
// the response, but does not read it: its composed operations would be compiled for both streams.
class Connection {
  public:
    Connection(std::chrono::milliseconds timeout, asio::ssl::context* tls)
        : deadline_(std::chrono::steady_clock::now() + timeout) {
        if (tls != nullptr) tls_.emplace(socket_, *tls);
    }

    error_code connect(const FetchRequest& request) {
        std::uint16_t port = 0;
        std::from_chars(request.port.data(), request.port.data() + request.port.size(), port);
        auto lookup = HostLookup::start(request.host, port);
        if (!lookup) return asio::error::no_buffer_space;
        lookup_end_.assign(lookup->descriptor());
        const error_code late = run([&](auto done) {
            lookup_end_.async_wait(asio::posix::descriptor_base::wait_read,
                                   [done](error_code error) { done(error, 0); });
        });
        lookup_end_.release();  // the lookup owns it
        if (late) return late;
        const auto found = lookup->take();
        if (!found) return asio::error::host_not_found;
        std::vector<Tcp::endpoint> endpoints;
        for (const addrinfo* address = found->get(); address != nullptr;
             address = address->ai_next) {
            Tcp::endpoint& endpoint = endpoints.emplace_back();
            endpoint.resize(address->ai_addrlen);
            std::memcpy(endpoint.data(), address->ai_addr, address->ai_addrlen);
        }
        return run([&](auto done) {
            asio::async_connect(
                socket_, endpoints, [done](error_code error, const auto&) { done(error, 0); });
        });
    }

    error_code shake_hands(const std::string& host) {
        if (!tls_) return {};
        expect_host(tls_->native_handle(), host);
        return run([&](auto done) {
            tls_->async_handshake(asio::ssl::stream_base::client,
                                  [done](error_code error) { done(error, 0); });
        });
    }

    error_code write(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto rest = asio::buffer(bytes.data(), bytes.size());
            const error_code failed = run([&](auto done) {
                tls_ ? tls_->async_write_some(rest, done) : socket_.async_write_some(rest, done);
            });
            if (failed) return failed;
            bytes.remove_prefix(transferred_);
        }
        return {};
    }

    error_code read(Parser& parser) {
        boost::beast::flat_buffer buffer;
        parser.eager(true);
        while (!parser.is_done()) {
            const auto space = buffer.prepare(kReadSize);
            error_code failed = run([&](auto done) {
                tls_ ? tls_->async_read_some(space, done) : socket_.async_read_some(space, done);
            });
            if (failed == asio::error::eof) {
                // Beast takes the end of a stream without bytes for a complete response.
                if (!parser.got_some()) return beast_http::error::end_of_stream;
                failed = {};
                parser.put_eof(failed);
                return failed;
            }
            if (failed) return failed;
            buffer.commit(transferred_);
            buffer.consume(parser.put(buffer.data(), failed));
            if (failed && failed != beast_http::error::need_more) return failed;
        }
        return {};
    }

  private:
    // Runs the operation that `start` begins, and returns its outcome.
    template <class Start>
    error_code run(Start start) {
        error_code outcome;
        bool is_late = false;
        timer_.expires_at(deadline_);
        timer_.async_wait([&](error_code cancelled) {
            if (cancelled) return;
            is_late = true;
            error_code ignored;
            lookup_end_.cancel(ignored);
            socket_.close(ignored);
        });
        start([&](error_code error, std::size_t size) {
            outcome = error;
            transferred_ = size;
            timer_.cancel();
        });
        loop_.restart();
        loop_.run();
        return is_late ? make_error_code(asio::error::timed_out) : outcome;
    }

    const std::chrono::steady_clock::time_point deadline_;
    asio::io_context loop_{1};
    asio::steady_timer timer_{loop_};
    asio::posix::stream_descriptor lookup_end_{loop_};
    Tcp::socket socket_{loop_};
    std::optional<asio::ssl::stream<Tcp::socket&>> tls_;
    std::size_t transferred_ = 0;  // by the last step
};

std::string head_of(const FetchRequest& request) {
    std::string head = request.method + " " + request.path +
                       " HTTP/1.1\r\nHost: " + request.authority + "\r\nConnection: close\r\n";
    for (const auto& [name, value] : request.headers)
        head += name + ": " + value + "\r\n";
    if (request.method != "GET")
        head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    return head + "\r\n";
}

}  // namespace

Result<FetchResponse> fetch(const FetchRequest& request,
                            std::chrono::milliseconds timeout,
                            asio::ssl::context* tls,
                            std::size_t max_body) {
    const auto failed = [&](const std::string& what) {
        return Error{kStoreFailed, request.authority + ": " + what};
    };
    const auto failed_at = [&](const char* step, error_code error) {
        return failed(std::string(step) + ": " +
                      (error == asio::error::timed_out ? "timed out" : error.message()));
    };
    try {
        Connection connection(timeout, tls);
        if (const auto error = connection.connect(request))
            return failed_at("can't connect", error);
        if (const auto error = connection.shake_hands(request.host))
            return failed_at("TLS failed", error);
        Parser parser;
        parser.body_limit(max_body);
        error_code error = connection.write(head_of(request) + request.body);
        if (!error) error = connection.read(parser);
        if (error) return failed_at("no response", error);
        return FetchResponse{.status = static_cast<int>(parser.get().result_int()),
                             .body = std::move(parser.get().body())};
    } catch (const std::exception& error) {  // no descriptors or memory, for example
        return failed(error.what());
    }
}

}  // namespace sluice::http
