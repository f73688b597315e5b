// Responses: what a handler writes (Reply) and how it becomes bytes (ReplyWriter).
#ifndef SLUICE_HTTP_WIRE_REPLY_H_
#define SLUICE_HTTP_WIRE_REPLY_H_

#include <chrono>
#include <string>
#include <string_view>

namespace sluice::http {

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

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_REPLY_H_
