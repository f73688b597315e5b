// The HTTP API: routes, authorisation, and the error shape of everything else.
#ifndef SLUICE_HTTP_API_API_H_
#define SLUICE_HTTP_API_API_H_

#include <string_view>

#include "http/api/api_context.h"
#include "http/api/call.h"
#include "http/api/request_id.h"
#include "http/wire/exchange.h"

namespace sluice::http {

struct Route;

// Answers the requests of one serving thread; each thread has its own. Nearly everything is
// answered at once, out of memory. A decision that needs a fresher count is answered later, when
// the origin has been heard, and a change of an override when its store has taken it.
//
// The order of the checks: host (421), route (404), method (405), token (401), permission (403),
// content type (415), body (400), namespace (403). A request that fails any of them changes
// nothing.
class Api final : public Handler {
  public:
    explicit Api(const ApiContext& context);

    Progress handle(const RequestView& request, Reply& reply, Completion later) override;
    bool check_head(const RequestView& request, Reply& reply) override;
    void protocol_error(const WireError& error, Reply& reply) override;

  private:
    bool check(Call& call, const Route* route);
    bool check_token(Call& call, const Route& route);

    const ApiContext context_;
    TokenReader tokens_;
    overrides::Reader overrides_;
    RequestIdSource ids_;
    ReportNotes notes_;  // of the request at hand
    Scratch scratch_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_API_H_
