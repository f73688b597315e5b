// One HTTP exchange as a handler sees it: the request, the reply, and how to answer later.
#ifndef SLUICE_HTTP_WIRE_EXCHANGE_H_
#define SLUICE_HTTP_WIRE_EXCHANGE_H_

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::http {

class HeadParser;
class PendingExchange;

struct HeaderField {
    std::string_view name;
    std::string_view value;  // without the white space around it; may be empty
};

// A complete request. All views point into memory that is reused: they are valid until
// Handler::handle() returns. A handler that answers later copies what it needs.
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

    // The first value of the field `name`, in any case; empty if there is none.
    std::string_view header(std::string_view name) const;
    bool has_header(std::string_view name) const { return find(name) != nullptr; }
    std::span<const HeaderField> headers() const { return {fields_.data(), field_count_}; }
    void forget_headers() { field_count_ = 0; }
    // Copies those of another request's fields that have one of these names. `texts` keeps them.
    void copy_headers(const RequestView& from,
                      std::span<const std::string_view> names,
                      std::string& texts);

  private:
    friend class HeadParser;

    const HeaderField* find(std::string_view name) const;

    std::array<HeaderField, kMaxHeaders> fields_;
    std::size_t field_count_ = 0;
};

// A response in the making. Objects are reused, so that writing one allocates nothing in the steady
// state. Content-Length, Date and Connection are added when it is sent: a handler must not set
// them.
//
//     reply.begin(200, "application/json");
//     reply.header("Retry-After", "3");
//     reply.body() += "{}";
class Reply {
  public:
    // Starts over, whatever was written before. An empty content type writes no such field.
    void begin(int status, std::string_view content_type);

    // Name and value are the program's own: CR and LF in them are the caller's fault, and are
    // replaced by a space.
    void header(std::string_view name, std::string_view value);

    std::string& body() { return body_; }
    const std::string& body() const { return body_; }

    int status() const { return status_; }
    // The header fields so far, each with its CRLF.
    std::string_view fields() const { return fields_; }

  private:
    int status_ = 500;
    std::string fields_;
    std::string body_;
};

enum class Progress {
    kDone,   // the reply is complete
    kLater,  // the handler kept the Completion and will call it
};

// The right to finish a reply later. Call it once, on the thread that called handle(), when the
// reply is complete; the reply must not be touched afterwards. Destroyed without a call, it answers
// with a 500. It does nothing where the connection has gone meanwhile, but until then the reply
// stays valid.
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
    void drop();

    PendingExchange* exchange_;
};

// An error that the connection itself answers with.
struct WireError {
    int status;                 // 400, 408, 413, 417, 431, 500, 501, 503 or 505
    std::string_view detail;    // one sentence for the person who wrote the client
    std::string_view accept{};  // the request's field of that name, where that was understood
    std::string_view cause{};   // of a 500, for the log and not for the client
};

// What answers requests. Each serving thread has a handler of its own, which is called on that
// thread only.
class Handler {
  public:
    virtual ~Handler() = default;

    // Until a kLater is completed, its connection hands over no further request.
    virtual Progress handle(const RequestView& request, Reply& reply, Completion later) = 0;

    // Judges the head of a request whose client waits for "100 Continue" before it sends the body,
    // which `request` lacks. False: the client must not send it; `reply` is the answer, after which
    // the connection is closed.
    virtual bool check_head(const RequestView& request, Reply& reply) = 0;

    // Words an answer to what never became a request, or to one at which handle() or check_head()
    // failed. The connection is closed after it.
    virtual void protocol_error(const WireError& error, Reply& reply) = 0;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_EXCHANGE_H_
