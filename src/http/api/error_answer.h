// Answers that tell what went wrong.
#ifndef SLUICE_HTTP_API_ERROR_ANSWER_H_
#define SLUICE_HTTP_API_ERROR_ANSWER_H_

#include <optional>
#include <string_view>

#include "http/api/problems.h"
#include "http/wire/exchange.h"

namespace sluice::http {

struct Call;

struct ErrorAnswer {
    int status;
    std::string_view request_id;
    std::string_view detail;             // a sentence for a person
    std::string_view accept;             // the request's header of that name
    std::optional<HeaderField> field{};  // a header field that the status calls for
    const Problems* problems = nullptr;
};

// Writes {"meta":{...},"error":{"title","detail","status","type"}}; with status 400 also "errors",
// which the published clients insist on, even where it is empty. The body is the same for either
// content type.
void write_error(const ErrorAnswer& error, Reply& reply);

// The same for a request, and counts it.
void answer_error(Call& call,
                  int status,
                  std::string_view detail,
                  const std::optional<HeaderField>& field = std::nullopt);

// Status 400 with call.scratch.problems.
void answer_problems(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_ERROR_ANSWER_H_
