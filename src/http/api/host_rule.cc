#include "http/api/host_rule.h"

#include <algorithm>
#include <array>
#include <optional>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http/wire/characters.h"

namespace sluice::http {
namespace {

bool is_port(std::string_view text) {
    return text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit);
}

struct Host {
    std::string_view name;  // without brackets
    bool is_bracketed;
};

// Takes HOST, HOST:PORT, [IPv6] and [IPv6]:PORT apart; none if it is neither.
std::optional<Host> parse_host(std::string_view text) {
    const bool is_bracketed = text.starts_with('[');
    const std::size_t end = is_bracketed ? text.find(']') : std::min(text.find(':'), text.size());
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(is_bracketed ? end + 1 : end);
    if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return std::nullopt;
    return Host{is_bracketed ? text.substr(1, end - 1) : text.substr(0, end), is_bracketed};
}

bool is_loopback_address(const Host& host) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (host.name.size() >= text.size()) return false;
    std::copy(host.name.begin(), host.name.end(), text.begin());
    if (host.is_bracketed) {
        in6_addr six{};
        if (inet_pton(AF_INET6, text.data(), &six) != 1) return false;
        return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
    }
    in_addr four{};
    return inet_pton(AF_INET, text.data(), &four) == 1 && ntohl(four.s_addr) >> 24U == 127;
}

bool ends_with_in_any_case(std::string_view text, std::string_view end) {
    return text.size() >= end.size() &&
           equal_in_any_case(text.substr(text.size() - end.size()), end);
}

}  // namespace

HostRule HostRule::local(std::vector<std::string> names) {
    HostRule rule;
    rule.is_local_ = true;
    rule.names_ = std::move(names);
    return rule;
}

bool HostRule::allows(const RequestView& request) const {
    if (!is_local_ || !request.has_header("host")) return true;
    return allows_host(request.header("host"));
}

bool HostRule::allows_host(std::string_view text) const {
    const auto host = parse_host(text);
    if (!host || host->name.empty()) return false;
    if (is_loopback_address(*host)) return true;
    if (host->is_bracketed) return false;
    std::string_view name = host->name;
    if (name.ends_with('.')) name.remove_suffix(1);
    const auto is_same = [&](const std::string& allowed) {
        return equal_in_any_case(name, allowed);
    };
    return equal_in_any_case(name, "localhost") || ends_with_in_any_case(name, ".localhost") ||
           std::any_of(names_.begin(), names_.end(), is_same);
}

}  // namespace sluice::http
