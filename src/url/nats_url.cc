#include "url/nats_url.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr std::string_view kPlain = "nats://";
constexpr std::string_view kTls = "tls://";
constexpr std::uint16_t kPort = 4222;
constexpr std::size_t kMaxServers = 64;

Error invalid(std::string_view what) {
    return {kInvalidOption,
            "the NATS URL " + std::string(what) +
                "; allowed are nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...], "
                "nats://[TOKEN@]HOST[:PORT][,HOST[:PORT]...] and the same with tls://, with up to "
                "64 hosts, and other characters as %XX"};
}

// None if the encoding is invalid or yields a zero byte, at which the client library would end the
// text.
std::optional<std::string> decoded(std::string_view text) {
    auto bytes = percent_decoded(text);
    if (bytes && bytes->find('\0') != std::string::npos) return std::nullopt;
    return bytes;
}

UrlFault read_login(std::string_view login, NatsUrl& url) {
    const std::size_t colon = login.find(':');
    const bool is_token = colon == std::string_view::npos;
    const auto first = decoded(login.substr(0, std::min(colon, login.size())));
    const auto second = is_token ? std::string() : decoded(login.substr(colon + 1));
    if (!first || !second)
        return "has a % without two hexadecimal digits, or one that stands for a zero";
    if (first->empty()) return "has neither a user nor a token before its @";
    if (!is_token && second->empty()) return "has a user without a password";
    (is_token ? url.token : url.user) = *first;
    url.password = *second;
    return std::nullopt;
}

UrlFault read_servers(std::string_view hosts, NatsUrl& url) {
    for (bool is_last = false; !is_last;) {
        const std::size_t comma = std::min(hosts.find(','), hosts.size());
        is_last = comma == hosts.size();
        HostPort server{.host = {}, .port = kPort};
        if (const auto fault = parse_host_port(hosts.substr(0, comma), server)) return fault;
        if (url.servers.size() == kMaxServers) return "has more than 64 hosts";
        url.servers.push_back(std::move(server));
        if (!is_last) hosts.remove_prefix(comma + 1);
    }
    return std::nullopt;
}

UrlFault read(std::string_view rest, NatsUrl& url) {
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos) {
        if (const auto fault = read_login(rest.substr(0, at), url)) return fault;
        rest.remove_prefix(at + 1);
    }
    if (rest.ends_with('/')) rest.remove_suffix(1);
    return read_servers(rest, url);
}

}  // namespace

std::string NatsUrl::shown() const {
    std::string text(tls ? kTls : kPlain);
    for (const HostPort& server : servers)
        text += (text.ends_with('/') ? "" : ",") + to_string(server);
    return text;
}

Result<NatsUrl> parse_nats_url(std::string_view text) {
    if (!is_nats_url(text)) return invalid("begins with neither nats:// nor tls://");
    NatsUrl url;
    url.tls = text.starts_with(kTls);
    text.remove_prefix(url.tls ? kTls.size() : kPlain.size());
    if (const auto fault = read(text, url)) return invalid(*fault);
    return url;
}

bool is_nats_url(std::string_view text) {
    return text.starts_with(kPlain) || text.starts_with(kTls);
}

}  // namespace sluice
