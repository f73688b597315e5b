// The address that a server listens on.
#ifndef SLUICE_CONFIG_ADDRESS_H_
#define SLUICE_CONFIG_ADDRESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::config {

struct Address {
    std::string host;        // an IPv4 or IPv6 address without brackets
    std::uint16_t port = 0;  // 0: any free port

    bool operator==(const Address&) const = default;
};

// Parses HOST:PORT, where HOST is an IPv4 address, an IPv6 address in brackets, or `localhost` for
// 127.0.0.1. Other names are not resolved: their address may change, and with it whether the
// listener is on loopback.
std::optional<Address> parse_address(std::string_view text);

// The same, or a port alone, which means that port of 127.0.0.1.
std::optional<Address> parse_admin_address(std::string_view text);

// As parse_address() reads it.
std::string to_string(const Address& address);

// Whether only this machine can reach it.
bool is_loopback(const Address& address);

// Whether it is the wildcard, which means all addresses of this machine.
bool is_any(const Address& address);

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_ADDRESS_H_
