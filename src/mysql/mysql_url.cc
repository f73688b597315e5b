#include "mysql/mysql_url.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <sys/un.h>

#include "base/url_parts.h"

namespace sluice {
namespace {

constexpr std::string_view kScheme = "mysql://";

// A message, or none.
using Fault = std::optional<std::string_view>;

Error invalid(std::string_view what) {
    return {kInvalidOption,
            "the MySQL URL " + std::string(what) +
                "; allowed is mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?OPTION=VALUE&...] "
                "with the options socket=/PATH, ssl-mode=disabled|required|verify, ssl-ca=FILE, "
                "ssl-cert=FILE and ssl-key=FILE, and other characters as %XX"};
}

// None where a % stands for nothing, or where a zero is among the bytes, at which the client
// library would end the text.
std::optional<std::string> decoded(std::string_view text) {
    auto bytes = percent_decoded(text);
    if (bytes && bytes->find('\0') != std::string::npos) return std::nullopt;
    return bytes;
}

constexpr std::string_view kBadEscape =
    "has a % without two hexadecimal digits, or one that stands for a zero";

// Takes all of `rest` before the first of `ends`, or the whole, off its front.
std::string_view take_until(std::string_view& rest, std::string_view ends) {
    const std::string_view taken = rest.substr(0, std::min(rest.find_first_of(ends), rest.size()));
    rest.remove_prefix(taken.size());
    return taken;
}

Fault read_login(std::string_view login, MysqlUrl& url) {
    const std::string_view name = take_until(login, ":");
    const auto user = decoded(name);
    const auto password = decoded(login.substr(std::min<std::size_t>(1, login.size())));
    if (!user || !password) return kBadEscape;
    url.user = *user;
    url.password = *password;
    return std::nullopt;
}

Fault read_port(std::string_view text, MysqlUrl& url) {
    if (text.empty()) return std::nullopt;
    const std::string_view digits = text.substr(1);
    const char* const end = digits.data() + digits.size();
    const auto [last, failed] = std::from_chars(digits.data(), end, url.port);
    const bool is_port = failed == std::errc{} && last == end && url.port != 0;
    if (text.front() != ':' || !is_port) return "has a port that is no number from 1 to 65535";
    return std::nullopt;
}

Fault read_address(std::string_view address, MysqlUrl& url) {
    if (address.empty()) return std::nullopt;
    if (address.front() != '[') {
        url.host = take_until(address, ":");
        if (!is_host_name(url.host)) return "has no valid host name";
        return read_port(address, url);
    }
    const std::size_t end = address.find(']');
    if (end == std::string_view::npos) return "has no ] behind its IPv6 address";
    url.host = address.substr(1, end - 1);
    if (!is_ipv6(url.host)) return "has no IPv6 address between its brackets";
    return read_port(address.substr(end + 1), url);
}

Fault read_tls(std::string_view value, MysqlUrl& url) {
    if (value == "disabled") {
        url.tls = MysqlTls::kDisabled;
    } else if (value == "required") {
        url.tls = MysqlTls::kRequired;
    } else if (value == "verify") {
        url.tls = MysqlTls::kVerify;
    } else {
        return "has an ssl-mode that is neither disabled, required nor verify";
    }
    return std::nullopt;
}

Fault read_option(std::string_view option, MysqlUrl& url) {
    const std::string_view name = take_until(option, "=");
    const auto value = decoded(option.substr(std::min<std::size_t>(1, option.size())));
    if (!value) return kBadEscape;
    if (value->empty()) return "has an option without a value";
    if (name == "ssl-mode") return read_tls(*value, url);
    std::string* const place = name == "socket"     ? &url.socket_path
                               : name == "ssl-ca"   ? &url.ca
                               : name == "ssl-cert" ? &url.cert
                               : name == "ssl-key"  ? &url.key
                                                    : nullptr;
    if (place == nullptr) return "has an option that nobody knows";
    *place = *value;
    return std::nullopt;
}

Fault read_options(std::string_view rest, MysqlUrl& url) {
    while (!rest.empty()) {
        rest.remove_prefix(1);
        if (const auto fault = read_option(take_until(rest, "&"), url)) return fault;
    }
    return std::nullopt;
}

// Checks across the parts.
Fault contradiction_in(const MysqlUrl& url) {
    const std::string& socket = url.socket_path;
    if (url.host.empty() && socket.empty()) return "has neither a host nor a socket";
    if (!socket.empty() && socket.front() != '/') return "has a socket that does not begin with /";
    if (socket.size() >= sizeof(sockaddr_un::sun_path)) return "has a socket with too long a path";
    const bool has_ca = !url.ca.empty();
    const bool has_cert = !url.cert.empty();
    if (has_ca && url.tls != MysqlTls::kVerify) return "has an ssl-ca without ssl-mode=verify";
    if (has_cert == url.key.empty()) return "has one of ssl-cert and ssl-key alone";
    if (has_cert && url.tls == MysqlTls::kDisabled) return "has an ssl-cert without an ssl-mode";
    return std::nullopt;
}

Fault read(std::string_view rest, MysqlUrl& url) {
    std::string_view authority = take_until(rest, "/?");
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) {
        if (const auto fault = read_login(authority.substr(0, at), url)) return fault;
        authority.remove_prefix(at + 1);
    }
    if (const auto fault = read_address(authority, url)) return fault;
    const std::string_view path = take_until(rest, "?");
    const auto database = decoded(path.substr(std::min<std::size_t>(1, path.size())));
    if (!database) return kBadEscape;
    if (database->empty()) return "names no database";
    if (database->find('/') != std::string::npos) return "has more than a database behind its host";
    url.database = *database;
    if (const auto fault = read_options(rest, url)) return fault;
    return contradiction_in(url);
}

}  // namespace

std::string MysqlUrl::shown() const {
    std::string text(kScheme);
    if (!user.empty()) text += user + "@";
    if (socket_path.empty()) {
        const bool is_six = host.find(':') != std::string::npos;
        text += (is_six ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }
    text += "/" + database;
    return socket_path.empty() ? text : text + "?socket=" + socket_path;
}

Result<MysqlUrl> parse_mysql_url(std::string_view text) {
    if (!text.starts_with(kScheme)) return invalid("does not begin with mysql://");
    MysqlUrl url;
    if (const auto fault = read(text.substr(kScheme.size()), url)) return invalid(*fault);
    return url;
}

}  // namespace sluice
