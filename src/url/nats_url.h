// The URL of a NATS bus: its servers and how to log in.
#ifndef SLUICE_URL_NATS_URL_H_
#define SLUICE_URL_NATS_URL_H_

#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "url/url_parts.h"

namespace sluice {

struct NatsUrl {
    bool tls = false;
    std::vector<HostPort> servers;  // 1 to 64, any of which will do
    std::string user;
    std::string password;
    std::string token;  // instead of user and password

    // For messages and logs: without user, password and token.
    std::string shown() const;
};

// Parses
//
//     nats://[user:password@]host[:port][,host[:port]...]
//     nats://[token@]host[:port][,host[:port]...]
//
// and both with TLS as tls://. The port is 4222 if there is none. User, password and token may hold
// any byte but zero as %XX. The error says what is wrong and what is allowed, and repeats nothing
// of `text`: it may hold a password.
Result<NatsUrl> parse_nats_url(std::string_view text);

// Whether `text` begins like one of these URLs.
bool is_nats_url(std::string_view text);

}  // namespace sluice

#endif  // SLUICE_URL_NATS_URL_H_
