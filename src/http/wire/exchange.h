// One HTTP exchange: the request, the reply and how it becomes bytes, the handler that answers, and
// the state of a reply that is not complete yet.
#ifndef SLUICE_HTTP_WIRE_EXCHANGE_H_
#define SLUICE_HTTP_WIRE_EXCHANGE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/allocated_bytes.h"

namespace sluice::http {

class Connection;
class HeadParser;
class PendingExchange;

struct HeaderField {
    std::string_view name;
    std::string_view value;  // without the white space around it; may be empty
};

// A complete request. All views point into memory that is reused: they are valid until
// Handler::handle() returns. A handler that defers its answer copies what it needs.
class RequestView {
  public:
    static constexpr std::size_t kMaxHeaders = 100;

    std::string_view method;
    std::string_view path;   // as sent, not decoded; "*" for OPTIONS *
    std::string_view query;  // what follows the first '?', without it
    std::string_view body;
    std::string_view peer;  // the client's address, without its port
    bool tls = false;
    int minor_version = 1;  // HTTP/1.x

    // Returns the first value of the field `name`, in any case; empty if there is none.
    std::string_view header(std::string_view name) const;
    bool has_header(std::string_view name) const { return find(name) != nullptr; }
    std::span<const HeaderField> headers() const { return {fields_.data(), field_count_}; }
    void forget_headers() { field_count_ = 0; }
    // Copies the fields with these names from another request; `texts` holds their values.
    void copy_headers(const RequestView& from,
                      std::span<const std::string_view> names,
                      std::string& texts);

  private:
    friend class HeadParser;

    const HeaderField* find(std::string_view name) const;

    std::array<HeaderField, kMaxHeaders> fields_;
    std::size_t field_count_ = 0;
};

// A response under construction. Objects are reused, so that writing one allocates nothing in the
// steady state. ReplyWriter adds Content-Length, Date and Connection: a handler must not set them.
//
//     reply.begin(200, "application/json");
//     reply.header("Retry-After", "3");
//     reply.body() += "{}";
class Reply {
  public:
    // Starts over. An empty content type writes no Content-Type.
    void begin(int status, std::string_view content_type);

    // Name and value come from the program, not from clients. A CR or LF in them is a bug of the
    // caller, and is replaced by a space.
    void header(std::string_view name, std::string_view value);

    std::string& body() { return body_; }
    const std::string& body() const { return body_; }
    // The memory that it has allocated.
    std::size_t held_bytes() const { return allocated_bytes(fields_) + allocated_bytes(body_); }

    int status() const { return status_; }
    // The header fields so far, each with its CRLF.
    std::string_view fields() const { return fields_; }

  private:
    int status_ = 500;
    std::string fields_;
    std::string body_;
};

enum class AfterReply : bool { kKeepAlive, kClose };

// The properties of a request that determine how its reply is framed.
struct ReplyFraming {
    AfterReply after = AfterReply::kKeepAlive;
    int minor_version = 1;   // of the request
    bool head_only = false;  // the answer to HEAD: fields as for GET, no body
    bool is_stream = false;  // the body ends with the connection
};

// Appends replies, with Date, Content-Length and Connection, to an output. Owned by one thread.
class ReplyWriter {
  public:
    // Sets the Date of the following replies. Does nothing within the same second.
    void set_time(std::chrono::sys_seconds now);

    void write(const Reply& reply, ReplyFraming framing, std::string& out) const;

  private:
    std::chrono::sys_seconds now_{};
    std::string date_ = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
};

// Returns the reason phrase of a status: "Not Found" for 404.
std::string_view reason_of(int status);

enum class HandlerResult {
    kDone,      // the reply is complete
    kDeferred,  // the handler kept the Completion and will call it
};

// Finishes a deferred reply. Call it once, on the thread that called handle(), when the reply is
// complete; the reply must not be touched afterwards. Destroyed without a call, it answers with
// 500. If the connection has closed meanwhile it sends nothing, but the reply stays valid until the
// call.
class Completion {
  public:
    explicit Completion(PendingExchange* exchange) : exchange_(exchange) {}
    Completion(Completion&& other) noexcept : exchange_(std::exchange(other.exchange_, nullptr)) {}
    Completion& operator=(Completion&& other) noexcept {
        std::swap(exchange_, other.exchange_);
        return *this;
    }
    ~Completion() {
        if (exchange_ != nullptr) drop();
    }

