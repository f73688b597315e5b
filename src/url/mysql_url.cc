#include "url/mysql_url.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <sys/un.h>

#include "url/url_parts.h"

namespace sluice {
namespace {

constexpr std::string_view kScheme = "mysql://";

Error invalid(std::string_view what) {
    return {kInvalidOption,
            "the MySQL URL " + std::string(what) +
                "; allowed is mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?OPTION=VALUE&...] "
                "with the options socket=/PATH, ssl-mode=disabled|required|verify, ssl-ca=FILE, "
                "ssl-cert=FILE and ssl-key=FILE, and other characters as %XX"};
}

// None if the encoding is invalid or yields a zero byte, at which the client library would end the
// text.
std::optional<std::string> decoded(std::string_view text) {
    auto bytes = percent_decoded(text);
    if (bytes && bytes->find('\0') != std::string::npos) return std::nullopt;
    return bytes;
}

constexpr std::string_view kBadEscape =
    "has a % without two hexadecimal digits, or one that stands for a zero";

// Removes the part of `rest` before the first of `ends` from its front and returns it.
std::string_view take_until(std::string_view& rest, std::string_view ends) {
    const std::string_view taken = rest.substr(0, std::min(rest.find_first_of(ends), rest.size()));
    rest.remove_prefix(taken.size());
    return taken;
}

UrlFault read_login(std::string_view login, MysqlUrl& url) {
    const std::string_view name = take_until(login, ":");
    const auto user = decoded(name);
    const auto password = decoded(login.substr(std::min<std::size_t>(1, login.size())));
    if (!user || !password) return kBadEscape;
    url.user = *user;
    url.password = *password;
    return std::nullopt;
}

UrlFault read_tls(std::string_view value, MysqlUrl& url) {
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

UrlFault read_option(std::string_view option, MysqlUrl& url) {
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
    if (place == nullptr) return "has an unknown option";
    *place = *value;
    return std::nullopt;
}

UrlFault read_options(std::string_view rest, MysqlUrl& url) {
    while (!rest.empty()) {
        rest.remove_prefix(1);
        if (const auto fault = read_option(take_until(rest, "&"), url)) return fault;
    }
    return std::nullopt;
}

// Checks that the parts fit together.
UrlFault contradiction_in(const MysqlUrl& url) {
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

UrlFault read(std::string_view rest, MysqlUrl& url) {
    std::string_view authority = take_until(rest, "/?");
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) {
        if (const auto fault = read_login(authority.substr(0, at), url)) return fault;
        authority.remove_prefix(at + 1);
    }
    if (!authority.empty()) {
        HostPort address{.host = {}, .port = url.port};
        if (const auto fault = parse_host_port(authority, address)) return fault;
        url.host = std::move(address.host);
        url.port = address.port;
    }
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
    if (socket_path.empty()) text += to_string(HostPort{.host = host, .port = port});
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
