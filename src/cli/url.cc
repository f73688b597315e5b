#include "cli/url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace sluice::cli {
namespace {

bool is_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    return failed == std::errc{} && end == text.data() + text.size() && port != 0;
}

// Nothing that could end a header line or begin another part of the URL.
bool is_harmless(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; }) &&
           text.find_first_of("?#@\"\\") == std::string_view::npos;
}

}  // namespace

std::string Url::authority() const {
    const bool is_six = host.find(':') != std::string::npos;
    const bool is_usual = port == (tls ? "443" : "80");
    return (is_six ? "[" + host + "]" : host) + (is_usual ? "" : ":" + port);
}

Result<Url> parse_url(std::string_view text) {
    const Error invalid{kInvalidOption,
                        "--url is \"" + std::string(text) +
                            "\"; allowed is http://HOST[:PORT][/PREFIX], or the same with https"};
    Url url;
    url.tls = text.starts_with("https://");
    if (!url.tls && !text.starts_with("http://")) return invalid;
    std::string_view rest = text.substr(url.tls ? 8 : 7);
    if (!is_harmless(rest)) return invalid;

    const std::size_t slash = std::min(rest.find('/'), rest.size());
    url.prefix = rest.substr(slash);
    while (url.prefix.ends_with('/'))
        url.prefix.pop_back();
    rest = rest.substr(0, slash);

    const bool is_six = rest.starts_with('[');
    const std::size_t end = is_six ? rest.find(']') : std::min(rest.find(':'), rest.size());
    if (end == std::string_view::npos) return invalid;
    url.host = is_six ? rest.substr(1, end - 1) : rest.substr(0, end);
    rest = rest.substr(is_six ? end + 1 : end);
    url.port = rest.empty() ? (url.tls ? "443" : "80") : std::string(rest.substr(1));
    const bool is_separated = rest.empty() || rest.front() == ':';
    if (url.host.empty() || !is_separated || !is_port(url.port)) return invalid;
    return url;
}

}  // namespace sluice::cli