    void operator()();

  private:
    friend class ReplyStream;

    void drop();

    PendingExchange* exchange_;
};

// A reply whose body is sent piece by piece until either side closes the connection. To answer with
// one, handle() makes it of its completion, writes the head and perhaps the beginning of the body
// to the reply, keeps the stream and returns kDeferred.
//
// Used by the thread that called handle(). Destroying it ends the reply and closes the connection.
class ReplyStream {
  public:
    explicit ReplyStream(Completion completion);
    ReplyStream(ReplyStream&&) noexcept = default;
    ReplyStream& operator=(ReplyStream&&) noexcept = default;
    ~ReplyStream() = default;

    // Sends `piece`, after handle() has returned. While the client has not received an earlier
    // piece, `piece` is skipped: the memory for a client is bounded by the largest one. A client
    // that does not read is disconnected after WireLimits::write_timeout. False: the connection has
    // closed.
    bool send(std::string_view piece);

    // False once the connection has closed.
    bool is_open() const;

  private:
    Completion completion_;
};

// An error that the connection itself answers with.
struct WireError {
    int status;                 // 400, 408, 413, 417, 431, 500, 501, 503 or 505
    std::string_view detail;    // one sentence for the author of the client
    std::string_view accept{};  // the request's Accept field, if it was parsed
    std::string_view cause{};   // of a 500; for the log only
};

// Answers requests. Each serving thread has a handler of its own, which is called on that thread
// only.
class Handler {
  public:
    virtual ~Handler() = default;

    // While a reply is deferred, its connection passes on no further request.
    virtual HandlerResult handle(const RequestView& request,
                                 Reply& reply,
                                 Completion completion) = 0;

    // Checks the head of a request whose client waits for "100 Continue" before it sends the body,
    // which `request` lacks. False: `reply` is the answer, and the connection is closed after it.
    virtual bool check_head(const RequestView& request, Reply& reply) = 0;

    // Writes the answer to a malformed request, or to one at which handle() or check_head() threw.
    // The connection is closed after it.
    virtual void protocol_error(const WireError& error, Reply& reply) = 0;
};

// The reply of an exchange and the connection that waits for it. Owned by its connection; if that
// closes before the handler has answered, by the handler's Completion. Used by one thread.
class PendingExchange {
  public:
    enum class State : std::uint8_t {
        kHandling,   // handle() has not returned
        kWaiting,    // it has returned kDeferred
        kAnswered,   // the completion was called
        kAbandoned,  // the completion was dropped
    };

    void start() {
        state_ = State::kHandling;
        is_stream = false;
        failure.clear();
    }
    // Call after handle() has returned kDeferred and neither called nor dropped its completion.
    void wait_for(Connection* connection) {
        state_ = State::kWaiting;
        connection_ = connection;
    }
    void orphan() { connection_ = nullptr; }

    // The completion was called or dropped. Deletes an orphan.
    void end(State how);

    State state() const { return state_; }

    // False once the connection has closed.
    bool is_open() const { return state_ == State::kHandling || connection_ != nullptr; }
    // See ReplyStream::send().
    bool send(std::string_view piece);

    // The memory that it has allocated.
    std::size_t held_bytes() const { return reply.held_bytes() + allocated_bytes(failure); }

    Reply reply;
    ReplyFraming framing;
    bool is_stream = false;  // a ReplyStream holds the completion
    std::string failure;     // the message of an exception from handle()

  private:
    State state_ = State::kHandling;
    Connection* connection_ = nullptr;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_EXCHANGE_H_
