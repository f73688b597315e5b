#include "url/url_parts.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace sluice {
namespace {

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_host_name(std::string_view text) {
    const auto fits = [](unsigned char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    };
    return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), fits);
}

bool is_ipv6(const std::string& text) {
    in6_addr address{};
    return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// Parses ":PORT"; an empty text leaves `port` as it is.
UrlFault parse_port(std::string_view text, std::uint16_t& port) {
    if (text.empty()) return std::nullopt;
    const std::string_view digits = text.substr(1);
    const char* const end = digits.data() + digits.size();
    const auto [last, failed] = std::from_chars(digits.data(), end, port);
    const bool is_port = failed == std::errc{} && last == end && port != 0;
    if (text.front() != ':' || !is_port) return "has a port that is no number from 1 to 65535";
    return std::nullopt;
}

}  // namespace

UrlFault parse_host_port(std::string_view text, HostPort& parsed) {
    if (!text.starts_with('[')) {
        parsed.host = text.substr(0, std::min(text.find(':'), text.size()));
        if (!is_host_name(parsed.host)) return "has no valid host name";
        return parse_port(text.substr(parsed.host.size()), parsed.port);
    }
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return "has no ] behind its IPv6 address";
    parsed.host = text.substr(1, end - 1);
    if (!is_ipv6(parsed.host)) return "has no IPv6 address between its brackets";
    return parse_port(text.substr(end + 1), parsed.port);
}

std::string to_string(const HostPort& address) {
    const bool is_six = address.host.find(':') != std::string::npos;
    return (is_six ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            bytes += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const int high = digit_of(text[i + 1]);
        const int low = digit_of(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return bytes;
}

}  // namespace sluice
