// The URL of a server, as given on the command line.
#ifndef SLUICE_CLI_URL_H_
#define SLUICE_CLI_URL_H_

#include <sluice/result.h>

#include <string>
#include <string_view>

namespace sluice::cli {

// http://HOST[:PORT][/PREFIX], or the same with https.
struct Url {
    bool tls = false;
    std::string host;    // a name or an address; IPv6 without brackets
    std::string port;    // "80" or "443" where the URL names none
    std::string prefix;  // what stands before every path; no slash at its end

    // As the Host header wants it.
    std::string authority() const;
    bool operator==(const Url&) const = default;
};

Result<Url> parse_url(std::string_view text);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_URL_H_
