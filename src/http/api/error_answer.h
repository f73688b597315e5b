// Error answers: their format, types and counters.
#ifndef SLUICE_HTTP_API_ERROR_ANSWER_H_
#define SLUICE_HTTP_API_ERROR_ANSWER_H_

#include <optional>
#include <string_view>

#include "http/api/body_reader.h"
#include "http/wire/exchange.h"

namespace sluice::http {

struct Call;

// The format of an error: that of Unkey's v2 API or of its v1 API.
enum class ErrorFormat { kV2, kV1 };

// Error types of Unkey that do not follow from the status. Each is a path below
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
    std::string_view detail;  // one sentence
    std::string_view accept;  // the request's header of that name
    std::string_view type{};  // empty: the default of the status
    ErrorFormat format = ErrorFormat::kV2;
    std::optional<HeaderField> field{};  // a header field that the status requires
    const FieldErrors* field_errors = nullptr;
};

// Writes {"meta":{...},"error":{"title","detail","status","type"}}; with status 400 also "errors",
// which the published clients require even if it is empty. In the v1 format it is
// {"error":{"code","docs","message","requestId"}}. The content type is application/problem+json if
// the client accepts that, with the same body.
void write_error(const ErrorAnswer& error, Reply& reply);

// Answers a request with write_error() and counts it. For status 500 see answer_failure().
void answer_error(Call& call,
                  int status,
                  std::string_view detail,
                  const std::optional<HeaderField>& field = std::nullopt,
                  std::string_view type = {});

// Answers with status 500. `cause` goes to the log only: it may name files and servers.
void answer_failure(Call& call, std::string_view detail, std::string_view cause);

// Answers with status 400 and call.scratch.errors.
void answer_field_errors(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_ERROR_ANSWER_H_
