// The parts that the URLs of stores have in common: host and port, and percent-encoded text.
#ifndef SLUICE_URL_URL_PARTS_H_
#define SLUICE_URL_URL_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// What is wrong with a URL, as in "the URL has no valid host name"; none if it is valid.
using UrlFault = std::optional<std::string_view>;

struct HostPort {
    std::string host;  // an IPv6 address without its brackets
    std::uint16_t port = 0;
};

// Parses HOST[:PORT] into `parsed`, where HOST is a name, an IPv4 address or an IPv6 address in
// brackets. Without a port, that of `parsed` stays.
[[nodiscard]] UrlFault parse_host_port(std::string_view text, HostPort& parsed);

// As parse_host_port() reads it.
std::string to_string(const HostPort& address);

// `text` with each %XX replaced by its byte; none if a % is not followed by two digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace sluice

#endif  // SLUICE_URL_URL_PARTS_H_
