// Replies as bytes.
#ifndef SLUICE_HTTP_WIRE_REPLY_WRITER_H_
#define SLUICE_HTTP_WIRE_REPLY_WRITER_H_

#include <chrono>
#include <string>
#include <string_view>

#include "http/wire/exchange.h"

namespace sluice::http {

enum class After : bool { kKeepAlive, kClose };

// What the request means for how its reply is framed.
struct ReplyFraming {
    After after = After::kKeepAlive;
    int minor_version = 1;   // of the request
    bool head_only = false;  // the answer to HEAD: fields as for GET, no body
};

// Appends replies, with Date, Content-Length and Connection, to an output. Owned by one thread.
class ReplyWriter {
  public:
    // Sets the time of the replies to come. Costs nothing within the same second.
    void set_time(std::chrono::sys_seconds now);

    void write(const Reply& reply, ReplyFraming framing, std::string& out) const;

  private:
    std::chrono::sys_seconds now_{};
    std::string date_ = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
};

std::string_view reason_of(int status);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_REPLY_WRITER_H_
