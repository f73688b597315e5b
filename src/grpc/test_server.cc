#include "grpc/test_server.h"

#include <array>
#include <utility>

#include <boost/asio/post.hpp>
#include <sys/socket.h>

#include "base/check.h"

namespace sluice::grpc {

namespace {

class Repeater final : public StreamHandler {
  public:
    explicit Repeater(StreamWriter& writer) : writer_(writer) {}
    void on_message(std::string_view message) override { writer_.send(message); }
    void on_end() override { writer_.finish({}); }

  private:
    StreamWriter& writer_;
};

}  // namespace

GrpcTestServer::GrpcTestServer(const Options& options) : work_(loop_.get_executor()) {
    context_.limits = options.session;
    methods_.add("test.Echo", "Say", UnaryHandler([this](UnaryCall& call) { say(call); }));
    methods_.add("test.Echo", "Repeat", StreamOpener([](StreamWriter& writer) {
                     return std::make_unique<Repeater>(writer);
                 }));
    context_.post = std::make_shared<const std::function<void(std::function<void()>)>>(
        [this](std::function<void()> act) { boost::asio::post(loop_, std::move(act)); });
    listener_ = std::make_unique<http::Listener>(
        loop_,
        std::make_unique<GrpcProtocol>(context_, options.age, 1),
        http::Listener::Options{.limits = options.limits, .tls = nullptr});
    const auto port = listener_->listen({.host = "127.0.0.1", .port = 0});
    SLUICE_CHECK(port.has_value());
    port_ = *port;
    thread_ = std::thread([this] { loop_.run(); });
}

GrpcTestServer::~GrpcTestServer() {
    loop_.stop();
    thread_.join();
    for (std::thread& thread : answering_)
        thread.join();
}

void GrpcTestServer::say(UnaryCall& call) {
    const std::string message(call.request().message);
    ++calls_;
    if (message == "later") {
        auto completion = std::make_shared<Completion>(call.defer());
        answering_.emplace_back([completion] { (*completion)({.bytes = "answered later"}); });
    } else if (message == "held") {
        held_.push_back(call.defer());
        // Release: a test that sees the count knows that the call has arrived.
        held_count_.fetch_add(1, std::memory_order_release);
    } else if (message == "count") {
        call.answer().bytes = std::to_string(calls_);
    } else if (message == "page") {
        call.answer().bytes.assign(64UL * 1024, 'x');
    } else {
        call.answer().bytes = message;
    }
}

void GrpcTestServer::release_held() {
    boost::asio::post(loop_, [this] {
        for (Completion& completion : std::exchange(held_, {}))
            completion({.bytes = "released"});
    });
}

void GrpcTestServer::post(std::function<void()> act) {
    boost::asio::post(loop_, std::move(act));
}

void GrpcTestServer::start_drain(std::chrono::milliseconds timeout) {
    boost::asio::post(loop_, [this, timeout] {
        listener_->drain(timeout, [this] { is_drained_.store(true, std::memory_order_release); });
    });
}

bool TestConnection::read() {
    std::array<char, 16384> bytes;
    const ssize_t got = recv(socket_.socket(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    if (!peer_.receive({bytes.data(), static_cast<std::size_t>(got)})) return false;
    flush();
    return true;
}

const TestResponse& TestConnection::finish(std::int32_t stream) {
    while (!peer_.response(stream).is_closed && read()) {
    }
    return peer_.response(stream);
}

TestResponse TestConnection::call(const TestRequest& request) {
    const std::int32_t stream = peer_.start(request);
    flush();
    return finish(stream);
}

}  // namespace sluice::grpc
