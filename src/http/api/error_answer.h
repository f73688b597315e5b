// Answers that tell what went wrong.
#ifndef SLUICE_HTTP_API_ERROR_ANSWER_H_
#define SLUICE_HTTP_API_ERROR_ANSWER_H_

#include <optional>
#include <string_view>

#include "http/api/problems.h"
#include "http/wire/exchange.h"

namespace sluice::http {

struct Call;

// How an error is written: as Unkey's v2 API does, or its v1 API.
enum class ErrorFormat { kV2, kV1 };

// The error types of Unkey that a status alone does not name; each is the path of its page below
// https://unkey.com/docs/errors/.
namespace error_type {
inline constexpr std::string_view kTokenMissing = "unkey/authentication/missing";
inline constexpr std::string_view kTokenMalformed = "unkey/authentication/malformed";
inline constexpr std::string_view kTokenUnknown = "unkey/authentication/key_not_found";
inline constexpr std::string_view kNamespaceNotFound = "unkey/data/ratelimit_namespace_not_found";
inline constexpr std::string_view kOverrideNotFound = "unkey/data/ratelimit_override_not_found";
}  // namespace error_type

struct ErrorAnswer {
    int status;
    std::string_view request_id;
    std::string_view detail;  // a sentence for a person
    std::string_view accept;  // the request's header of that name
    std::string_view type{};  // empty: that of the status
    ErrorFormat format = ErrorFormat::kV2;
    std::optional<HeaderField> field{};  // a header field that the status calls for
    const Problems* problems = nullptr;
};

// Writes {"meta":{...},"error":{"title","detail","status","type"}}; with status 400 also "errors",
// which the published clients insist on, even where it is empty. As v1 it is
// {"error":{"code","docs","message","requestId"}}. The body is the same for either content type.
void write_error(const ErrorAnswer& error, Reply& reply);

// The same for a request, and counts it. Not for status 500, which answer_failure() is for.
void answer_error(Call& call,
                  int status,
                  std::string_view detail,
                  const std::optional<HeaderField>& field = std::nullopt,
                  std::string_view type = {});

// Status 500. `cause` is for the log, not for the client: it may name files and servers.
void answer_failure(Call& call, std::string_view detail, std::string_view cause);

// Status 400 with call.scratch.problems.
void answer_problems(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_ERROR_ANSWER_H_
