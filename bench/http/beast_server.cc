// Three servers on Boost.Asio in front of the same http::Api as `sluice serve`: the alternatives
// that the event loop of src/http/wire is measured against.
//
//     beast_server PORT beast|asio|asio-bare
//
// - beast: Beast's stream with its timeouts, Beast's parser and Beast's serializer.
// - asio: the same stream and timeouts, under the RequestReader and ReplyWriter of src/http/wire.
// - asio-bare: the same reader and writer on a plain socket, without timeouts and with blocking
//   writes. Not fit for use: it shows the least that Asio's sockets cost.
//
// All have one io_context, one thread, keep-alive and HTTP/1.1 on 127.0.0.1. Settings are the
// defaults of `sluice serve`: no tokens, no origin, overrides in memory. They serve decisions only:
// a route that answers later (a change of an override) ends the program.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "config/settings.h"
#include "http/api/api.h"
#include "http/wire/limits.h"
#include "http/wire/request_reader.h"
#include "overrides/store.h"

namespace sluice {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// The concrete executor instead of any_io_executor, which would add an indirect call to each
// operation.
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;
using BeastReply = beast_http::response<beast_http::string_body>;

constexpr http::WireLimits kLimits;

std::string_view view_of(beast::string_view text) {
    return {text.data(), text.size()};
}

// The Api of one thread, with everything that it refers to.
class ApiHost {
  public:
    // The reply is valid until the next call.
    http::Reply& handle(const http::RequestView& request) {
        if (api_.handle(request, reply_, http::Completion(nullptr)) ==
            http::HandlerResult::kDeferred)
            throw std::runtime_error("this server answers decisions only");
        return reply_;
    }

  private:
    const config::Settings settings_{};
    Limiter limiter_ =
        Limiter::create({.region = settings_.region, .max_keys = settings_.max_keys}).value();
    std::unique_ptr<overrides::OverrideSet> overrides_ =
        overrides::OverrideSet::open(std::make_unique<overrides::MemoryStore>()).value();
    overrides::OverrideChanges override_changes_{*overrides_, {}};
    http::KnownNamespaces namespaces_{1};
    http::CurrentTokens tokens_{{}};
    metrics::Metrics metrics_{
        {.version = "0", .region = settings_.region, .threads = 1, .read = [] {
             return metrics::Readings{};
         }}};
    const std::atomic<http::Readiness> readiness_{http::Readiness::kReady};
    http::Api api_{{.limiter = limiter_,
                    .overrides = *overrides_,
                    .override_changes = override_changes_,
                    .namespaces = namespaces_,
                    .tokens = tokens_,
                    .metrics = metrics_,
                    .thread_metrics = metrics_.thread(0),
                    .readiness = readiness_,
                    .hosts = http::HostRule::local({})}};
    http::Reply reply_;
};

std::chrono::sys_seconds current_second() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// The value of the Date field, formatted once a second.
class DateField {
  public:
    std::string_view value() {
        if (const auto now = current_second(); now != formatted_) {
            const std::time_t seconds = now.time_since_epoch().count();
            std::tm parts{};
            gmtime_r(&seconds, &parts);
            size_ = std::strftime(text_.data(), text_.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
            formatted_ = now;
        }
        return {text_.data(), size_};
    }

  private:
    std::chrono::sys_seconds formatted_{};
    std::array<char, 64> text_{};
    std::size_t size_ = 0;
};

// Makes a Beast message of a reply, whose body it takes.
void to_beast(http::Reply& from, DateField& date, BeastReply& to) {
    to.clear();
    to.result(static_cast<unsigned>(from.status()));
    to.set(beast_http::field::date, date.value());
    std::string_view fields = from.fields();
    while (!fields.empty()) {
        const std::size_t colon = fields.find(": ");
        const std::size_t end = fields.find("\r\n");
        to.insert(fields.substr(0, colon), fields.substr(colon + 2, end - colon - 2));
        fields.remove_prefix(end + 2);
    }
    to.body().swap(from.body());
    to.prepare_payload();
}

// What all connections to Beast's server share.
struct BeastShared {
    // Only the parser of src/http/wire can fill in the fields of a RequestView. Each request gets
    // these instead of its own, which are the same under the load of bench/http/run. That saves
    // Beast's side a copy of the fields.
    BeastShared() {
        http::HeadFacts facts;
        http::parse_head(
            "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\r\n",
            request,
            facts);
    }

    ApiHost api;
    http::RequestView request;
    DateField date;
};

// One connection of Beast's server. Kept alive by its pending operation.
class BeastSession : public std::enable_shared_from_this<BeastSession> {
  public:
    using Shared = BeastShared;

