#include "http/wire/test_server.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace sluice::http {

HandlerResult FakeHandler::handle(const RequestView& request, Reply& reply, Completion later) {
    reply.begin(200, "text/plain");
    ((reply.body() += request.method) += ' ') += request.path;
    ((reply.body() += '?') += request.query) += ' ';
    reply.body() += request.body;
    ++requests_;
    if (request.path == "/count") reply.body() = std::to_string(requests_);
    if (request.path == "/throw") throw std::runtime_error("as asked");
    if (request.path == "/big") reply.body().assign(8UL * 1024 * 1024, 'x');
    if (request.path == "/page") reply.body().assign(64UL * 1024, 'x');
    if (request.path == "/at-once") later();
    if (request.path == "/finish") {
        for (Completion& completion : held_)
            completion();
    }
    if (request.path == "/finish" || request.path == "/forget") {
        held_count.store(0, std::memory_order_release);
        held_.clear();
    }
    if (request.path == "/later") {
        auto held = std::make_shared<Completion>(std::move(later));
        boost::asio::post(context_, [held, &reply] {
            reply.body() += " later";
            (*held)();
        });
        return HandlerResult::kDeferred;
    }
    if (request.path == "/stream") {
        reply.begin(200, "text/plain");
        reply.body() = "begun;";
        streams_.emplace_back(std::move(later));
        stream_count.store(static_cast<int>(streams_.size()), std::memory_order_release);
        return HandlerResult::kDeferred;
    }
    if (request.path == "/push") {
        const std::string piece(std::stoul(std::string(request.query)), 'x');
        boost::asio::post(context_, [this, piece] { push(piece); });
    }
    if (request.path == "/end") {
        boost::asio::post(context_, [this] {
            streams_.clear();
            stream_count.store(0, std::memory_order_release);
        });
    }
    if (request.path == "/held") {
        held_.push_back(std::move(later));
        // Release: a test that sees the count knows that the request has arrived.
        held_count.fetch_add(1, std::memory_order_release);
        return HandlerResult::kDeferred;
    }
    const bool is_later = request.path == "/dropped" || request.path == "/at-once";
    return is_later ? HandlerResult::kDeferred : HandlerResult::kDone;
}

void FakeHandler::push(std::string_view piece) {
    std::erase_if(streams_, [&](ReplyStream& stream) { return !stream.send(piece); });
    stream_count.store(static_cast<int>(streams_.size()), std::memory_order_release);
}

bool FakeHandler::check_head(const RequestView& request, Reply& reply) {
    if (request.path == "/throw") throw std::runtime_error("as asked");
    if (request.path != "/closed") return true;
    reply.begin(403, "text/plain");
    ((reply.body() += request.method) += ' ') += request.header("x-test");
    return false;
}

void FakeHandler::protocol_error(const WireError& error, Reply& reply) {
    reply.begin(error.status, "text/plain");
    reply.body() += error.detail;
    if (!error.cause.empty()) ((reply.body() += " Cause: ") += error.cause) += '.';
}

HttpTestServer::HttpTestServer(const WireLimits& limits, std::shared_ptr<const TlsSlot> tls)
    : work_(context_.get_executor()),
      handler_(context_),
      listener_(std::make_unique<Listener>(
          context_, handler_, Listener::Options{.limits = limits, .tls = std::move(tls)})) {
    const auto port = listener_->listen({.host = "127.0.0.1", .port = 0});
    SLUICE_CHECK(port.has_value());
    port_ = *port;
    thread_ = std::thread([this] { context_.run(); });
}

HttpTestServer::~HttpTestServer() {
    context_.stop();
    thread_.join();
}

void HttpTestServer::post(std::function<void()> act) {
    boost::asio::post(context_, std::move(act));
}

void HttpTestServer::start_drain(std::chrono::milliseconds timeout) {
    boost::asio::post(context_, [this, timeout] {
        listener_->drain(timeout, [this] {
            is_drained_.store(true, std::memory_order_release);
            is_drained_.notify_all();
        });
    });
}

void HttpTestServer::wait_until_drained() {
    is_drained_.wait(false, std::memory_order_acquire);
}

void HttpTestServer::destroy_listener() {
    std::atomic<bool> is_done{false};
    boost::asio::post(context_, [&] {
        listener_.reset();
        is_done.store(true, std::memory_order_release);
        is_done.notify_all();
    });
    is_done.wait(false, std::memory_order_acquire);
}

TestClient::TestClient(std::uint16_t port, int window)
    : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (window > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
    // What is sent is there at once, also while the server is busy.
    const int one = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval timeout{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    SLUICE_CHECK(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
                 0);
}

TestClient::~TestClient() {
    close(socket_);
}

void TestClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void TestClient::finish_sending() {
    shutdown(socket_, SHUT_WR);
}

bool TestClient::fill() {
    std::array<char, 16384> bytes;
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
}

std::string TestClient::read_answer() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!fill()) return "closed";
    }
    head_ = buffer_.substr(0, end + 4);
    buffer_.erase(0, end + 4);
    std::size_t size = 0;
    if (const std::size_t at = head_.find("Content-Length: "); at != std::string::npos) {
        size = std::stoul(head_.substr(at + 16));
    }
    while (buffer_.size() < size) {
        if (!fill()) return "closed";
    }
    std::string answer = head_.substr(9, 3) + " " + buffer_.substr(0, size);
    buffer_.erase(0, size);
    return answer;
}

std::string TestClient::read_to_end() {
    while (fill()) {
    }
    return std::exchange(buffer_, "");
}

}  // namespace sluice::http
