#include "url/collector_url.h"

#include <algorithm>
#include <cstdint>

namespace sluice {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::uint16_t kPort = 4318;

Error invalid(std::string_view what) {
    return {kInvalidOption,
            "the URL of the collector " + std::string(what) +
                "; allowed is http://HOST[:PORT][/PATH], without user and query"};
}

bool is_in_path(char c) {
    return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '"' && c != '\\';
}

}  // namespace

std::string CollectorUrl::shown() const {
    return std::string(kScheme) + to_string(server) + path;
}

Result<CollectorUrl> parse_collector_url(std::string_view text) {
    if (!text.starts_with(kScheme)) return invalid("does not begin with http://");
    text.remove_prefix(kScheme.size());
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view path = text.substr(slash);
    CollectorUrl url{.server = {.host = {}, .port = kPort}, .path = "/v1/traces"};
    if (const auto fault = parse_host_port(text.substr(0, slash), url.server))
        return invalid(*fault);
    if (!std::ranges::all_of(path, is_in_path)) return invalid("has a path that is not one");
    if (path.size() > 1) url.path = path;
    return url;
}

}  // namespace sluice
