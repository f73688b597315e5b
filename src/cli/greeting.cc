#include "cli/greeting.h"

#include "cli/version.h"

namespace sluice::cli {

namespace {

std::string url_of(config::Address address, const config::TlsSettings& tls) {
    if (config::is_any(address)) address.host = address.host == "::" ? "::1" : "127.0.0.1";
    return (tls.enabled() ? "https://" : "http://") + config::to_string(address);
}

}  // namespace

std::string url_of(const config::Settings& settings) {
    return url_of(settings.listen, settings.tls);
}

std::string greeting(const config::Settings& settings) {
    const std::string url = url_of(settings);
    const bool needs_token = !settings.tokens.empty();
    std::string text = std::string("Sluice ") + kVersion + " listens on " + url + " (region " +
                       settings.region + ").\n";
    if (settings.admin_listen)
        text += "Metrics are at " + url_of(*settings.admin_listen, settings.tls) + "/metrics.\n";
    text += needs_token ? "Set SLUICE_TOKEN to one of its tokens and try:\n\n" : "Try:\n\n";
    text += "    curl ";
    // Brackets of an IPv6 address would be a pattern to curl.
    if (url.find('[') != std::string::npos) text += "--globoff ";
    // The certificate may be for a name that this machine doesn't go by.
    if (settings.tls.enabled()) text += "--insecure ";
    if (!settings.tls.client_ca.empty()) text += "--cert CLIENT.crt --key CLIENT.key ";
    if (needs_token) text += "-H \"Authorization: Bearer $SLUICE_TOKEN\" ";
    text +=
        "-H 'Content-Type: application/json' -d "
        "'{\"namespace\":\"login\",\"identifier\":\"alice\",\"limit\":10,\"duration\":60000}' '" +
        url + "/v2/ratelimit.limit'\n\n";
    return text;
}

}  // namespace sluice::cli
