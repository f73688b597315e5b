// Which hosts a request may name.
#ifndef SLUICE_HTTP_API_HOST_RULE_H_
#define SLUICE_HTTP_API_HOST_RULE_H_

#include <string>
#include <string_view>
#include <vector>

#include "http/wire/exchange.h"

namespace sluice::http {

// Judges the Host field. A page of any web site can make a browser on this machine send requests to
// a listener on loopback, by a name that its owner points at 127.0.0.1 (DNS rebinding). Such a
// request names that site as its host.
//
// Immutable, hence thread-safe.
class HostRule {
  public:
    // Allows every host.
    HostRule() = default;

    // Allows `localhost`, names under `.localhost`, loopback addresses and `names`, in any case and
    // with any port.
    static HostRule local(std::vector<std::string> names);

    // A request without the field, which HTTP/1.0 allows, comes from no browser and is allowed.
    bool allows(const RequestView& request) const;

  private:
    bool allows_host(std::string_view host) const;

    bool is_local_ = false;
    std::vector<std::string> names_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_HOST_RULE_H_
