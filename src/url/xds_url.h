// The URL of a management server that speaks xDS: its address, and the node that it sees.
#ifndef SLUICE_URL_XDS_URL_H_
#define SLUICE_URL_XDS_URL_H_

#include <sluice/result.h>

#include <string>
#include <string_view>

#include "url/url_parts.h"

namespace sluice {

struct XdsUrl {
    bool tls = false;
    HostPort server;
    std::string node;
    std::string cluster{};  // empty: none
};

// Parses
//
//     xds://host:port?node=id[&cluster=name]
//
// and the same with TLS as xdss://. The error says what is wrong and what is allowed.
Result<XdsUrl> parse_xds_url(std::string_view text);

// Whether `text` begins like such a URL.
bool is_xds_url(std::string_view text);

// As parse_xds_url() reads it.
std::string to_string(const XdsUrl& url);

}  // namespace sluice

#endif  // SLUICE_URL_XDS_URL_H_
