// One request while it is answered.
#ifndef SLUICE_HTTP_API_CALL_H_
#define SLUICE_HTTP_API_CALL_H_

#include <sluice/limiter.h>

#include <chrono>
#include <string_view>
#include <vector>

#include "http/api/api_context.h"
#include "http/api/body_reader.h"
#include "http/api/error_answer.h"
#include "http/api/fields.h"
#include "http/api/json_writer.h"
#include "http/api/problems.h"
#include "http/api/request_report.h"
#include "http/wire/exchange.h"

namespace sluice::http {

// Memory that the requests of one thread use one after the other, so that none of them has to
// allocate.
struct Scratch {
    BodyReader reader;
    Problems problems;
    std::vector<Fields> items;
    std::vector<Request> requests;
    std::vector<const overrides::Override*>
        applied;  // in the order of `requests`; null where none applies
};

struct Call {
    const RequestView& request;
    Reply& reply;
    const ApiContext& context;
    Scratch& scratch;
    const overrides::Reader& overrides;
    const Caller* caller;  // who asks; null only on routes that need no token
    std::string_view request_id;
    ErrorFormat error_format;
    ReportNotes& notes;
    Completion& completion;
    bool is_late = false;  // a DeferredCall has taken over
};

// Starts an answer. Header fields may follow, then open_data().
void begin_answer(Call& call, int status);

// Writes {"meta":{...},"data": and leaves the rest to the caller, up to the closing brace.
JsonWriter open_data(Call& call);

// Reads the body as one object. False: it was answered with 400.
bool read_fields(Call& call, Schema schema, Fields& fields);

// Reports a request that was answered.
void report_answer(const Call& call, std::chrono::steady_clock::duration took);

// False: the caller's token doesn't cover the namespace, and 403 was answered.
bool check_namespace(Call& call, std::string_view name_space);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_CALL_H_
