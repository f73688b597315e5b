// What answers each route. The request has been authorised, and has a JSON body where the route
// takes one.
#ifndef SLUICE_HTTP_API_ROUTES_H_
#define SLUICE_HTTP_API_ROUTES_H_

#include "http/api/call.h"

namespace sluice::http {

void answer_limit(Call& call);
void answer_v1_limit(Call& call);
void answer_multi_limit(Call& call);
void answer_inspect(Call& call);

void answer_set_override(Call& call);
void answer_get_override(Call& call);
void answer_list_overrides(Call& call);
void answer_delete_override(Call& call);

void answer_health(Call& call);
void answer_liveness(Call& call);
void answer_ready(Call& call);
void answer_metrics(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_ROUTES_H_
