// The URL of an OpenTelemetry collector.
#ifndef SLUICE_URL_COLLECTOR_URL_H_
#define SLUICE_URL_COLLECTOR_URL_H_

#include <sluice/result.h>

#include <string>
#include <string_view>

#include "url/url_parts.h"

namespace sluice {

struct CollectorUrl {
    HostPort server;
    std::string path;  // begins with a slash

    std::string shown() const;
};

// Parses http://HOST[:PORT][/PATH]. The port is 4318 and the path /v1/traces if there is none. The
// error says what is wrong and what is allowed.
Result<CollectorUrl> parse_collector_url(std::string_view text);

}  // namespace sluice

#endif  // SLUICE_URL_COLLECTOR_URL_H_
