// A line in the log for each request, where somebody asked for that.
#ifndef SLUICE_CLI_REQUEST_LOG_H_
#define SLUICE_CLI_REQUEST_LOG_H_

#include <string_view>

#include "http/wire/exchange.h"
#include "log/log.h"

namespace sluice::cli {

// Stands before another handler and notes what it answered. Headers and bodies, which may hold
// secrets, are not noted. Owned by the thread that owns the handler.
class RequestLog final : public http::Handler {
  public:
    RequestLog(http::Handler& handler, Log& log) : handler_(handler), log_(log) {}

    http::Progress handle(const http::RequestView& request,
                          http::Reply& reply,
                          http::Completion later) override;
    void protocol_error(int status,
                        std::string_view detail,
                        std::string_view accept,
                        http::Reply& reply) override;

  private:
    http::Handler& handler_;
    Log& log_;
};

}  // namespace sluice::cli

#endif  // SLUICE_CLI_REQUEST_LOG_H_
