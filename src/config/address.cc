#include "config/address.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <arpa/inet.h>

namespace sluice::config {
namespace {

// Parses an IP address as IPv6; IPv4 is mapped.
std::optional<in6_addr> parse_ip(const std::string& host) {
    in6_addr six{};
    if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return six;
    if (inet_pton(AF_INET6, ("::ffff:" + host).c_str(), &six) == 1) return six;
    return std::nullopt;
}

bool is_mapped(const in6_addr& ip) {
    return IN6_IS_ADDR_V4MAPPED(&ip);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return port;
}

// The IPv4 address, or the IPv6 address without its brackets; empty if it is neither.
std::string parse_host(std::string_view text) {
    if (text == "localhost") return "127.0.0.1";
    const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
    std::string host(bracketed ? text.substr(1, text.size() - 2) : text);
    const bool is_six = host.find(':') != std::string::npos;
    return is_six == bracketed && parse_ip(host) ? host : std::string();
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string host = parse_host(text.substr(0, colon));
    const auto port = parse_port(text.substr(colon + 1));
    if (host.empty() || !port) return std::nullopt;
    return Address{std::move(host), *port};
}

std::optional<Address> parse_admin_address(std::string_view text) {
    if (const auto port = parse_port(text)) return Address{"127.0.0.1", *port};
    return parse_address(text);
}

std::string to_string(const Address& address) {
    const bool is_six = address.host.find(':') != std::string::npos;
    return (is_six ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool is_loopback(const Address& address) {
    const auto ip = parse_ip(address.host);
    if (!ip) return false;
    return IN6_IS_ADDR_LOOPBACK(&*ip) || (is_mapped(*ip) && ip->s6_addr[12] == 127);
}

bool is_any(const Address& address) {
    const auto ip = parse_ip(address.host);
    if (!ip) return false;
    const auto* const last = &ip->s6_addr[12];
    return IN6_IS_ADDR_UNSPECIFIED(&*ip) ||
           (is_mapped(*ip) && std::all_of(last, last + 4, [](auto byte) { return byte == 0; }));
}

}  // namespace sluice::config
