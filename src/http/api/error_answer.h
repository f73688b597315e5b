// Answers that tell what went wrong.
#ifndef SLUICE_HTTP_API_ERROR_ANSWER_H_
#define SLUICE_HTTP_API_ERROR_ANSWER_H_

#include <span>
#include <string_view>

#include "http/api/problems.h"
#include "http/wire/exchange.h"

namespace sluice::http {

struct Call;

struct ErrorAnswer {
    int status;
    std::string_view request_id;
    std::string_view detail;  // a sentence for a person
    std::string_view accept;  // the request's header of that name
    const Problems* problems = nullptr;
};

// Begins an error's reply: status and content type. Header fields may follow, then write_error_body().
void begin_error(const ErrorAnswer& error, Reply& reply);

// {"meta":{...},"error":{"title","detail","status","type"}}; with status 400 also "errors", which the published
// clients insist on, even where it is empty.
void write_error_body(const ErrorAnswer& error, Reply& reply);

// Both of the above, for an error that needs no header field. It is counted.
void answer_error(Call& call, int status, std::string_view detail);

// Status 400 with call.scratch.problems.
void answer_problems(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_ERROR_ANSWER_H_
