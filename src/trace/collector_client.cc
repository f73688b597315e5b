#include "trace/collector_client.h"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace sluice::trace {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

// What is read of an answer.
constexpr std::uint64_t kLongestAnswer = 64UL * 1024;

// One request and its answer. Each step runs the loop until it is done or the deadline has passed.
class Exchange {
  public:
    explicit Exchange(std::chrono::milliseconds timeout)
        : deadline_(std::chrono::steady_clock::now() + timeout) {
        parser_.body_limit(kLongestAnswer);
    }

    error_code run(const HostPort& server,
                   const beast::http::request<beast::http::string_body>& request) {
        error_code failed;
        asio::ip::tcp::resolver resolver(loop_);
        const auto addresses = resolver.resolve(server.host,
                                                std::to_string(server.port),
                                                asio::ip::resolver_base::numeric_service,
                                                failed);
        if (!failed) failed = wait([&](auto done) { stream_.async_connect(addresses, done); });
        if (!failed)
            failed = wait([&](auto done) { beast::http::async_write(stream_, request, done); });
        if (!failed)
            failed =
                wait([&](auto done) { beast::http::async_read(stream_, buffer_, parser_, done); });
        return failed;
    }

    unsigned status() const { return parser_.get().result_int(); }

  private:
    template <class Start>
    error_code wait(Start start) {
        error_code outcome;
        stream_.expires_at(deadline_);
        start([&](error_code error, auto&&...) { outcome = error; });
        loop_.restart();
        loop_.run();
        return outcome;
    }

    const std::chrono::steady_clock::time_point deadline_;
    asio::io_context loop_{1};
    beast::tcp_stream stream_{loop_};
    beast::flat_buffer buffer_;
    beast::http::response_parser<beast::http::string_body> parser_;
};

}  // namespace

std::optional<Error> post_spans(const CollectorUrl& collector,
                                std::string body,
                                std::chrono::milliseconds timeout) {
    namespace http = beast::http;
    const auto failed = [&](const std::string& what) {
        return Error{kStoreFailed, collector.shown() + ": " + what};
    };
    try {
        http::request<http::string_body> request(http::verb::post, collector.path, 11);
        request.set(http::field::host, to_string(collector.server));
        request.set(http::field::content_type, "application/json");
        request.set(http::field::connection, "close");
        request.body() = std::move(body);
        request.prepare_payload();
        Exchange exchange(timeout);
        if (const error_code error = exchange.run(collector.server, request))
            return failed(error == beast::error::timeout ? "timed out" : error.message());
        if (exchange.status() / 100 != 2)
            return failed("the answer has the status " + std::to_string(exchange.status()));
    } catch (const std::exception& error) {  // no descriptors or memory, for example
        return failed(error.what());
    }
    return std::nullopt;
}

}  // namespace sluice::trace
