// Values of the request headers that the API uses, and the check of the Host header.
#ifndef SLUICE_HTTP_API_REQUEST_HEADERS_H_
#define SLUICE_HTTP_API_REQUEST_HEADERS_H_

#include <sluice/time.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/wire/exchange.h"

namespace sluice::http {

// Content-Type: true for application/json with any parameters.
bool is_json(std::string_view content_type);

// Accept: true if it names application/problem+json with a quality no lower than that of
// application/json.
bool accepts_problem_json(std::string_view accept);

// Accept-Encoding: true if it names gzip, or any coding, with a quality above zero.
bool accepts_gzip(std::string_view accept_encoding);

// If-None-Match: true if it is `*` or names `tag`, which includes its quotes. Weak and strong tags
// are equal here (RFC 9110, 13.1.2).
bool names_entity_tag(std::string_view if_none_match, std::string_view tag);

// Prefer (RFC 7240): true if it contains status=429.
bool prefers_429(std::string_view prefer);

// Authorization: the token of the scheme Bearer, which may be empty; none for another scheme.
std::optional<std::string_view> bearer_token(std::string_view authorization);

// X-Test-Time: milliseconds since 1970, up to 2^53 - 1.
std::optional<UnixTime> test_time(std::string_view value);

// The hosts that a request may name in its Host header. Protects a listener on loopback against DNS
// rebinding: a web page can make a browser on this machine send requests to 127.0.0.1 by a host
// name that its owner controls, and such a request carries that name.
//
// Immutable, hence thread-safe.
class HostRule {
  public:
    enum class Access { kOpen, kByToken };

    // Allows every host.
    HostRule() = default;

    // Allows `localhost`, names under `.localhost`, loopback addresses and `names`, in any case and
    // with any port.
    static HostRule local(std::vector<std::string> names);

    // The rule behind a proxy, which passes on the name that its client used: every host while
    // requests need a token, which a foreign page doesn't have; otherwise as local().
    static HostRule proxied(std::vector<std::string> names);

    // A request without a Host header, which HTTP/1.0 permits, comes from no browser and is
    // allowed.
    bool allows(const RequestView& request, Access access) const;

  private:
    enum class Checks { kNothing, kOpenAccess, kAll };

    HostRule(Checks checks, std::vector<std::string> names);
    bool allows_host(std::string_view host) const;

    Checks checks_ = Checks::kNothing;
    std::vector<std::string> names_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_REQUEST_HEADERS_H_
