#include "cli/http_client.h"

#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "base/tls_host.h"
#include "cli/client_tls.h"

namespace sluice::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Post = beast::http::request<beast::http::string_body>;
using Answer = beast::http::response<beast::http::string_body>;

// One exchange, step by step: each step runs the loop until it is done or its time is over.
class Exchange {
  public:
    Exchange(const Target& target, std::chrono::milliseconds timeout)
        : target_(target),
          deadline_(std::chrono::steady_clock::now() + timeout),
          tls_(client_tls_context(target)),
          stream_(loop_, tls_) {}

    Result<HttpAnswer> run(Post& post) {
        Answer answer;
        const char* step = "can't connect";
        error_code failed = connect();
        if (!failed && target_.url.tls) {
            step = "TLS failed";
            failed = shake_hands();
        }
        if (!failed) {
            step = "no answer";
            failed =
                target_.url.tls ? exchange(stream_, post, answer) : exchange(tcp(), post, answer);
        }
        if (failed) {
            return Error{kInvalidOption,
                         target_.url.authority() + ": " + step + ": " + describe(failed)};
        }
        return HttpAnswer{.status = static_cast<int>(answer.result_int()),
                          .body = std::move(answer.body())};
    }

  private:
    beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }

    static std::string describe(error_code failed) {
        if (failed == beast::error::timeout) return "it took too long";
        return failed.message();
    }

    // Runs what `start` begins and returns its outcome.
    template <class Start>
    error_code wait(Start start) {
        error_code outcome;
        tcp().expires_at(deadline_);
        start([&](error_code error, auto&&...) { outcome = error; });
        loop_.restart();
        loop_.run();
        return outcome;
    }

    error_code connect() {
        error_code failed;
        asio::ip::tcp::resolver resolver(loop_);
        const auto addresses = resolver.resolve(target_.url.host, target_.url.port, failed);
        if (failed) return failed;
        return wait([&](auto done) { tcp().async_connect(addresses, done); });
    }

    error_code shake_hands() {
        expect_host(stream_.native_handle(), target_.url.host);
        return wait(
            [&](auto done) { stream_.async_handshake(asio::ssl::stream_base::client, done); });
    }

    template <class Stream>
    error_code exchange(Stream& stream, Post& post, Answer& answer) {
        const error_code failed =
            wait([&](auto done) { beast::http::async_write(stream, post, done); });
        if (failed) return failed;
        beast::flat_buffer buffer;
        return wait([&](auto done) { beast::http::async_read(stream, buffer, answer, done); });
    }

    const Target& target_;
    const std::chrono::steady_clock::time_point deadline_;
    asio::io_context loop_;
    asio::ssl::context tls_;
    beast::ssl_stream<beast::tcp_stream> stream_;
};

}  // namespace

Result<HttpAnswer> post_json(const Target& target,
                             const std::string& path,
                             const std::string& body,
                             std::chrono::milliseconds timeout) {
    namespace http = beast::http;
    Post post(http::verb::post, target.url.prefix + path, 11);
    post.set(http::field::host, target.url.authority());
    post.set(http::field::content_type, "application/json");
    post.set(http::field::accept, "application/json");
    post.set(http::field::connection, "close");
    if (!target.token.empty()) post.set(http::field::authorization, "Bearer " + target.token);
    post.body() = body;
    post.prepare_payload();
    try {
        return Exchange(target, timeout).run(post);
    } catch (const boost::system::system_error& error) {
        return Error{kInvalidOption, target.url.authority() + ": " + error.code().message()};
    }
}

}  // namespace sluice::cli
