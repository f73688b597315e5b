// The methods of a gRPC server: handlers by path, and how they answer.
#ifndef SLUICE_GRPC_METHOD_H_
#define SLUICE_GRPC_METHOD_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "grpc/status.h"

namespace sluice::grpc {

// The answer to a unary call. The bytes are one encoded message; they are sent only with kOk.
struct Answer {
    Status status{};
    std::string bytes{};
};

// Answers a deferred call, once, from any thread. Destroyed without a call, it answers INTERNAL. An
// answer to a call that was cancelled, or whose connection has closed, has no effect.
class Completion {
  public:
    using Deliver = std::function<void(Answer)>;

    explicit Completion(Deliver deliver) : deliver_(std::move(deliver)) {}
    Completion(Completion&& other) noexcept : deliver_(std::exchange(other.deliver_, nullptr)) {}
    Completion& operator=(Completion&& other) noexcept {
        std::swap(deliver_, other.deliver_);
        return *this;
    }
    ~Completion() {
        if (deliver_) deliver_({.status = {Code::kInternal, "The server dropped this call."}});
    }

    void operator()(Answer answer) {
        if (deliver_) std::exchange(deliver_, nullptr)(std::move(answer));
    }

  private:
    Deliver deliver_;
};

// A complete request. All views are valid until the handler returns.
struct CallView {
    std::string_view path;  // "/package.Service/Method"
    std::string_view peer;  // the client's address, without its port
    std::string_view message;
    std::string_view traceparent;  // of W3C Trace Context; empty: none
    std::optional<std::chrono::steady_clock::time_point> deadline;  // from grpc-timeout
};

// A unary call that is being handled. The handler fills in answer(), which is OK and empty at
// first, or calls defer() and answers later:
//
//     void check(UnaryCall& call) {
//         if (!decode(call.request().message)) {
//             call.answer().status = {Code::kInvalidArgument, "..."};
//             return;
//         }
//         auto completion = std::make_shared<Completion>(call.defer());
//         start([completion](Result result) { (*completion)({.bytes = encode(result)}); });
//     }
//
// Owned by the session, on its thread.
class UnaryCall {
  public:
    virtual ~UnaryCall() = default;

    const CallView& request() const { return request_; }
    Answer& answer() { return answer_; }

    // Makes the answer come from the completion; answer() is ignored. Call it once, within the
    // handler.
    virtual Completion defer() = 0;

  protected:
    CallView request_{};
    Answer answer_;
};

// The sending side of a streaming call; used on the thread that created the handler.
class StreamWriter {
  public:
    virtual ~StreamWriter() = default;
    // Sends one message. A client that leaves too much unread has its call ended with
    // RESOURCE_EXHAUSTED.
    virtual void send(std::string_view message) = 0;
    // Ends the call after what was sent. Nothing may be sent afterwards.
    virtual void finish(Status status) = 0;
};

// One streaming call. Destroyed when the call ends, for any reason.
class StreamHandler {
  public:
    virtual ~StreamHandler() = default;
    virtual void on_message(std::string_view message) = 0;
    // The client will send no more messages.
    virtual void on_end() = 0;
};

// Exceptions of a handler are answered with INTERNAL.
using UnaryHandler = std::function<void(UnaryCall&)>;
// Creates the handler of a call. The writer is valid as long as the handler exists.
using StreamOpener = std::function<std::unique_ptr<StreamHandler>(StreamWriter&)>;

using Method = std::variant<UnaryHandler, StreamOpener>;

// Finds methods by path. Each serving thread has a registry of its own, whose handlers are called
// on that thread only.
class MethodRegistry {
  public:
    // `service` is "package.Service". A method that exists is replaced.
    void add(std::string_view service, std::string_view method, Method handler) {
        std::string path = "/";
        ((path += service) += '/') += method;
        methods_.insert_or_assign(std::move(path), std::move(handler));
    }

    // The names of all services, sorted.
    std::set<std::string> services() const {
        std::set<std::string> names;
        for (const auto& [path, handler] : methods_)
            names.insert(path.substr(1, path.rfind('/') - 1));
        return names;
    }

    using Entry = std::pair<const std::string, Method>;  // path and handler

    // Returns null for an unknown path.
    const Entry* find(std::string_view path) const {
        const auto found = methods_.find(path);
        return found == methods_.end() ? nullptr : &*found;
    }

  private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_map<std::string, Method, Hash, std::equal_to<>> methods_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_METHOD_H_
