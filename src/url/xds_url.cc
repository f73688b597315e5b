#include "url/xds_url.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr std::string_view kPlain = "xds://";
constexpr std::string_view kTls = "xdss://";
constexpr std::string_view kAllowed =
    "xds://HOST:PORT?node=ID[&cluster=NAME], or with TLS xdss://, where ID and NAME are 1 to 256 "
    "printable ASCII characters, those that are special in URLs as %XX";
constexpr std::size_t kLongestName = 256;

bool is_name(std::string_view text) {
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    return !text.empty() && text.size() <= kLongestName &&
           std::all_of(text.begin(), text.end(), is_printable);
}

UrlFault read_option(std::string_view option, XdsUrl& url) {
    const std::size_t equals = option.find('=');
    const std::string_view name = option.substr(0, std::min(equals, option.size()));
    std::string* const place = name == "node"      ? &url.node
                               : name == "cluster" ? &url.cluster
                                                   : nullptr;
    if (place == nullptr || equals == std::string_view::npos)
        return "has an option that is neither node=ID nor cluster=NAME";
    if (!place->empty()) return "has an option twice";
    auto value = percent_decoded(option.substr(equals + 1));
    if (!value) return "has a % without two hexadecimal digits";
    if (!is_name(*value)) return "has a node or cluster that is empty, too long or not printable";
    *place = *std::move(value);
    return std::nullopt;
}

UrlFault read(std::string_view rest, XdsUrl& url) {
    const std::size_t question = std::min(rest.find('?'), rest.size());
    std::string_view address = rest.substr(0, question);
    if (address.ends_with('/')) address.remove_suffix(1);
    if (const auto fault = parse_host_port(address, url.server)) return fault;
    if (url.server.port == 0) return "has no port";
    for (rest.remove_prefix(question); !rest.empty();) {
        rest.remove_prefix(1);
        const std::size_t end = std::min(rest.find('&'), rest.size());
        if (const auto fault = read_option(rest.substr(0, end), url)) return fault;
        rest.remove_prefix(end);
    }
    if (url.node.empty()) return "has no node";
    return std::nullopt;
}

std::string encoded(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    constexpr std::string_view kMarks = "-._~:/";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || kMarks.find(c) != std::string_view::npos) {
            out += c;
        } else {
            ((out += '%') += kDigits[byte >> 4U]) += kDigits[byte & 15U];
        }
    }
    return out;
}

}  // namespace

Result<XdsUrl> parse_xds_url(std::string_view text) {
    XdsUrl url;
    url.tls = text.starts_with(kTls);
    UrlFault fault = "begins with neither xds:// nor xdss://";
    if (is_xds_url(text)) fault = read(text.substr(url.tls ? kTls.size() : kPlain.size()), url);
    if (!fault) return url;
    return Error{kInvalidOption,
                 "the xDS URL " + std::string(*fault) + "; allowed is " + std::string(kAllowed)};
}

bool is_xds_url(std::string_view text) {
    return text.starts_with(kPlain) || text.starts_with(kTls);
}

std::string to_string(const XdsUrl& url) {
    return std::string(url.tls ? kTls : kPlain) + to_string(url.server) +
           "?node=" + encoded(url.node) +
           (url.cluster.empty() ? "" : "&cluster=" + encoded(url.cluster));
}

}  // namespace sluice
