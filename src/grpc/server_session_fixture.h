// The fixture of the tests of ServerSession: a session, its methods and a client.
#ifndef SLUICE_GRPC_SERVER_SESSION_FIXTURE_H_
#define SLUICE_GRPC_SERVER_SESSION_FIXTURE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/server_session.h"
#include "grpc/test_peer.h"

namespace sluice::grpc {

// Repeats each message; "end" ends the call.
class Repeater final : public StreamHandler {
  public:
    explicit Repeater(StreamWriter& writer) : writer_(writer) {}
    void on_message(std::string_view message) override {
        if (message == "end") return writer_.finish({Code::kAborted, "as asked"});
        if (message == "throw") throw std::runtime_error("as asked");
        writer_.send(message);
    }
    void on_end() override { writer_.finish({}); }

  private:
    StreamWriter& writer_;
};

class ServerSessionTest : public testing::Test {
  protected:
    ServerSessionTest() {
        methods.add("test.Echo", "Say", UnaryHandler([this](UnaryCall& call) { say(call); }));
        methods.add("test.Echo", "Repeat", StreamOpener([](StreamWriter& writer) {
                        return std::make_unique<Repeater>(writer);
                    }));
        context.post = std::make_shared<const std::function<void(std::function<void()>)>>(
            [this](std::function<void()> act) { posted.push_back(std::move(act)); });
        context.on_failure = [this](std::string_view path, std::string_view what) {
            failures.push_back(std::string(path) + ": " + std::string(what));
        };
    }

    ServerSession& session() {
        if (session_ == nullptr)
            session_ =
                std::make_unique<ServerSession>(context, "192.0.2.1", turn, [this] { ++wakes; });
        return *session_;
    }

    void say(UnaryCall& call) {
        const std::string_view message = call.request().message;
        last_deadline = call.request().deadline;
        if (message == "throw") throw std::runtime_error("as asked");
        if (message == "later") {
            held.push_back(call.defer());
        } else if (message == "spacious") {
            call.answer().bytes.reserve(kSpacious);
            call.answer().bytes = "spacious";
        } else if (message == "deny") {
            call.answer().status = {Code::kPermissionDenied, "50 % of ä\n"};
        } else {
            ((call.answer().bytes += call.request().peer) += " says ") += message;
        }
    }

    void run_posted() {
        for (const auto& act : std::exchange(posted, {}))
            act();
    }

    TestResponse call(const TestRequest& request) { return peer.call(session(), request); }

    static constexpr std::size_t kSpacious = 1UL << 20U;

    MethodRegistry methods;
    SessionContext context{.methods = methods};
    http::Turn turn = endless_turn();
    std::vector<std::function<void()>> posted;
    std::vector<std::string> failures;
    std::vector<Completion> held;
    std::optional<ServerSession::Time> last_deadline;
    int wakes = 0;
    TestPeer peer;
    std::unique_ptr<ServerSession> session_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_SERVER_SESSION_FIXTURE_H_