    BeastSession(Socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {}

    void read() {
        parser_.emplace();
        parser_->header_limit(kLimits.header);
        parser_->body_limit(kLimits.body);
        stream_.expires_after(kLimits.idle_timeout);
        beast_http::async_read(
            stream_,
            buffer_,
            *parser_,
            beast::bind_front_handler(&BeastSession::on_read, shared_from_this()));
    }

  private:
    void on_read(error_code failure, std::size_t) {
        if (failure) return;  // the connection closes with its last reference
        const auto& request = parser_->get();
        shared_.request.method = view_of(request.method_string());
        shared_.request.path = view_of(request.target());
        shared_.request.body = request.body();
        to_beast(shared_.api.handle(shared_.request), shared_.date, reply_);
        reply_.keep_alive(request.keep_alive());
        stream_.expires_after(kLimits.write_timeout);
        beast_http::async_write(
            stream_,
            reply_,
            beast::bind_front_handler(&BeastSession::on_written, shared_from_this()));
    }

    void on_written(error_code failure, std::size_t) {
        if (!failure && reply_.keep_alive()) read();
    }

    beast::basic_stream<tcp, Executor> stream_;
    Shared& shared_;
    beast::flat_buffer buffer_;
    std::optional<beast_http::request_parser<beast_http::string_body>> parser_;
    BeastReply reply_;
};

enum class Duties { kAll, kNoTimeouts };

// What all connections to Asio's server share.
struct AsioShared {
    ApiHost api;
    http::RequestView request;
    http::ReplyWriter writer;
};

// One connection of Asio's server. Kept alive by its pending operation. With Duties::kNoTimeouts,
// it has no timeouts, and a client that does not read its replies blocks the thread.
template <Duties kDuties>
class AsioSession : public std::enable_shared_from_this<AsioSession<kDuties>> {
  public:
    using Shared = AsioShared;

    AsioSession(Socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {}

    void read() {
        const auto space = asio::buffer(input_) + pending_;
        auto done = beast::bind_front_handler(&AsioSession::on_read, this->shared_from_this());
        if constexpr (kDuties == Duties::kAll) {
            stream_.expires_after(kLimits.idle_timeout);
            stream_.async_read_some(space, std::move(done));
        } else {
            stream_.socket().async_read_some(space, std::move(done));
        }
    }

  private:
    void on_read(error_code failure, std::size_t size) {
        if (failure) return;  // the connection closes with its last reference
        std::span<char> bytes(input_.data(), pending_ + size);
        answer(bytes);
        std::ranges::copy(bytes, input_.begin());
        pending_ = bytes.size();
        if constexpr (kDuties == Duties::kAll) {
            stream_.expires_after(kLimits.write_timeout);
            asio::async_write(
                stream_,
                asio::buffer(output_),
                beast::bind_front_handler(&AsioSession::on_written, this->shared_from_this()));
        } else {
            const std::size_t written =
                asio::write(stream_.socket(), asio::buffer(output_), failure);
            on_written(failure, written);
        }
    }

    void on_written(error_code failure, std::size_t) {
        if (!failure && is_open_ && pending_ < input_.size()) read();
    }

    // Writes the replies to all complete requests to output_, and leaves in `bytes` what follows
    // them.
    void answer(std::span<char>& bytes) {
        using Outcome = http::RequestReader::Outcome;
        output_.clear();
        shared_.writer.set_time(current_second());
        Outcome outcome = Outcome::kNeedMore;
        while (is_open_ && (outcome = reader_.read(bytes, shared_.request)) == Outcome::kRequest) {
            is_open_ = reader_.keep_alive();
            const auto after = is_open_ ? http::AfterReply::kKeepAlive : http::AfterReply::kClose;
            shared_.writer.write(shared_.api.handle(shared_.request), {.after = after}, output_);
            bytes = bytes.subspan(reader_.used());
        }
        is_open_ = is_open_ && outcome != Outcome::kError;
    }

    beast::basic_stream<tcp, Executor> stream_;
    Shared& shared_;
    http::RequestReader reader_{kLimits};
    std::array<char, 16UL * 1024> input_;
    std::size_t pending_ = 0;  // bytes of an incomplete request in input_
    std::string output_;
    bool is_open_ = true;  // false after the last request and after an error
};

template <class Session>
void accept(Acceptor& acceptor, typename Session::Shared& shared) {
    acceptor.async_accept([&](error_code failure, Socket socket) {
        if (!failure) {
            socket.set_option(tcp::no_delay(true), failure);
            std::make_shared<Session>(std::move(socket), shared)->read();
        }
        accept<Session>(acceptor, shared);
    });
}

template <class Session>
void serve(std::uint16_t port) {
    typename Session::Shared shared;
    asio::io_context loop(1);
    Acceptor acceptor(loop, {asio::ip::address_v4::loopback(), port});
    accept<Session>(acceptor, shared);
    loop.run();
}

int run(const std::vector<std::string>& arguments) {
    const std::string kind = arguments.size() == 2 ? arguments[1] : "";
    const auto serve_kind = kind == "beast"       ? serve<BeastSession>
                            : kind == "asio"      ? serve<AsioSession<Duties::kAll>>
                            : kind == "asio-bare" ? serve<AsioSession<Duties::kNoTimeouts>>
                                                  : nullptr;
    if (serve_kind == nullptr) {
        std::fputs("usage: beast_server PORT beast|asio|asio-bare\n", stderr);
        return 2;
    }
    serve_kind(static_cast<std::uint16_t>(std::stoi(arguments[0])));
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    try {
        return sluice::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "beast_server: %s\n", error.what());
        return 1;
    }
}
