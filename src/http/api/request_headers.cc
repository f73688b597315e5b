#include "http/api/request_headers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http/wire/characters.h"

namespace sluice::http {

namespace {

// Removes the part up to `separator` from the front of `rest` and returns it, trimmed. A separator
// between quotes does not count.
std::string_view next_part(std::string_view& rest, char separator) {
    std::size_t end = 0;
    bool quoted = false;
    for (; end < rest.size() && (quoted || rest[end] != separator); ++end) {
        if (rest[end] == '"') quoted = !quoted;
        if (quoted && rest[end] == '\\') ++end;
    }
    end = std::min(end, rest.size());
    const std::string_view part = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

std::string_view unquote(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
    return text.substr(1, text.size() - 2);
}

// Returns a quality from 0 to 1 in thousandths: 500 for "0.5". A malformed one counts as 1, like a
// missing one.
int parse_quality(std::string_view text) {
    if (!text.starts_with("0")) return 1000;
    if (text.size() < 2 || text[1] != '.') return 0;
    int quality = 0;
    int unit = 100;
    for (const char c : text.substr(2, 3)) {
        if (c < '0' || c > '9') return 1000;
        quality += (c - '0') * unit;
        unit /= 10;
    }
    return quality;
}

int quality_of(std::string_view parameters) {
    while (!parameters.empty()) {
        const std::string_view parameter = next_part(parameters, ';');
        if (parameter.starts_with("q=") || parameter.starts_with("Q=")) {
            return parse_quality(parameter.substr(2));
        }
    }
    return 1000;
}

}  // namespace

bool is_json(std::string_view content_type) {
    return equal_in_any_case(next_part(content_type, ';'), "application/json");
}

bool accepts_problem_json(std::string_view accept) {
    int problem = 0;
    int json = 0;
    while (!accept.empty()) {
        std::string_view range = next_part(accept, ',');
        const std::string_view type = next_part(range, ';');
        if (equal_in_any_case(type, "application/problem+json")) problem = quality_of(range);
        if (equal_in_any_case(type, "application/json")) json = quality_of(range);
    }
    return problem > 0 && problem >= json;
}

bool accepts_gzip(std::string_view accept_encoding) {
    int any = 0;
    while (!accept_encoding.empty()) {
        std::string_view part = next_part(accept_encoding, ',');
        const std::string_view coding = next_part(part, ';');
        if (equal_in_any_case(coding, "gzip")) return quality_of(part) > 0;
        if (coding == "*") any = quality_of(part);
    }
    return any > 0;
}

bool names_entity_tag(std::string_view if_none_match, std::string_view tag) {
    if (trim(if_none_match) == "*") return true;
    while (!if_none_match.empty()) {
        std::string_view each = next_part(if_none_match, ',');
        if (each.starts_with("W/")) each.remove_prefix(2);
        if (each == tag) return true;
    }
    return false;
}

bool prefers_429(std::string_view prefer) {
    while (!prefer.empty()) {
        std::string_view preference = next_part(prefer, ',');
        std::string_view setting = next_part(preference, ';');
        const std::string_view name = next_part(setting, '=');
        if (equal_in_any_case(name, "status") && unquote(trim(setting)) == "429") return true;
    }
    return false;
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
    constexpr std::string_view kScheme = "Bearer";
    authorization = trim(authorization);
    if (!equal_in_any_case(authorization.substr(0, kScheme.size()), kScheme)) return std::nullopt;
    authorization.remove_prefix(kScheme.size());
    if (!authorization.empty() && authorization.front() != ' ') return std::nullopt;
    return trim(authorization);
}

std::optional<UnixTime> test_time(std::string_view value) {
    constexpr std::int64_t kMaxTime = (std::int64_t{1} << 53) - 1;
    value = trim(value);
    std::int64_t time = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), time);
    const bool is_whole = error == std::errc{} && end == value.data() + value.size();
    if (!is_whole || time < 0 || time > kMaxTime) return std::nullopt;
    return UnixTime{std::chrono::milliseconds{time}};
}

namespace {

bool is_port(std::string_view text) {
    return text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit);
}

struct Host {
    std::string_view name;  // without brackets
    bool is_bracketed;
};

// Parses HOST, HOST:PORT, [IPv6] and [IPv6]:PORT.
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

HostRule::HostRule(Checks checks, std::vector<std::string> names)
    : checks_(checks), names_(std::move(names)) {}

HostRule HostRule::local(std::vector<std::string> names) {
    return {Checks::kAll, std::move(names)};
}

HostRule HostRule::proxied(std::vector<std::string> names) {
    return {Checks::kOpenAccess, std::move(names)};
}

bool HostRule::allows(const RequestView& request, Access access) const {
    const bool is_checked =
        checks_ == Checks::kAll || (checks_ == Checks::kOpenAccess && access == Access::kOpen);
    return !is_checked || !request.has_header("host") || allows_host(request.header("host"));
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
