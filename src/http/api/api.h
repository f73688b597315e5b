// The HTTP API: finds the route of a request, checks its head and token, and has it answered.
#ifndef SLUICE_HTTP_API_API_H_
#define SLUICE_HTTP_API_API_H_

#include <string_view>

#include "http/api/call.h"
#include "http/api/event_streams.h"
#include "http/api/request_report.h"
#include "http/wire/exchange.h"

namespace sluice::http {

struct RouteEntry;

// The request handler of one serving thread; each thread has its own. Most requests are answered
// at once from memory. Three kinds are deferred: a decision that needs a fresher count from the
// origin, an inspection, and a change of an override, which is answered once it is stored. A stream
// of events goes on until the client ends it.
//
// The order of the checks: host (421), route (404), method (405), token (401), permission (403),
// content type (415), body (400), namespace (403). A request that fails any of them changes
// nothing.
class Api final : public Handler {
  public:
    explicit Api(const ApiContext& context);

    HandlerResult handle(const RequestView& request, Reply& reply, Completion completion) override;
    bool check_head(const RequestView& request, Reply& reply) override;
    void protocol_error(const WireError& error, Reply& reply) override;

    // Sends an event to all streams. To be called once a second, between two requests.
    void send_events();

  private:
    Call make_call(const RequestView& request,
                   Reply& reply,
                   const RouteEntry* route,
                   Completion& completion);
    bool check(Call& call, const RouteEntry* route);
    bool check_token(Call& call, const RouteEntry& route);

    const ApiContext context_;
    TokenReader tokens_;
    overrides::OverrideSet::Reader overrides_;
    RequestIdSource ids_;
    ReportNotes notes_;  // of the current request
    Scratch scratch_;
    EventStreams streams_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_API_H_
