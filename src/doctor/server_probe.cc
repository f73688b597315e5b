#include "doctor/server_probe.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <openssl/ssl.h>

namespace sluice::doctor {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kTimeout{2};
constexpr std::size_t kMostBytes = 16UL * 1024;
// The frame header of HTTP/2: a length of three bytes, the type, flags, and the stream.
constexpr std::size_t kFrameHeader = 9;
constexpr char kSettingsFrame = 4;
constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};

// One connection. Each step ends at the deadline at the latest.
class Probe {
  public:
    Probe(ListenerKind kind, Tls tls) {
        if (tls == Tls::kNo) return;
        SSL_CTX* const context = context_.native_handle();
        if (kind == ListenerKind::kGrpc) {
            SSL_CTX_set_alpn_protos(context, kHttp2.data(), kHttp2.size());
        }
        // Called when the server asks for a certificate; there is none.
        SSL_CTX_set_cert_cb(
            context,
            [](SSL*, void* wants_certificate) {
                *static_cast<bool*>(wants_certificate) = true;
                return 1;
            },
            &wants_certificate_);
        stream_.emplace(socket_, context_);
    }

    bool wants_certificate() const { return wants_certificate_; }

    // The first bytes that answer `request`: at most `most`, fewer if the connection ends. Empty if
    // it can't be made.
    std::string exchange(const config::Address& address,
                         const std::string& request,
                         std::size_t most) {
        std::string answer;
        if (connect(address) || write(request)) return answer;
        while (answer.size() < most) {
            if (read_to(answer)) break;
        }
        return answer;
    }

  private:
    // Runs the operation that `start` begins, and returns its outcome.
    template <class Start>
    error_code run(Start start) {
        error_code outcome;
        start([&outcome](error_code error) { outcome = error; });
        loop_.restart();
        loop_.run_until(deadline_);
        if (loop_.stopped()) return outcome;
        error_code ignored;
        socket_.close(ignored);
        loop_.run();
        return asio::error::timed_out;
    }

    error_code connect(const config::Address& address) {
        error_code failed;
        tcp::resolver resolver(loop_);
        const auto found = resolver.resolve(address.host, std::to_string(address.port), failed);
        if (failed) return failed;
        failed = run([&](auto done) {
            asio::async_connect(
                socket_, found, [done](error_code error, const auto&) { done(error); });
        });
        if (failed || !stream_) return failed;
        return run(
            [&](auto done) { stream_->async_handshake(asio::ssl::stream_base::client, done); });
    }

    error_code write(const std::string& bytes) {
        return run([&](auto done) {
            const auto written = [done](error_code error, std::size_t) { done(error); };
            stream_ ? asio::async_write(*stream_, asio::buffer(bytes), written)
                    : asio::async_write(socket_, asio::buffer(bytes), written);
        });
    }

    // Appends what comes next.
    error_code read_to(std::string& answer) {
        std::array<char, 4096> part;
        return run([&](auto done) {
            const auto received = [&, done](error_code error, std::size_t size) {
                answer.append(part.data(), size);
                done(error);
            };
            stream_ ? stream_->async_read_some(asio::buffer(part), received)
                    : socket_.async_read_some(asio::buffer(part), received);
        });
    }

    const std::chrono::steady_clock::time_point deadline_ =
        std::chrono::steady_clock::now() + kTimeout;
    asio::io_context loop_{1};
    asio::ssl::context context_{asio::ssl::context::tls_client};
    tcp::socket socket_{loop_};
    std::optional<asio::ssl::stream<tcp::socket&>> stream_;  // none: plain text
    bool wants_certificate_ = false;
};

std::string get_request(const config::Address& address, std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: " + config::to_string(address) +
           "\r\nConnection: close\r\n\r\n";
}

// A status line with one of these codes, and a body in the form that all answers of Sluice have.
bool is_answer(std::string_view answer, std::array<std::string_view, 2> codes) {
    constexpr std::string_view kVersion = "HTTP/1.1 ";
    if (!answer.starts_with(kVersion)) return false;
    const std::string_view code = answer.substr(kVersion.size(), 3);
    const std::size_t head = answer.find("\r\n\r\n");
    return (code == codes[0] || code == codes[1]) && head != std::string_view::npos &&
           answer.substr(head + 4).starts_with(R"({"meta":{"requestId":")");
}

bool is_settings_frame(std::string_view answer) {
    return answer.size() >= kFrameHeader && answer[3] == kSettingsFrame &&
           answer.substr(5, 4) == std::string_view("\0\0\0\0", 4);
}

bool answers(Probe& probe, const config::Address& address, ListenerKind kind) {
    switch (kind) {
        case ListenerKind::kApi:
            return is_answer(probe.exchange(address, get_request(address, "/readyz"), kMostBytes),
                             {"200", "503"});
        case ListenerKind::kAdmin:
            return is_answer(
                probe.exchange(address, get_request(address, "/v2/node.caller"), kMostBytes),
                {"200", "401"});
        case ListenerKind::kGrpc: {
            // The preface of a client, with empty settings.
            std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
            preface += std::string({0, 0, 0, kSettingsFrame, 0, 0, 0, 0, 0});
            return is_settings_frame(probe.exchange(address, preface, kFrameHeader));
        }
    }
    return false;
}

}  // namespace

ServerKind probe_server(const config::Address& address, ListenerKind kind, Tls tls) {
    Probe probe(kind, tls);
    if (answers(probe, address, kind)) return ServerKind::kSluice;
    return probe.wants_certificate() ? ServerKind::kUnknown : ServerKind::kForeign;
}

}  // namespace sluice::doctor
